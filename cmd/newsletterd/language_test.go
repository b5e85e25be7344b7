package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/sourcetest"
)

// TestLanguage checks the wording of the source: standard terms, comments in Go's forms, and lines that fit a screen.
// To check a single package:
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

// TestLanguageOfDocs checks that sentences in the documentation, except the decisions, are short and name their actor.
func TestLanguageOfDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		page = strings.TrimPrefix(filepath.ToSlash(page), "../../")
		for _, fault := range sourcetest.DocFaults(page, string(text)) {
			t.Error(fault)
		}
	}
}

// TestDocFaults checks one text for each rule of sourcetest.DocFaults, and for each exception.
func TestDocFaults(t *testing.T) {
	long := strings.Repeat("word ", 31)
	for text, want := range map[string]int{
		long + ".":                       1,
		"Short.\n" + long:                1,
		"* one\n* " + long + "\n":        1,
		"| a | " + long + " |\n":         1,
		"| a | " + long[5:] + "; b |\n":  0,
		long[5:] + "; b":                 1,
		"Who signs in lands here.":       1,
		"It works. **What is left** is.": 1,
		"| what | kept |\n|---|---|\n":   1,
		"What does it cost? Nothing.":    0,
		"What's new is at the top.":      0,
		"The people who sign in.":        0,
		"# What is new\n":                0,
		"```\nWho\n" + long + "\n```\n":  0,
		"`" + long + "` is code.":        0,
		long[:75] + ".\n" + long[:75]:    0,
		"[" + long[10:] + "](who.md) is": 0,
	} {
		if faults := sourcetest.DocFaults("page.md", text); len(faults) != want {
			t.Errorf("%q: %q, not %d", text, faults, want)
		}
	}
}
