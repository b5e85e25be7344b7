package article

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"newsletterd/core"
	"newsletterd/mail"
)

// made returns the article of a source.
func made(t *testing.T, kind, source string) *Article {
	t.Helper()
	a, err := New(&Source{
		Kind: kind, Text: source, Title: "News of May",
		Vars: mail.Vars{
			Shared: &mail.Shared{List: map[string]string{"name": "Weekly"}}, Preferences: "{}", Date: time.Unix(0, 0),
		},
		Link: func(address string) string { return strings.Replace(address, "old.example", "new.example", 1) },
		Picture: func(address string) (int, int) {
			if strings.Contains(address, "/m/") {
				return 1200, 800
			}
			return 0, 0
		},
	})
	if err != nil {
		t.Fatalf("%q: %v", source, err)
	}
	return a
}

// TestArticles checks that greetings and links of a recipient are removed, and that everything else stays.
func TestArticles(t *testing.T) {
	for _, c := range []struct{ name, kind, source, want string }{
		{"plain", "markdown", "Some *words*.", "<p>Some <em>words</em>.</p>"},
		{"greeting", "markdown", "Hello {{ preferences.first_name | default: \"friend\" }},\n\nText.", "<p>Text.</p>"},
		{"greeting without fallback", "markdown", "Dear {{ preferences.first_name }}!\n\nText.", "<p>Text.</p>"},
		{
			"greeting by condition", "markdown",
			"{% if preferences.first_name %}Hi {{ preferences.first_name }}{% else %}Hi there{% endif %},\n\nText.",
			"<p>Text.</p>",
		},
		{
			"fallback in a sentence", "markdown", "You live in {{ preferences.city | default: \"Bonn\" }}, we think.",
			"<p>You live in Bonn, we think.</p>",
		},
		{"name of the list", "markdown", "Read {{ list.name }}", "<p>Read Weekly</p>"},
		{
			"footer", "markdown",
			"Text.\n\nYou can [unsubscribe]({{ unsubscribe_url }}) or [change it]({{ preferences_url }}).",
			"<p>Text.</p>",
		},
		{
			"one item of a footer", "markdown", "- Text.\n- [Web version]({{ view_url }})",
			"<ul>\n<li>Text.\n</li>\n\n</ul>",
		},
		{"token", "html", `<p>a</p><p><a href="https://x.example/?t={{ unsubscribe_token }}">out</a></p>`, "<p>a</p>"},
		{"answer", "markdown", "Text.\n\n[Green]({{ poll_url.1.2 }}){.button}", "<p>Text.</p><p><a>Green</a></p>"},
		{"answer in HTML", "html", `<p>Like it? <a href="{{ poll_url.1.2 }}">Yes</a></p>`, "<p>Like it? Yes</p>"},
		{"corrected link", "markdown", "[a](https://old.example/x)", `<p><a href="https://new.example/x">a</a></p>`},
		{"the title again", "markdown", "# News  of may\n\nText.", "<p>Text.</p>"},
		{"levels", "markdown", "# One\n\n## Two", "<h2>One</h2>\n<h3>Two</h3>"},
		{"levels below the title", "markdown", "# News of May\n\n## One\n\n### Two", "<h2>One</h2>\n<h3>Two</h3>"},
		{
			"button", "markdown", "[Go](https://x.example/){.button}",
			`<p><a class="button" href="https://x.example/">Go</a></p>`,
		},
		{
			"own picture", "markdown", "![A](https://n.example/m/1/a.png){width=600}",
			`<figure><img src="https://n.example/m/1/a.png" alt="A" width="600" height="400"/></figure>`,
		},
		{"html", "html", `<html><body><p onclick="x()">Hi <script>x()</script></p></body></html>`, "<p>Hi </p>"},
		{"text", "text", "One <b>\ntwo https://x.example/a?b=1&c.\n\nThree", `<p>One &lt;b&gt;<br/>two ` +
			`<a href="https://x.example/a?b=1&amp;c">https://x.example/a?b=1&amp;c</a>.</p>` + "\n<p>Three</p>"},
		{"greeting in text", "text", "Hello {{ preferences.name | default: \"friend\" }},\n\nText.", "<p>Text.</p>"},
		{"no markup from values", "text", "a {{ list.name }} <i>", "<p>a Weekly &lt;i&gt;</p>"},
	} {
		kind := map[string]string{
			"markdown": core.ContentMarkdown, "html": core.ContentHTML, "text": core.ContentText,
		}[c.kind]
		got := made(t, kind, c.source).HTML
		if squeeze(got) != squeeze(c.want) {
			t.Errorf("%s:\n%s\nnot\n%s", c.name, got, c.want)
		}
	}
}

