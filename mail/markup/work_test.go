package markup

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"newsletterd/core/coretest"
	"newsletterd/mail"
)

// full repeats a piece up to a size.
func full(piece string, size int) string { return strings.Repeat(piece, size/len(piece)) }

// hostileMarkdown holds the sources of a given size that are known to take the most CPU time.
var hostileMarkdown = map[string]func(n int) string{
	"plain":        func(n int) string { return full("a ", n) },
	"lines":        func(n int) string { return full("a\n", n) },
	"paragraphs":   func(n int) string { return full("a\n\n", n) },
	"emphasis":     func(n int) string { return full("*a _b_\n\n", n*20000/maxSource*4) },
	"stars":        func(n int) string { return full(strings.Repeat("*a", 1900)+"\n\n", n*20000/maxSource*2) },
	"stars filled": func(n int) string { return full(strings.Repeat("*a**b", 600)+strings.Repeat("x", 50000)+"\n\n", n) },
	"brackets":     func(n int) string { return full(strings.Repeat("[", 1900)+"\n\n", n*20000/maxSource) },
	"closing":      func(n int) string { return full("]", n) },
	"parens":       func(n int) string { return "[a](" + full("(", n) },
	"links":        func(n int) string { return full("[a](<b>\n\n", n) },
	"linkdest":     func(n int) string { return full("[a](", n*80000/maxSource) },
	"backticks":    func(n int) string { return ticks(n) },
	"ticks2":       func(n int) string { return full("`a``b```c````d", n) },
	"html":         func(n int) string { return full("<a ", n) },
	"comments":     func(n int) string { return full("<!-- ", n) },
	"comments2":    func(n int) string { return full("a <!-", n) },
	"cdata":        func(n int) string { return full("a <![CDATA[", n*20000*11/maxSource) },
	"pi":           func(n int) string { return full("a <?", n) },
	"decl":         func(n int) string { return full("a <!A", n) },
	"amp":          func(n int) string { return full("&", n) },
	"entities":     func(n int) string { return full("&#x41;", n) },
	"quotes":       func(n int) string { return full(strings.Repeat("> ", 99)+"a\n", n) },
	"quotes2":      func(n int) string { return full(strings.Repeat(">", 99)+"\n\n", n) },
	"lists":        func(n int) string { return nested(n) },
	"lists deep":   func(n int) string { return deep(n) },
	"quotes nbsp":  func(n int) string { return full(strings.Repeat("*a", 1900)+"\n\u00a0\n", n) },
	"lists2":       func(n int) string { return full("- a\n", n) },
	"lists3":       func(n int) string { return full(strings.Repeat("- ", 90)+"a\n", n) },
	"ordered":      func(n int) string { return full("1. a\n\n", n) },
	"refs":         func(n int) string { return refs(n) },
	"refs same":    func(n int) string { return full("[a]: b\n", n*20000*7/maxSource) },
	"table":        func(n int) string { return "|a|b|\n|-|-|\n" + full("|a|b|\n", n) },
	"table wide": func(n int) string {
		return full("|a", n/3) + "|\n" + full("|-", n/3) + "|\n" + full("|a", n/3) + "|\n"
	},
	"table rows": func(n int) string {
		c := 300
		return full("|a", 2*c) + "|\n" + full("|-", 2*c) + "|\n" + full("|\n", n)
	},
	"pipes":      func(n int) string { return full("|", n) },
	"hr":         func(n int) string { return full("---\n", n) },
	"setext":     func(n int) string { return full("a\n===\n", n) },
	"fences":     func(n int) string { return full("```\n", n) },
	"fence":      func(n int) string { return full("~~~~~~~~~~\na\n", n) },
	"urls":       func(n int) string { return full("https://a.example/b ", n) },
	"url":        func(n int) string { return "https://a.example/" + full("(a", n) },
	"url2":       func(n int) string { return full("http://", n) },
	"www":        func(n int) string { return full("www.", n) },
	"www2":       func(n int) string { return full("www.a.b", n) },
	"emails":     func(n int) string { return full(strings.Repeat("a", 100)+"@b.example\n\n", n*20000*100/maxSource) },
	"email":      func(n int) string { return full("a.", n) },
	"email2":     func(n int) string { return full("a.", n-3) + "@b" },
	"pictures":   func(n int) string { return full("![](b)\n\n", n*20000*8/maxSource) },
	"pictures2":  func(n int) string { return full("![](b.png)"+strings.Repeat("x", 16)+"\n\n", n) },
	"button":     func(n int) string { return full("x [a](b){.button}\n\n", n) },
	"holes":      func(n int) string { return full("{{email}}", n) },
	"holes2":     func(n int) string { return full("{{ preferences.a | default: \"b\" }}\n\n", n) },
	"open":       func(n int) string { return full("{{", n) },
	"tags":       func(n int) string { return full("{% if email %}a{% endif %}", n) },
	"container":  func(n int) string { return full("::: callout\n", n) },
	"container2": func(n int) string { return full("::: callout\na\n:::\n", n) },
	"columns":    func(n int) string { return full("::: columns\n::: column\na\n:::\n:::\n", n) },
	"attrs":      func(n int) string { return full("{.a", n) },
	"attrs2":     func(n int) string { return full("a{width=3}", n) },
	"tabs":       func(n int) string { return full("\t", n) + "a" },
	"tabs2":      func(n int) string { return full("-\t", 180) + full("\ta\n", n) },
	"backslash":  func(n int) string { return full("\\", n) },
	"colons":     func(n int) string { return full(":", n) },
	"bad links":  func(n int) string { return full("[a](javascript:b)\n\n", n*20000*18/maxSource) },
	"nul":        func(n int) string { return full("\x00", n) },
	"faulty":     func(n int) string { return full("\xff", n) },
	"tilde":      func(n int) string { return full("~a~~b", n*20000/maxSource) },
	"headings":   func(n int) string { return full("# a\n", n) },
	"indent":     func(n int) string { return full("    a\n", n) },
}

