package mail

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

// hostile lists templates that hang, exhaust or break into other engines. If word is set, the template is refused with
// an error that contains it. The first one is an ordinary letter, for comparison.
var hostile = []struct {
	name, html, word string
}{
	{"a letter", strings.Repeat("<p>Some <b>words</b> of a letter, as long as it may be.</p>\n", 17_000), ""},
	{"endless loop", "{% for i in (1..10000000000) %}x{% endfor %}", `line 1, column 1: unknown tag "for"`},
	{"loop of Go templates", "{{range 10000000000}}{{end}}", "line 1, column 1"},
	{
		"growing text", "{% assign a = 'x' %}{% capture a %}{{ a | append: a }}{% endcapture %}",
		`line 1, column 1: unknown tag "assign"`,
	},
	{"huge padding", "{{ email | center: 900000000 }}", "line 1, column 1: unknown filter"},
	{"format string", `{{ printf "%1000000000d" 1 }}`, "line 1, column 1"},
	{"format of a date", `{{ "now" | date: "%1000000000Y" }}`, "line 1, column 1"},
	{"file of the daemon", "{% include '/etc/passwd' %}", `line 1, column 1: unknown tag "include"`},
	{"file by another tag", "<p>\n{% render '../../etc/passwd' %}", `line 2, column 1: unknown tag "render"`},
	{"file of mustache", "{{> /etc/passwd }}", "line 1, column 1"},
	{"raw output of mustache", "{{{ preferences.x }}}", "line 1, column 1"},
	{"raw output of Liquid", "{{ preferences.x | raw }}", "line 1, column 1: unknown filter"},
	{"objects behind a name", "{{ email.constructor.constructor }}", "line 1, column 1"},
	{"unknown name", "<p>{{ config.secret }}</p>", "line 1, column 4: unknown name"},
	{"unclosed output", "<p>\n  {{ email", `line 2, column 3: "{{" has no closing`},
	{"unclosed block", strings.Repeat("{% if email %}", 15), "has no end tag"},
	{"deep nesting", strings.Repeat("{% if email %}", 70_000), "at most 10000 parts"},
	{"nesting", strings.Repeat("{% if email %}", 5_000), "line 1, column 281: blocks must have at most 20 levels"},
	{"many outputs", strings.Repeat("{{email}}", 110_000), "at most 10000 parts"},
	{"many comparisons", "{% if " + strings.Repeat("email == email or ", 110) + "email %}{% endif %}", ""},
	{"many blocks", strings.Repeat("{% if email %}{% endif %}", 40_000), "at most 10000 parts"},
	{"unclosed comment", strings.Repeat("{% comment %}", 70_000), "endcomment %} is missing"},
	{"raw blocks", strings.Repeat("{% raw %}{{{% endraw %}", 45_000), "parts"},
	{"open braces", strings.Repeat("{{", 500_000), "has no closing"},
	{"open braces after a quote", strings.Repeat(`{{"`, 300_000), "has no closing"},
	{"dashes", strings.Repeat("{{-email-}}  ", 9_000), ""},
	{"script", "<script>var x = '{{ email }}'</script>", "line 1, column 18: placeholders aren't allowed in <script>"},
	{"style", "<style>a{b:{{ email }}}</style>", "line 1, column 12: placeholders aren't allowed in <style>"},
	{"handler", `<p onclick="{{ email }}">`, "line 1, column 13"},
	{"bare attribute", "<a href={{ email }}>", "line 1, column 9"},
	{"comment of HTML", "<!-- {{ email }} -->", "line 1, column 6"},
	{"scheme", `<a href="javascript:{{ email }}">`, "line 1, column 21"},
	{"long comment", "<!--" + strings.Repeat("-", 1_000_000), ""},
	{"open tags", strings.Repeat("<a ", 340_000), ""},
	{"open tags of links", strings.Repeat(`<a href="https://x`, 55_000), ""},
	{"deep HTML", strings.Repeat("<div>", 200_000), ""},
	{"deep lists", strings.Repeat("<ul><li>", 120_000), ""},
	{"attributes", "<a " + strings.Repeat("href='https://a.example/' ", 38_000) + ">x</a>", ""},
	{"links", strings.Repeat(`<a href="https://a.example/">x</a>`, 30_000), ""},
	{"entities", strings.Repeat("&amp;&#x41;&notin;", 55_000), ""},
	{"bodies", strings.Repeat("</body", 170_000), ""},
	{"too long", strings.Repeat("x", maxTemplate+1), "at most 1048576 bytes"},
	{"scripts", strings.Repeat("<script>", 130_000), ""},
	{"a script's end", "<script>" + strings.Repeat("</scrip", 140_000), ""},
	{"blanks", strings.Repeat(" \n", 500_000), ""},
	{"no letters of any language", strings.Repeat("\u00a0\u200b\ufffd", 120_000), ""},
}

// TestHostileTemplates checks that no template takes much longer than a letter of the same length does on this machine.
// Quadratic work would take a thousand times as long.
func TestHostileTemplates(t *testing.T) {
	var letter time.Duration // time for the letter
	for _, c := range hostile {
		n := core.NewJob{ListID: core.NewID(), Subject: "x", BodyHTML: c.html, TrackClick: true, TrackOpen: true}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := TryContent(&n)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if letter == 0 {
			if letter = took; err != nil {
				t.Fatal(err)
			}
		}
		used := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%-28s %8d octets %10v %4d MiB", c.name, len(c.html), took.Round(10*time.Microsecond), used)
		if took > 50*letter || used > 128*raceFactor {
			t.Errorf("%s: %v, %d MiB; a letter takes %v", c.name, took, used, letter)
		}
		var ce *core.Error
		var te *TemplateError
		switch {
		case c.word == "" && err != nil && (!errors.As(err, &ce) || ce.Kind != core.Invalid):
			t.Errorf("%s: %v", c.name, err)
		case c.word != "" && (!errors.As(err, &te) || te.Line < 1 || te.Col < 1 || !strings.Contains(err.Error(),
			c.word)):
			t.Errorf("%s: %v, want %q", c.name, err, c.word)
		}
	}
}