// squeeze removes line ends, which mean nothing between elements.
func squeeze(s string) string { return strings.ReplaceAll(s, "\n", "") }

// TestDesigns checks that a design has words, but no HTML.
func TestDesigns(t *testing.T) {
	for _, source := range []string{
		"<table><tr><td>x</td></tr></table>", "<style>p{}</style><p>x</p>", `<body bgcolor="#fff">x</body>`,
		`<p style="background-color: red">x</p>`,
	} {
		if a := made(t, core.ContentHTML, source); a.HTML != "" || a.Words != "x" {
			t.Errorf("%q: %+v", source, a)
		}
	}
	deep := strings.Repeat("<div>", 600) + "x"
	if a := made(t, core.ContentHTML, deep); a.HTML != "" || a.Words != "" {
		t.Errorf("deep HTML: %+v", a)
	}
	if _, _, err := ImportedText("News", deep); err == nil {
		t.Error("a deep post has no error")
	}
}

func TestWords(t *testing.T) {
	a := made(t, core.ContentMarkdown, "# One\n\nTwo *three*\nfour.\n\n- a\n- b\n\n![Alt](https://n.example/m/1/a.png)")
	if want := "One\nTwo three four.\na\nb"; a.Words != want {
		t.Errorf("%q, not %q", a.Words, want)
	}
	if len(a.Pictures) != 1 || a.Pictures[0].Width != 1200 || a.Pictures[0].Alt != "Alt" {
		t.Errorf("%+v", a.Pictures)
	}
	first := strings.Repeat("wörd ", 20)
	if got := Excerpt(first+"\nThe next heading\nText", ""); got != strings.TrimSpace(first) {
		t.Errorf("%q", got)
	}
	if got := Excerpt("A short line.\nAnother one.", ""); got != "A short line. Another one." {
		t.Errorf("%q", got)
	}
	for _, hello := range []string{"Dear friend,\n", "Dear friend, ", "Hallo Ann!\n", "LIEBE LESER,\n"} {
		letter := "City letter 48\n" + hello + "Here is news:\nThe café.\nTrams\nThe M10 runs.\nRead more…\nEnd"
		want := "Here is news: The café. Trams. The M10 runs. End"
		if got := Excerpt(letter, "City Letter 48: trams"); got != want {
			t.Errorf("%q", got)
		}
	}
	long := strings.Repeat("wörd ", 100)
	if got := Excerpt(long, ""); len([]rune(got)) > 201 || !strings.HasSuffix(got, "wörd…") {
		t.Errorf("%q", got)
	}
}

