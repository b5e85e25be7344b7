package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
	"newsletterd/mail/markup"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// TestFiguresOfArchives measures the pages and the feed of a public archive of 1,000 issues with 10 KB of Markdown
// each.
func TestFiguresOfArchives(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench-pages")
	}
	const target = 20 * time.Millisecond
	f := figurestest.New(t)
	f.Build()
	n := figurestest.AtMost(f, 1000, 40)
	f.Prepare(func(s *storetest.Seeder) { manyIssues(s, n) })
	f.Serve()
	for _, page := range []struct {
		name string
		path func(i int) string
	}{
		{"the newest issues", func(int) string { return "" }},
		{"the last issues", func(int) string { return fmt.Sprintf("?before=issue-%d", 30) }},
		{"an issue, each another", func(i int) string { return fmt.Sprintf("issue-%d", 1+i*n/100%n) }},
		{"its mail", func(i int) string { return fmt.Sprintf("issue-%d/mail", 1+i*n/100%n) }},
		{"a search that each issue matches", func(int) string { return "?q=sentence+wor" }},
		{"a search that one issue matches", func(i int) string { return fmt.Sprintf("?q=issue+word%d", i) }},
		{"a search without a match", func(i int) string { return fmt.Sprintf("?q=nothing%d", i) }},
		{"the feed", func(int) string { return "feed.xml" }},
	} {
		took, size := make([]time.Duration, 100), 0
		for i := range took {
			began := time.Now()
			size = len(f.Get("/a/garden/" + page.path(i)).OK().Text)
			took[i] = time.Since(began)
		}
		first := took[0]
		slices.Sort(took)
		line := fmt.Sprintf("p50 %v, p95 %v, the first %v, %d bytes", took[50].Round(10*time.Microsecond),
			took[95].Round(10*time.Microsecond), first.Round(10*time.Microsecond), size)
		if took[95] > target {
			line += " OVER"
		}
		f.Line(page.name, "%s", line)
	}
	f.Stop()
}

// manyIssues creates a list with an archive of n issues, /a/garden/.
func manyIssues(s *storetest.Seeder, n int) {
	l := s.NewList(func(in *core.ListInput) { in.Archive, in.Slug = new(true), new("garden") })
	s.Readers(l, 1)
	source := "# News\n\n" + strings.Repeat("## A heading\n\n"+strings.Repeat("A [sentence](https://shop.example/) of **some** words, and another one. ", 6)+
		"\n\n- a\n- b\n\n", 22)
	began := s.Time()
	for i := range n {
		s.Now = began.Add(time.Duration(i-n) * time.Hour)
		c := s.NewCampaign(l, func(f *core.CampaignFields) {
			f.Subject, f.Preheader, f.Content.Source = fmt.Sprintf("Issue %d", i+1), "What happens in the garden", source
		})
		d, err := s.Draft(s.Context(), &c, 0, markup.CampaignParts, s.Now)
		s.Must(err)
		d.Head = campaigns.IssueHead{
			Title: d.Fields.Subject, Summary: d.Fields.Preheader,
			IssueText: campaigns.IssueText{Words: fmt.Sprintf("%s word%d", source, i), Excerpt: source[:200]},
		}
		s.Finish(s.SendDraft(&d))
	}
	s.Now = 0
}