func ticks(n int) string {
	var b strings.Builder
	for i := 1; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("`", i) + "a")
	}
	return b.String()[:n]
}

func nested(n int) string {
	var b strings.Builder
	for b.Len() < n {
		for i := range 90 {
			b.WriteString(strings.Repeat("  ", i) + "- a\n")
		}
	}
	return b.String()[:n]
}

func deep(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()[:n]
}

func refs(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n && i < 9000*n/maxSource; i++ {
		fmt.Fprintf(&b, "[a%d]: b\n\n", i)
	}
	for i := 0; b.Len() < n && i < 9000*n/maxSource; i++ {
		fmt.Fprintf(&b, "[a%d]\n\n", i)
	}
	return b.String()
}

// TestCellsOfTablesAreCounted checks that a table is refused by its number of cells after parsing, because the parser
// fills up each row.
func TestCellsOfTablesAreCounted(t *testing.T) {
	table := func(columns, rows int) string {
		return full("|a", 2*columns) + "\n" + full("|-", 2*columns) + "\n" + full("|\n", 2*rows)
	}
	for name, c := range map[string]struct {
		source string
		taken  bool
	}{
		"a large one":          {table(10, 100), true},
		"a wide one":           {table(1000, 100), false},
		"in a quote":           {"> " + strings.ReplaceAll(table(1000, 100), "\n", "\n> "), false},
		"many small ones":      {full(table(100, 100)+"\n", 1<<16), false},
		"an odd blank between": {full("|a", 2000) + "\n" + full("|-", 2000) + "\n" + full("|\n\u00a0\n", 1000), false},
		"pipes in a text":      {full(strings.Repeat("a | b ", 50)+"\n\n", 20_000), true},
	} {
		_, err := Compile(KindMarkdown, c.source, Options{})
		if c.taken && err != nil || !c.taken && (err == nil || !strings.Contains(err.Error(), "cells")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestContainersWithinEachOtherTakeLittle checks that the memory for nested containers grows linearly with their
// number, not quadratically.
func TestContainersWithinEachOtherTakeLittle(t *testing.T) {
	taken := func(n int) float64 {
		source := strings.Repeat("::: note\n", n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Compile(KindMarkdown, source, Options{}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	if half, whole := taken(2000), taken(4000); whole > 2.5*half {
		t.Errorf("twice the containers take %.1f times the memory", whole/half)
	}
	if _, err := Compile(KindMarkdown, strings.Repeat(" ", 300)+"- a", Options{}); err == nil {
		t.Error("a list is indented by 150 steps")
	}
}

func TestWorkOfMarkdown(t *testing.T) {
	for name, make := range hostileMarkdown {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "Markdown: "+name, func(part float64) (string, int) {
				s := make(int(maxSource * part))
				s = s[:min(len(s), maxSource)]
				return s, len(s)
			}, func(s string) {
				if r, err := Compile(KindMarkdown, s, Options{}); err == nil {
					_, _ = mail.CompileBulk(&mail.BulkSpec{
						JobID: "j", From: mail.Address{Email: "a@b.example"}, Subject: "a", HTML: r.HTML, Text: r.Text,
					})
				}
			})
		})
	}
}

func TestWorkOfBlocks(t *testing.T) {
	document := func(blocks string) string { return `{"version":1,"blocks":[` + strings.TrimSuffix(blocks, ",") + `]}` }
	for name, make := range map[string]func(n int) string{
		"texts": func(n int) string {
			return document(full(`{"type":"text","text":"`+strings.Repeat("a ", 500)+`"},`, n-100))
		},
		"lists": func(n int) string { return document(`{"type":"text","text":"` + full(`- a\n`, n-100) + `"}`) },
		"deep":  func(n int) string { return document(full(`{"type":"quote","blocks":[`, n-100)) },
		"empty": func(n int) string { return document(full(`{},`, n-100)) },
		"keys":  func(n int) string { return document(`{"type":"text",` + full(`"text":"a",`, n-100) + `"text":"b"}`) },
		"links": func(n int) string { return document(`{"type":"text","text":"` + full(`[a](b)\n\n`, (n-100)/4) + `"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "blocks: "+name, func(part float64) (string, int) {
				s := make(int(maxSource * part))
				return s, len(s)
			}, func(s string) { _, _ = Compile(KindBlocks, s, Options{}) })
		})
	}
}