// TestManySiblings checks that the work doesn't multiply with many siblings, because texts aren't copied for each of
// them.
func TestManySiblings(t *testing.T) {
	const siblings = 2000
	lines := "<div>" + strings.Repeat("xxxx<br>", siblings) + "<h2>Other</h2></div>"
	links := "<span>" + strings.Repeat(`<a href="`+ownLink+`">x</a>`, siblings) + "end</span>"
	values := "<p>" + strings.Repeat(markOpen+"v"+markClose+" x ", siblings) + "</p>"
	s := Source{Title: "News"}
	for name, c := range map[string]struct {
		page, want string
		do         func(*html.Node)
		most       float64
	}{
		"heading": {lines, lines, s.headings, 20},
		"links":   {links, "<span>end</span>", strip, 2 * siblings},
		"values":  {values, "<p>" + strings.Repeat("v x ", siblings) + "</p>", strip, 100},
	} {
		bodies := make([]*html.Node, 2) // AllocsPerRun has a run more
		for i := range bodies {
			var err error
			if bodies[i], err = parse(c.page); err != nil {
				t.Fatal(err)
			}
		}
		run := -1
		if n := testing.AllocsPerRun(1, func() { run++; c.do(bodies[run]) }); n > c.most {
			t.Errorf("%s: %v allocations", name, n)
		}
		if got, err := write(bodies[0]); err != nil || got != strings.ReplaceAll(c.want, "<br>", "<br/>") {
			t.Errorf("%s: %.200s %v", name, got, err)
		}
	}
}

// TestEmptyParents checks that an element is removed if nothing is left in it. An element with an image or a word
// stays.
func TestEmptyParents(t *testing.T) {
	const link = `<a href="{{ unsubscribe_url }}">x</a>`
	for source, want := range map[string]string{
		"<p>a</p><div><span><em>" + link + "</em> " + link + "</span></div>": "<p>a</p>",
		"<span><em>" + link + "</em><strong></strong> b</span>":              "<span><strong></strong> b</span>",
		"<b><i>" + link + `<img src="/a.png"></i></b>`:                       `<b><i><img src="/a.png"/></i></b>`,
	} {
		if got := made(t, core.ContentHTML, source).HTML; got != want {
			t.Errorf("%s:\n%s\nnot\n%s", source, got, want)
		}
	}
}

// FuzzArticle checks that the HTML of any source contains no script, event attribute or link of a recipient.
func FuzzArticle(f *testing.F) {
	for _, s := range []string{
		"Hello {{ email }}", "<p>{{ preferences.a | default: \"<b>\" }}", "[x]({{ unsubscribe_url }})",
		"{% if email %}a{% endif %}", "<a href='javascript:x()'>a</a>", "\uE000x\uE001", "# a\n# b",
	} {
		for kind := range core.ContentKinds {
			f.Add(kind, s)
		}
	}
	f.Fuzz(func(t *testing.T, kind int, source string) {
		a, err := New(&Source{
			Kind: core.ContentKinds[uint(kind)%uint(len(core.ContentKinds))],
			Text: source, Vars: mail.Vars{Preferences: "{}"},
			Link: func(address string) string { return address }, Picture: func(string) (int, int) { return 0, 0 },
		})
		if err != nil {
			return
		}
		for _, bad := range []string{"<script", "<style", "<iframe", ownWord, "\uE000"} {
			if strings.Contains(strings.ToLower(a.HTML), bad) {
				t.Errorf("%s in %s", bad, a.HTML)
			}
		}
	})
}

func unsized(string) (width, height int) { return 0, 0 }

// TestImportedPosts checks that a post of another tool is shown with its title, links and images.
func TestImportedPosts(t *testing.T) {
	a, err := Imported("News", `<h1>News</h1><h3>One</h3><p><br></p><p> <b> </b></p>`+
		`<p>Hi <a href="https://a.example/?b=c">there</a><img src="https://a.example/p.png"></p><p></p>`, &Old{Picture: unsized})
	if err != nil {
		t.Fatal(err)
	}
	const want = `<h2>One</h2><p>Hi <a href="https://a.example/?b=c">there</a><img src="https://a.example/p.png"/></p>`
	if a.HTML != want || a.Words != "One\nHi there" || len(a.Pictures) != 1 {
		t.Errorf("%+v", a)
	}
	for page, words := range map[string]string{
		"<h1>News</h1>": "", "<p> </p>": "", `<img src="https://a.example/p.png">`: "", "<p>Wheels": "Wheels",
	} {
		a, err := Imported("News", page, &Old{Picture: unsized})
		if err != nil || a.HTML == "" || a.Words != words {
			t.Errorf("%s: %+v %v", page, a, err)
		}
	}
}
