package mail

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail/internal/words"
)

const trackedHTML = `<html><body {% if email %}class="x"{% else %}class='y'{% endif %}><p>
<a href="https://garden.example/a?x=1&amp;y=2">one</a>
<a class="b" href='https://garden.example/b' title="a > b">two</a>
<AREA HREF=https://garden.example/c>three
<a href="https://garden.example/a?x=1&amp;y=2" style="color:{{ preferences.color }}">one again</a>
<a href="{{ unsubscribe_url }}">leave</a> <a href="https://garden.example/?e={{ email }}">mine</a>
<a href="https://garden.example/no" data-no-track>no</a> <a clicktracking="off" href="https://garden.example/no">no</a>
<a href="mailto:a@example.org">mail</a> <a href="tel:1">tel</a> <a href="#top">top</a> <a href="/relative">r</a>
<link href="https://garden.example/css"><img src="https://garden.example/i.png" alt="i">
<!-- <a href="https://garden.example/comment">c</a> -->
{% if preferences.vip %}<a href="https://garden.example/vip">vip</a>{% else %}<a href="https://garden.example/d">d</a>{% endif %}
</p></body></html>`

func TestLinksAreTracked(t *testing.T) {
	spec := testSpec()
	spec.HTML, spec.Track = strings.ReplaceAll(trackedHTML, "style=\"color:{{ preferences.color }}\"",
		"title=\"{{ preferences.color }}\""), Tracking{Open: true, Click: true, Origin: "https://news.test"}
	b, err := CompileBulk(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"https://garden.example/a?x=1&y=2", "https://garden.example/b", "https://garden.example/c",
		"https://garden.example/vip", "https://garden.example/d",
	}
	if got := b.Links(); !slices.Equal(got, want) {
		t.Fatalf("links %q", got)
	}
	ident := NewIdent(make([]byte, 32))
	r := testRecipient()
	r.Track = &Tracker{Ident: ident, Job: 7, Seq: 1_000_000, Links: []int64{11, 12, 13, 14, 15}}
	msg, err := b.Append(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	mail := parseMail(t, msg)
	text, html := mail.bodies[0], strings.ReplaceAll(mail.bodies[1], "\r\n", "\n")
	var numbers []int64
	for _, m := range regexp.MustCompile(`["'=]https://news\.test/t/c/([a-z2-7]+)`).FindAllStringSubmatch(html, -1) {
		job, seq, no, ok := ident.ParseTrack(m[1])
		if !ok || job != 7 || seq != 1_000_000 {
			t.Errorf("%s: %d %d %v", m[1], job, seq, ok)
		}
		numbers = append(numbers, no)
	}
	if !slices.Equal(numbers, []int64{11, 12, 13, 11, 15, core.CanaryLink}) {
		t.Errorf("links lead to %v in\n%s", numbers, html)
	}
	pixel := `<img src="https://news.test/t/o/` + ident.Track(7, 1_000_000, 0) + `.gif" alt="" width="1" height="1"`
	if strings.Count(html, pixel) != 1 || strings.Count(html, "/t/o/") != 1 ||
		!strings.Contains(html[strings.Index(html, pixel):], "</body>") {
		t.Errorf("the pixel is missing or twice in\n%s", html)
	}
	for _, kept := range []string{
		`href="mailto:a@example.org"`, `href="#top"`, `href="/relative"`, `href="https://garden.example/css"`,
		`src="https://garden.example/i.png"`,
		`<a href="https://garden.example/no" data-no-track>`, `clicktracking="off" href="https://garden.example/no"`,
		`<!-- <a href="https://garden.example/comment">`, `title="a > b"`,
	} {
		if !strings.Contains(html, kept) {
			t.Errorf("%s has changed in\n%s", kept, html)
		}
	}
	if strings.Contains(text, "/t/") || !strings.Contains(text, "https://garden.example/b") {
		t.Errorf("the text part is\n%s", text)
	}
}

func TestNothingIsTrackedUnlessAsked(t *testing.T) {
	spec := testSpec()
	b, err := CompileBulk(spec)
	if err != nil {
		t.Fatal(err)
	}
	if msg, err := b.Append(nil, testRecipient()); err != nil || strings.Contains(string(msg), "/t/") ||
		len(b.Links()) > 0 {
		t.Error(b.Links(), err)
	}
}

func TestTrackTokens(t *testing.T) {
	n, other := NewIdent(make([]byte, 32)), NewIdent([]byte(strings.Repeat("x", 32)))
	for _, v := range [][3]int64{{1, 1, 0}, {1, 1, 1}, {300, 1_000_000, 40}, {1 << 40, 1 << 40, 1 << 20}} {
		token := n.Track(v[0], v[1], v[2])
		job, seq, no, ok := n.ParseTrack(token)
		if !ok || job != v[0] || seq != v[1] || no != v[2] {
			t.Errorf("%v: %d %d %d %v", v, job, seq, no, ok)
		}
		if _, _, _, ok := other.ParseTrack(token); ok {
			t.Errorf("%v: another key takes it", v)
		}
		if _, _, ok := n.ParseMessage(token); ok {
			t.Errorf("%v: it passes as a Message-ID", v)
		}
		for i := range token {
			forged := []byte(token)
			if forged[i]++; forged[i] > 'z' {
				forged[i] = 'a'
			}
			if _, _, _, ok := n.ParseTrack(string(forged)); ok && string(forged) != token {
				t.Errorf("%v: forged at %d", v, i)
			}
		}
	}
	for _, bad := range []string{"", "a", n.Message(1, 2), strings.Repeat("a", 100), "ÄÖÜ"} {
		if _, _, _, ok := n.ParseTrack(bad); ok {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzTrackLinks(f *testing.F) {
	f.Add(trackedHTML)
	f.Add(`<a href="https://x"`)
	f.Add(`<a href=https://x>{%if email%}<a href="{%else%}">{%endif%}`)
	f.Fuzz(func(t *testing.T, src string) {
		tokens, err := lex(&source{"f", cleanBody(src)})
		if err != nil {
			return
		}
		size := 0
		for _, tok := range tokens {
			size += len(tok.body)
		}
		out, links := trackLinks(tokens, "https://news.test")
		for _, l := range links {
			if !httpURL(l) {
				t.Errorf("%q is tracked", l)
			}
		}
		if len(out) < len(tokens) && size > 0 {
			t.Errorf("%d tokens became %d", len(tokens), len(out))
		}
	})
}

func BenchmarkBulkTracked(b *testing.B) {
	spec := testSpec()
	spec.HTML = strings.Replace(trackedHTML, "style=\"color:{{ preferences.color }}\"", "",
		1) + strings.Repeat("<p>Some words of a letter that has some length.</p>\n", 120)
	tracker := &Tracker{Ident: NewIdent(make([]byte, 32)), Job: 7, Seq: 123456, Links: []int64{1, 2, 3, 4, 5}}
	totals := *tracker
	totals.Seq = 0
	for name, track := range map[string]Tracking{
		"off": {}, "persons": {Open: true, Click: true, Origin: "https://news.test"},
		"totals": {Open: true, Click: true, Origin: "https://news.test", Totals: &totals},
	} {
		spec.Track = track
		bulk, err := CompileBulk(spec)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			r := testRecipient()
			if name == "persons" {
				r.Track = tracker
			}
			var buf []byte
			for b.Loop() {
				if buf, err = bulk.Append(buf[:0], r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestNamedReadersAreTold checks that subscribers who agreed to tracking by name are told so at the end of the email,
// with an untracked link to withdraw consent, unless the author prints one.
func TestNamedReadersAreTold(t *testing.T) {
	for _, tt := range []struct {
		html, language string
		named          bool
		told           int
	}{
		{"<body><p>x</p></body>", "en", true, 1},
		{"<body><p>x</p></body>", "en", false, 0},
		{"<body><p>x</p></body>", "de", true, 1},
		{`<p><a href="{{ preferences_url }}">mine</a></p>`, "en", true, 0},
		{`<p>{% if preferences.x %}<a href="{{ preferences_url }}">mine</a>{% endif %}</p>`, "en", true, 1},
	} {
		s := testSpec()
		s.HTML, s.Language = tt.html, tt.language
		s.Track = Tracking{Open: true, Click: true, Origin: "https://news.test", Named: tt.named}
		r := testRecipient()
		r.PreferencesURL = "https://news.test/preferences?token=abc"
		b := mustBulk(t, s)
		_, _, html, err := b.Parts(r)
		link := `<a href="https://news.test/preferences?token=abc" style`
		said := words.Of(tt.language).Named
		if err != nil || strings.Count(html, link) != tt.told || strings.Count(html, said) != tt.told || len(b.Links()) > 0 {
			t.Errorf("%s, %v: %v, %q\n%s", tt.html, tt.named, err, b.Links(), html)
		}
		if at := strings.Index(html, said); tt.told > 0 && strings.Contains(html, "</body") &&
			(at > strings.Index(html, "</body") || at > strings.Index(html, "/t/o/")) {
			t.Errorf("stands outside of the body, or after the pixel: %s", html)
		}
	}
}
