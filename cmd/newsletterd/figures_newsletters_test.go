package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/mail/markup"
)

// TestFiguresOfNewsletters compiles the newsletters of testdata, each repeated up to 10 KB.
func TestFiguresOfNewsletters(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	f := figurestest.New(t)
	for kind, ending := range map[string]string{markup.KindMarkdown: "md", markup.KindBlocks: "json"} {
		files, err := filepath.Glob("../../testdata/newsletters/*." + ending)
		f.Must(err)
		var took []time.Duration
		before, octets := daemontest.CPU(os.Getpid()), 0
		for range 20 {
			for _, file := range files {
				b, err := os.ReadFile(file)
				f.Must(err)
				source := strings.TrimSpace(string(b))
				again := 1 + 10<<10/len(source)
				if kind == markup.KindMarkdown {
					source = strings.Repeat(source+"\n\n", again)
				} else {
					one := source[strings.Index(source, "[")+1 : strings.LastIndex(source, "]")]
					source = `{"version": 1, "blocks": [` + strings.Repeat(one+",", again-1) + one + "]}"
				}
				began := time.Now()
				_, err = markup.Compile(kind, source, markup.Options{})
				took = append(took, time.Since(began)*(10<<10)/time.Duration(len(source)))
				f.Must(err)
				octets += len(source)
			}
		}
		slices.Sort(took)
		cpu := (daemontest.CPU(os.Getpid()) - before) * (10 << 10) / time.Duration(octets)
		f.Line("10 KB of "+kind+" compiled", "p50 %v, %v of CPU", took[len(took)/2].Round(10*time.Microsecond),
			cpu.Round(10*time.Microsecond))
	}
}
