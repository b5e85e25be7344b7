package mail

import (
	"errors"
	"os"
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"

	"newsletterd/core"
	"newsletterd/mail/mailtest"
)

func testVars() *Vars {
	return &Vars{
		Shared: &Shared{
			List:   map[string]string{"name": "Garden & Co"},
			Tenant: map[string]string{"name": "T"},
			Job:    map[string]string{"name": "November"},
		},
		Email: "anna@reader.example", SubscriberID: "s-1",
		Preferences: `{ "first_name" : "A<b>\"'&\u00e9", "n": 42, "yes": true, "no": false, "null": null, "empty": "",
			"tags": ["x", "y,z", 3], "none": [], "o": {"p": {"q": "deep"}}, "col umn": "spaced", "url": "javascript:alert(1)",
			"site": "https://a.example/?x=1&y=2", "date": "2026-03-09", "ctl": "a\r\nBcc: x\u0000y", "num": "42.0", "long": "ääääääääää" }`,
		UnsubscribeToken: "tok", UnsubscribeURL: "https://u.example/u?t=tok", Date: testDate,
	}
}

func TestTemplateRender(t *testing.T) {
	for _, c := range []struct {
		part      Part
		src, want string
	}{
		{PartText, "plain", "plain"},
		{PartText, "{{email}} {{ subscriber.email }} {{subscriber.id}}", "anna@reader.example anna@reader.example s-1"},
		{PartText, "{{ preferences.first_name }}", "A<b>\"'&é"},
		{PartText, "{{ subscriber.preferences.n }}", "42"},
		{PartText, "{{ preferences.yes }}{{ preferences.no }}{{ preferences.null }}{{ preferences.gone }}{{ preferences.gone.deeper }}", "truefalse"},
		{PartText, "{{ preferences.tags }}|{{ preferences.tags[1] }}|{{ preferences.tags.2 }}|{{ preferences.o }}", "x, y,z, 3|y,z|3|"},
		{PartText, "{{ preferences.o.p.q }} {{ preferences[\"col umn\"] }} {{preferences['n']}}", "deep spaced 42"},
		{PartText, "{{ list.name }} {{ tenant.name }} {{ job.name }} {{ list.nonsense }}", "Garden & Co T November "},
		{PartText, "{{ unsubscribe_token }} {{ unsubscribe_url }}{{ view_url }}", "tok https://u.example/u?t=tok"},
		{PartText, `{{ preferences.gone | default: "friend" }} {{ preferences.empty | default: 'x' }} {{ preferences.no | default: 7 }}`, "friend x 7"},
		{PartText, `{{ preferences.gone | default: list.name | upcase }}`, "GARDEN & CO"},
		{PartText, `{{ preferences.none | default: "none" }} {{ "a}}b" }}`, "none a}}b"},
		{PartText, `{{ "ABC" | downcase }} {{ "été" | capitalize }} {{ "a b&c" | url_encode }} {{ "x" | escape }}`, "abc Été a+b%26c x"},
		{PartText, `{{ preferences.long | truncate: 5 }} {{ preferences.long | truncate: 4, "…" }} {{ "ab" | truncate: 2 }} {{ "abc" | truncate: 0, "" }}`, "ää... äää… ab "},
		{PartText, `{{ preferences.date | date: "%-d. %B %Y, %a" }} {{ "now" | date: "%Y-%m-%d %H:%M" }} {{ 0 | date }} {{ "hm" | date: "%Y" }}`, "9. March 2026, Mon 2026-11-21 09:30 1 January 1970 hm"},
		{PartText, "{% if preferences.yes %}a{% else %}b{% endif %}{% unless preferences.yes %}c{% else %}d{% endunless %}", "ad"},
		{PartText, "{% if preferences.gone %}1{% elsif preferences.empty %}2{% elsif preferences.n == 42 %}3{% else %}4{% endif %}", "3"},
		{PartText, "{% if preferences.n == 42.0 %}a{% endif %}{% if preferences.num == 42 %}b{% endif %}{% if preferences.n != 41 %}c{% endif %}{% if preferences.n == \"42\" %}d{% endif %}", "abcd"},
		{PartText, "{% if preferences.gone == nil %}a{% endif %}{% if preferences.empty == empty %}b{% endif %}{% if preferences.yes == true %}c{% endif %}{% if preferences.yes == \"true\" %}d{% endif %}", "abc"},
		{PartText, "{% if preferences.tags contains 'x' %}a{% endif %}{% if preferences.tags contains 3 %}b{% endif %}{% if preferences.tags contains 'z' %}c{% endif %}{% if email contains '@reader' %}d{% endif %}{% if preferences.gone contains '' %}e{% endif %}", "abd"},
		{PartText, "{% if preferences.no and preferences.yes or preferences.yes %}right to left{% endif %}", ""},
		{PartText, "{% if preferences.yes or preferences.no and preferences.no %}a{% endif %}", "a"},
		{PartText, "{% if preferences.yes %}{% if preferences.no %}a{% else %}b{% endif %}c{% endif %}d", "bcd"},
		{PartText, "a{% comment %}{{ nonsense {% if %} {% endcomment %}b{% raw %}{{ x }}{% if %}{% endraw %}c", "ab{{ x }}{% if %}c"},
		{PartText, "a  {{- email -}}  b {%- if preferences.yes -%} c {%- endif %} d", "aanna@reader.exampleb" + "c d"},
		{PartText, "{ {x} % { {", "{ {x} % { {"},
		{PartText, "{{ preferences.ctl }}", "a\nBcc: xy"},
		{PartText, `https://x.example/{{ list.name }}?q={{ email }}&r={{ "a b" | url_encode }} {{ email }}`, "https://x.example/Garden%20%26%20Co?q=anna%40reader.example&r=a+b anna@reader.example"},
		{PartText, `Look (http://x.example?a={{ list.name }}){{ list.name }}, https://x.example/a_({{ email }})/{{ email }})`, "Look (http://x.example?a=Garden%20%26%20Co)Garden & Co, https://x.example/a_(anna%40reader.example)/anna%40reader.example)"},
		{PartText, `https://{{ list.name }}/{{ list.name }} {{ list.name }}/https:// {{ email }}`, "https://Garden & Co/Garden%20%26%20Co Garden & Co/https:// anna@reader.example"},
		{PartText, `https://x.example/{% if email %}?a={{ email }}{% else %} {% endif %}{{ email }}`, "https://x.example/?a=anna%40reader.exampleanna@reader.example"},
		{PartText, `https{% if email %}://x.example/{% else %}://y.example/{% endif %}{{ email }}`, "https://x.example/anna%40reader.example"},
		{PartHeader, "{{ preferences.ctl }}", "a  Bcc: xy"},
		{PartHeader, "{{\u00a0email\u00a0|\u00a0default:\u00a0\"x\" }}{%\u00a0if\u00a0email %}y{% endif %}", "anna@reader.exampley"},
		{PartHTML, "<p>{{ preferences.first_name }}</p>", "<p>A&lt;b&gt;&#34;&#39;&amp;é</p>"},
		{PartHTML, `<a title="{{ preferences.first_name }}">`, `<a title="A&lt;b&gt;&#34;&#39;&amp;é">`},
		{PartHTML, `<title>{{ list.name }}</title>`, `<title>Garden &amp; Co</title>`},
		{PartHTML, `<a href="{{ preferences.url }}">`, `<a href="#">`},
		{PartHTML, `<a href=" {{ preferences.site }}">`, `<a href=" https://a.example/?x=1&amp;y=2">`},
		{PartHTML, `<a href='{{ "java&#115;cript:x" }}'>`, `<a href='java&amp;#115;cript:x'>`},
		{PartHTML, "<a href='{{ \"  JAVA\tscript:x\" }}'>", `<a href='#'>`},
		{PartHTML, `<a href="{{ "data:text/html,x" }}{{ "vbscript:x" }}">`, `<a href="#vbscript%3Ax">`},
		{PartHTML, `<a href="mailto:{{ email }}?subject={{ list.name }}">`, `<a href="mailto:anna%40reader.example?subject=Garden%20%26%20Co">`},
		{PartHTML, `<a href="https://x.example/{{ preferences.url }}?q={{ list.name | url_encode }}">`, `<a href="https://x.example/javascript%3Aalert%281%29?q=Garden+%26+Co">`},
		{PartHTML, `<img src="{% if preferences.yes %}https://a.example/{% else %}{{ preferences.site }}{% endif %}{{ preferences.url }}">`, `<img src="https://a.example/javascript%3Aalert%281%29">`},
		{PartHTML, `<a href="http{% if preferences.yes %}s{% endif %}://a.example/{{ preferences.url }}">`, `<a href="https://a.example/javascript%3Aalert%281%29">`},
		{PartHTML, `<a href="{% if preferences.no %}http{% else %}https{% endif %}://a.example/?a:b={{ email }}">`, `<a href="https://a.example/?a:b=anna%40reader.example">`},
		{PartHTML, `<a href="{% if preferences.yes %}{% endif %}{{ preferences.url }}">`, `<a href="#">`},
		{PartHTML, `<a href="{{ preferences.site }}&z={{ email }}#a:b">`, `<a href="https://a.example/?x=1&amp;y=2&z=anna%40reader.example#a:b">`},
		{PartHTML, `<a href="{{ unsubscribe_url }}&a:b={{ email }}">`, `<a href="https://u.example/u?t=tok&a:b=anna%40reader.example">`},
		{PartHTML, `<meta name="description" content="{{ email }}"><meta http-equiv="X-UA-Compatible" content="IE=edge">`, `<meta name="description" content="anna@reader.example"><meta http-equiv="X-UA-Compatible" content="IE=edge">`},
		{PartHTML, `<td {% if preferences.yes %}class="a"{% endif %}>{{ email }}`, `<td class="a">anna@reader.example`},
		{PartHTML, `<style>a{b:c}{% if preferences.yes %}d{}{% endif %}</style >{{ email }}`, `<style>a{b:c}d{}</style >anna@reader.example`},
		{PartHTML, `<script>"</scrip>"</SCRIPT><!-- a --b -->{{ email }}<!-->{{ email }}<!doctype x>{{ email }}`, `<script>"</scrip>"</SCRIPT><!-- a --b -->anna@reader.example<!-->anna@reader.example<!doctype x>anna@reader.example`},
		{PartHTML, `1 < 2 {{ email }} </ >{{ email }}<br/>{{ email }}`, `1 < 2 anna@reader.example </ >anna@reader.example<br/>anna@reader.example`},
		{PartHTML, `<p a = "b" c=d e>{{ email }}`, `<p a = "b" c=d e>anna@reader.example`},
	} {
		tmpl, err := Compile(c.part, "body", c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		got, err := tmpl.Append([]byte(">"), testVars())
		if err != nil || string(got) != ">"+c.want {
			t.Errorf("%s\n got %q, %v\nwant %q", c.src, got, err, c.want)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	for _, c := range []struct {
		part Part
		src  string
		line int
		col  int
		word string // part of the message
	}{
		{PartText, "a\nbé {{ nonsense }}", 2, 4, "unknown name"},
		{PartText, "{{ first_name }}", 1, 1, "unknown name"},
		{PartText, "{{ email.x }}", 1, 1, "no fields"},
		{PartText, "{{ list }}", 1, 1, "field"},
		{PartText, "{{ subscriber }}", 1, 1, "field"},
		{PartText, "{{ email", 1, 1, "no closing"},
		{PartText, "{{ \"x }}", 1, 1, "no closing"},
		{PartText, "{{ }}", 1, 1, "expected a name"},
		{PartText, "{{ email | shout }}", 1, 1, "unknown filter"},
		{PartText, "{{ email | default }}", 1, 1, "arguments"},
		{PartText, "{{ email | truncate: 10001 }}", 1, 1, "length"},
		{PartText, "{{ email | truncate: preferences.n }}", 1, 1, "length"},
		{PartText, "{{ email | date: \"%Q\" }}", 1, 1, "supports"},
		{PartText, "{{ email | date: \"%\" }}", 1, 1, "supports"},
		{PartText, "Hi\n\nHi {{ preferences.first_name | default: “you” }}", 3, 4, `{{ preferences.first_name | default: "you" }}`},
		{PartText, "{{ preferences[„Ort“] }}", 1, 1, `straight quotes: {{ preferences["Ort"] }}`},
		{PartText, "{% if preferences.plan == ‘gold’ %}", 1, 1, `straight quotes: {% if preferences.plan == 'gold' %}`},
		{PartText, "{{ preferences.a | default: \"you” }} and {{ email }}", 1, 1, `straight quotes: {{ preferences.a | default: "you" }}`},
		{PartHTML, "<p>{{ preferences.a | default: &quot;you&quot; }}</p>", 1, 4, `straight quotes: {{ preferences.a | default: "you" }}`},
		{PartText, "{{ nonsense | default: \"it’s\" }}", 1, 1, "unknown name"},
		{PartText, "{{ email nonsense }}", 1, 1, "unexpected"},
		{PartText, "{{ preferences. }}", 1, 1, "expected a name"},
		{PartText, "{{ preferences[email] }}", 1, 1, "quoted"},
		{PartText, "x{% for a in b %}", 1, 2, "unknown tag"},
		{PartText, "{% include 'x' %}", 1, 1, "unknown tag"},
		{PartText, "{% assign a = 1 %}", 1, 1, "unknown tag"},
		{PartText, "\n\n {% if email %}", 3, 2, "no end tag"},
		{PartText, "{% endif %}", 1, 1, "has no matching {% if %}"},
		{PartText, "{% if email %}{% endunless %}", 1, 15, "can't close"},
		{PartText, "{% if email %}{% else %}{% else %}{% endif %}", 1, 25, "only one else"},
		{PartText, "{% if email %}{% else %}{% elsif email %}{% endif %}", 1, 25, "elsif"},
		{PartText, "{% if %}{% endif %}", 1, 1, "expected a name"},
		{PartText, "{% if email > 3 %}{% endif %}", 1, 1, "unexpected"},
		{PartText, "{% raw %}", 1, 1, "endraw"},
		{PartText, "{% comment %}{% endraw %}", 1, 1, "endcomment"},
		{PartText, strings.Repeat("{% if email %}", 21), 1, 281, "20 levels of nesting"},
		{PartText, strings.Repeat("{{ email }}", 10_001), 1, 110_001, "parts"},
		{PartHTML, "<script>{{ email }}</script>", 1, 9, "<script>"},
		{PartHTML, "<STYLE>{{ email }}</style>", 1, 8, "<style>"},
		{PartHTML, "<script>'</script {{ email }}", 1, 19, "quoted attribute"},
		{PartHTML, "<!-- {{ email }} -->", 1, 6, "comment"},
		{PartHTML, "<!doctype {{ email }}>", 1, 11, "comment"},
		{PartHTML, "<a href={{ email }}>", 1, 9, "quotes"},
		{PartHTML, "<a href=x{{ email }}>", 1, 10, "quotes"},
		{PartHTML, "<a {{ email }}>", 1, 4, "in a tag"},
		{PartHTML, "<{{ email }}>", 1, 2, "in a tag"},
		{PartHTML, "<a {{ email }}='x'>", 1, 4, "in a tag"},
		{PartHTML, "<p onclick=\"{{ email }}\">", 1, 13, "onclick"},
		{PartHTML, "<p style='{{ email }}'>", 1, 11, "style"},
		{PartHTML, "<img srcset='{{ email }}'>", 1, 14, "srcset"},
		{PartHTML, "<a href=\"javascript:f('{{ email }}')\">", 1, 24, "scheme"},
		{PartHTML, "<a href=\" Java&#115;cript:{{ email }}\">", 1, 27, "scheme"},
		{PartHTML, "{% if email %}<a href=\"{% endif %}{{ email }}", 1, 24, "different places"},

		{PartHTML, `<a href="{% if email %}javascript:{% endif %}{{ preferences.a }}">`, 1, 46, "scheme"},
		{PartHTML, `<a href="{% if email %}java{% else %}https://a.example/{% endif %}script:{{ preferences.a }}">`, 1, 74, "scheme"},
		{PartHTML, `<a href="{% if email %}{{ email }}{% else %}javascript:{% endif %}{{ preferences.a }}">`, 1, 67, "scheme"},
		{PartHTML, `<a href="{% unless email %}data:{% endunless %}text/html,{{ preferences.a | url_encode }}">`, 1, 58, "scheme"},
		{PartHTML, `<a href="{% if email %}https://a.example/{% endif %}{{ preferences.a }}">`, 1, 53, "starts the URL in one branch"},
		{PartHTML, "<p>\n<a href=\"{{ preferences.a }}:{{ preferences.b }}\">", 2, 30, "scheme"},
		{PartHTML, `<a href="{{ preferences.a }}:alert(1)"><b>x</b>`, 1, 10, "could become the scheme"},
		{PartHTML, `<a href="{{ preferences.a }}&#58alert(1)"><b>x</b>`, 1, 10, "could become the scheme"},
		{PartHTML, `<a href="{{ preferences.a }}&colon;alert(1)">`, 1, 10, "could become the scheme"},
		{PartHTML, `<a href="java{{ preferences.a }}:alert(1)">`, 1, 14, "could become the scheme"},
		{PartHTML, `<a href="{% if email %}{{ preferences.a }}{% endif %}script:alert(1)">`, 1, 24, "could become the scheme"},
		{PartHTML, `<a href="java&#5{{ preferences.a }}script">`, 1, 17, "character reference"},
		{PartHTML, "<a href=\"java" + strings.Repeat("\n", 80) + "script:{{ preferences.a }}\">", 81, 8, "scheme"},
		{PartHTML, `<a href="&#00000000000000000000000000000106;&#00000000000000000000000000000097;vascript:{{ preferences.a }}">`, 1, 89, "scheme"},
		{PartHTML, `<script>{% if email %}</scrip{% endif %}t>{{ email }}`, 1, 30, "different places"},

		{PartHTML, `<meta http-equiv="refresh" content="0;url={{ preferences.a }}">`, 1, 43, "http-equiv"},
		{PartHTML, `<META CONTENT='0;url={{ preferences.a }}' HTTP-EQUIV=refresh><p>x</p>`, 1, 22, "http-equiv"},
		{PartHTML, `<meta content="{{ preferences.a }}" http-equiv = "{{ preferences.b }}">`, 1, 16, "http-equiv"},
		{PartHTML, `<meta http-equiv="{{ preferences.a }}" content="0;url=https://a.example/">`, 1, 19, "http-equiv"},
		{PartHTML, `<meta {% if email %}http-equiv="refresh"{% endif %} content="{{ preferences.a }}">`, 1, 41, "different places"},
		{PartHTML, "{% if email %}<script>{% else %}<b>{% endif %}", 1, 36, "different places"},
	} {
		_, err := Compile(c.part, "body_html", c.src)
		var te *TemplateError
		var ce *core.Error
		if !errors.As(err, &te) || !errors.As(err, &ce) || ce.Kind != core.Invalid || ce.Field != "body_html" {
			t.Errorf("%.60q: error %v", c.src, err)
			continue
		}
		if te.Line != c.line || te.Col != c.col || !strings.Contains(te.Problem, c.word) {
			t.Errorf("%.60q: %v; want line %d, column %d, %q", c.src, te, c.line, c.col, c.word)
		}
	}
	if _, err := Compile(PartText, "x", strings.Repeat("x", maxTemplate+1)); err == nil {
		t.Error("a template over 1 MiB was taken")
	}
}

func TestTemplateBounds(t *testing.T) {
	tmpl, err := Compile(PartText, "x", strings.Repeat("{{ preferences.big }}", 9_000))
	if err != nil {
		t.Fatal(err)
	}
	v := testVars()
	v.Preferences = `{"big":"` + strings.Repeat("x", 2000) + `"}`
	if _, err := tmpl.Append(nil, v); !errors.Is(err, ErrTooLong) {
		t.Errorf("18 MB of output: %v", err)
	}
	v.Preferences = `{"pad":"` + strings.Repeat("x", 16_000) + `"}`
	if _, err := tmpl.Append(nil, v); !errors.Is(err, ErrTooLong) {
		t.Errorf("144 MB of reading: %v", err)
	}
}

func TestHTMLToText(t *testing.T) {
	for _, c := range [][2]string{
		{"<p>One</p><p>Two<br>three</p>", "One\n\nTwo\nthree\n"},
		{"<h1>T</h1>\n\n\n<div>a</div><div>b</div>", "T\n\na\nb\n"},
		{"<ul><li>a<li>b<ul><li>c</ul></ul><ol><li>x</li><li>y</li></ol>", "- a\n- b\n  - c\n\n1. x\n2. y\n"},
		{`<a href="https://a.example/">Read</a>, <a href="https://b.example">https://b.example</a> <a href="mailto:x@y.z">x@y.z</a><a href="#top">up</a>`, "Read (https://a.example/), https://b.example x@y.zup\n"},
		{`<a href="https://a.example/"><img alt="Logo" src=x></a><img src=y>`, "Logo (https://a.example/)\n"},
		{`<a href="https://a.example/"><img src=x></a>`, "https://a.example/\n"},
		{"<head><title>x</title><style>p{}</style></head><body>a<script>b</script><div style='display: none'>pre<div>in</div></div>c", "ac\n"},
		{"<p hidden>a<p>b", "b\n"},
		{"a&nbsp;&amp;&lt;b&gt; &eacute;&#8204;&#173;x", "a &<b> éx\n"},
		{"<table><tr><td>a</td><td>b</td></tr><tr><td>c</table>d", "a b\nc\n\nd\n"},
		{"<pre>a\n  b</pre>c", "a\n  b\n\nc\n"},
		{"a<hr>b", "a\n\n----\n\nb\n"},
		{"", ""},
	} {
		if got := HTMLToText(c[0]); got != c[1] {
			t.Errorf("%s\n got %q\nwant %q", c[0], got, c[1])
		}
	}
}

// TestPlainPart checks that the text generated from an HTML template keeps placeholders and blocks.
func TestPlainPart(t *testing.T) {
	for _, c := range [][2]string{
		{"<p>Hi {{ preferences.first_name }}!</p>{% if preferences.no %}<p>B</p>{% endif %}<p>C</p>", "Hi A<b>\"'&é!\n\nC\n"},
		{"<p>A</p>{% if preferences.yes %}<p>B</p>{% else %}<p>D</p>{% endif %}<p>C</p>", "A\n\nB\n\nC\n"},
		{"<p>A</p>{% if preferences.no %}<p>B</p>{% else %}<p>D</p>{% endif %}<p>C</p>", "A\n\nD\n\nC\n"},
		{"Hi {% if preferences.no %}you{% else %}there{% endif %} now", "Hi there now\n"},
		{"a {% if preferences.yes %} b {% endif %} c", "a b c\n"},
		{`<a href="{{ unsubscribe_url }}">{{ unsubscribe_url }}</a> {{ "{{" }} &#123;&#123; x`, "https://u.example/u?t=tok {{ {{ x\n"},
		{`<a href="https://x.example/?q={{ list.name }}">go</a>`, "go (https://x.example/?q=Garden%20%26%20Co)\n"},
		{"<head>{% if preferences.no %}<meta name=a>{% endif %}<title>{{ email }}</title></head><table><tr><td>{% if preferences.yes %}in{% endif %}</table>", "in\n"},
	} {
		tokens, err := lex(&source{"body_html", c[0]})
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := compileTokens(PartText, plainTokens(tokens))
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		if got, _ := tmpl.Append(nil, testVars()); string(got) != c[1] {
			t.Errorf("%s\n got %q\nwant %q", c[0], got, c[1])
		}
	}
}

// TestPlainWords checks that the text generated from a whole email has the words of the HTML, and no others except the
// links.
func TestPlainWords(t *testing.T) {
	spec := benchSpec()
	spec.HTML = strings.Replace(spec.HTML, "<body>", "<head><style>p{color:red}</style></head><body><h2>Überschrift &amp; more</h2><ul><li>one<li>two</ul>", 1)
	_, text, html, err := mustBulk(t, spec).Parts(testRecipient())
	if err != nil {
		t.Fatal(err)
	}
	var inHTML []string
	z := xhtml.NewTokenizer(strings.NewReader(html[strings.Index(html, "</head>"):]))
	for z.Next() != xhtml.ErrorToken {
		if tok := z.Token(); tok.Type == xhtml.TextToken {
			inHTML = append(inHTML, strings.Fields(strings.Trim(tok.Data, "\u200c\u00a0"))...)
		}
	}
	inText := strings.Fields(text)
	if a, b := mailtest.Likeness(inHTML, inText), mailtest.Likeness(inText, inHTML); a < 0.95 || b < 0.85 {
		t.Errorf("%.2f of the HTML's words are in the text, %.2f of the text's in the HTML:\n%s", a, b, text)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"{% if preferences.a == 'b' or email contains \"x\" %}{{ email | upcase }}{% else %}{% raw %}x{% endraw %}{% endif %}",
		"<a href=\"{{ preferences.u }}\" title='{{ preferences.v }}'>{{ preferences.w | truncate: 3 | default: 'x' }}</a>",
		"{{- list.name -}} {% unless email %}{% endunless %}{% comment %}{% endcomment %}", "<!--{{", "<p {% if email %}a='{% endif %}",
	} {
		f.Add(s, `{"a":"b","u":"javascript:x","v":"\"'<>","w":[1,"é"]}`)
	}
	f.Fuzz(func(t *testing.T, src, prefs string) {
		v := testVars()
		v.Preferences = prefs
		for _, part := range []Part{PartHeader, PartText, PartHTML} {
			tmpl, err := Compile(part, "x", src)
			if err != nil {
				var te *TemplateError
				if !errors.As(err, &te) || te.Line < 1 || te.Col < 1 {
					t.Fatalf("error without a place: %v", err)
				}
				continue
			}
			out, err := tmpl.Append(nil, v)
			if err == nil && len(out) > maxOutput {
				t.Fatalf("%d octets of output", len(out))
			}
			if part == PartHeader && !strings.ContainsAny(src, "\r\n") && strings.ContainsAny(string(out), "\r\n\x00") {
				t.Fatalf("a line end got into a header: %q", out)
			}
		}
		if _, err := CompileBulk(&BulkSpec{From: Address{"", "a@b.example"}, HTML: src, Subject: "x"}); err != nil {
			var ce *core.Error
			if !errors.As(err, &ce) {
				t.Fatalf("error of a foreign kind: %v", err)
			}
		}
	})
}

// TestFieldsOfRecordsAreDocumented checks that docs/writing.md names each field of list.*, tenant.* and job.*.
func TestFieldsOfRecordsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../docs/writing.md")
	if err != nil {
		t.Fatal(err)
	}
	for record, fields := range map[string]map[string]string{
		"list": sharedFields.List, "tenant": sharedFields.Tenant, "job": sharedFields.Job,
	} {
		for field := range fields {
			if name := record + "." + field; !strings.Contains(string(b), "`"+name+"`") {
				t.Errorf("docs/writing.md doesn't name %s", name)
			}
		}
	}
}
