package main

import (
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/sourcetest"
)

// TestLanguage holds the house to one language: the standard words of the trade, comments in Go's forms, and lines that
// fit a screen. A single package is looked at by
//
//	go test ./cmd/newsletterd -run TestLanguage/mail/smtp
func TestLanguage(t *testing.T) {
	daemontest.Parallel(t)
	packages := map[string][]sourcetest.File{}
	for _, f := range sourcetest.Files(t) {
		packages[f.Dir] = append(packages[f.Dir], f)
	}
	for dir, files := range packages {
		t.Run(dir, func(t *testing.T) {
			faults := sourcetest.WideLines(files)
			for _, f := range files {
				faults = append(faults, f.Faults()...)
			}
			for _, fault := range faults {
				t.Error(fault)
			}
		})
	}
}
