package markup

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// faults returns the violations of docs/decisions/0370-html-of-mails.md in HTML, each with the number of its rule.
func faults(source string) (out []string) {
	fault := func(rule int, format string, args ...any) {
		out = append(out, fmt.Sprintf("%d: ", rule)+fmt.Sprintf(format, args...))
	}
	head, body, _ := strings.Cut(source, "</head>")
	styleFaults(head, fault)
	if strings.Contains(body, "<style") {
		fault(13, "a style block outside of the head")
	}
	if len(source) > 102_000 {
		fault(14, "%d octets", len(source))
	}
	for want, rule := range map[string]int{
		`<html lang="`: 19, "<title>": 19, "PixelsPerInch": 6, "xmlns:o=": 6, "xmlns:v=": 6, "sans-serif !important": 9,
		`content="light dark"`: 16, "(prefers-color-scheme:dark)": 16, "[data-ogsc]": 16, "x-apple-data-detectors": 18,
		"u + .body a": 18,
	} {
		if !strings.Contains(head, want) {
			fault(rule, "no %s", want)
		}
	}
	if !strings.Contains(body, `<div lang="`) {
		fault(19, "no lang on a wrapper")
	}
	if !strings.Contains(body, "-webkit-text-size-adjust") {
		fault(18, "no text-size-adjust")
	}
	commentFaults(body, fault)
	cell := "" // style of the last td
	z := html.NewTokenizer(strings.NewReader(body))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out
		}
		t := z.Token()
		if kind == html.CommentToken && strings.Contains(t.Data, "{{") {
			fault(0, "a placeholder in a comment")
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		if t.Data == "td" || t.Data == "th" {
			cell = attribute(&t, "style")
		}
		tagFaults(&t, cell, fault)
	}
}

var forOutlook = regexp.MustCompile(`(?s)<!--\[if mso\]>(.*?)<!\[endif\]-->`)

// commentFaults checks the contents of comments for Outlook.
func commentFaults(body string, fault func(int, string, ...any)) {
	cells := 0
	for _, m := range forOutlook.FindAllStringSubmatch(body, -1) {
		cells += strings.Count(m[1], "<td width")
		if strings.Contains(m[1], "<table") && !strings.Contains(m[1], `style="width:`) {
			fault(6, "a table for Outlook without a width in its style")
		}
	}
	if n := strings.Count(body, `class="col"`); n != cells {
		fault(1, "%d columns, %d cells for Outlook", n, cells)
	}
}

func styleFaults(head string, fault func(int, string, ...any)) {
	head = regexp.MustCompile(`(?s)<!--.*?-->`).ReplaceAllString(head, "")
	sum := 0
	for _, m := range regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(head, -1) {
		sum += len(m[1])
		if strings.Count(m[1], "@") > 1 || strings.Contains(m[1], "url(") {
			fault(13, "a style block with @ in it twice, or url(): %s", m[1])
		}
	}
	if sum > 16<<10 {
		fault(13, "%d octets of style", sum)
	}
}

// properties maps the properties permitted in a style to patterns of their values.
var properties = map[string]string{
	"margin": `0|0 0 0 24px|0 0 \d+px 0`, "padding": `[\dpx ]+`, "color": `#[0-9a-f]{6}`, "background-color": `#[0-9a-f]{6}`,
	"font-family": `[A-Za-z ,-]+`, "font-size": `\d+px|0`, "line-height": `\d+px|0`, "font-weight": `\d00`,
	"font-style":     "italic",
	"letter-spacing": `\dpx`, "mso-line-height-rule": "exactly", "mso-padding-alt": `[\dpx ]+`, "mso-table-lspace": "0pt",
	"mso-table-rspace": "0pt", "border-collapse": "separate|collapse", "border": "0",
	"border-top":    `\dpx (solid|double) #[0-9a-f]{6}`,
	"border-bottom": `\dpx (solid|double) #[0-9a-f]{6}`, "border-radius": `[\dpx ]+`, "text-align": "left|center|right",
	"text-decoration": "underline|none", "vertical-align": "top|middle", "display": "block|inline-block|none",
	"mso-hide": "all", "width": `100%|\d+px`,
	"max-width": `100%|\d+px`, "word-break": "break-word|normal", "overflow-wrap": "break-word|normal",
	"height": `auto|\d+px`, "-webkit-text-size-adjust": "100%", "-ms-text-size-adjust": "100%",
}

var forms = func() map[string]*regexp.Regexp {
	m := map[string]*regexp.Regexp{}
	for name, form := range properties {
		m[name] = regexp.MustCompile("^(" + form + ")$")
	}
	return m
}()

func tagFaults(t *html.Token, cell string, fault func(int, string, ...any)) {
	style := map[string]string{}
	for decl := range strings.SplitSeq(attribute(t, "style"), ";") {
		if decl == "" {
			continue
		}
		name, value, _ := strings.Cut(decl, ":")
		style[name] = value
		if form := forms[name]; form == nil || !form.MatchString(value) {
			fault(12, "<%s> has %s", t.Data, decl)
		}
	}
	button := t.Data == "a" && strings.Contains(cell, "mso-padding-alt") && style["display"] == "inline-block"
	if d := style["display"]; d != "" && d != "block" && d != "none" && !button && attribute(t, "class") != "col" {
		fault(1, "<%s> has display:%s", t.Data, d)
	}
	if button && (style["background-color"] == "" || !strings.Contains(cell, "background-color")) {
		fault(7, "a button whose cell or link isn't filled")
	}
	if style["display"] == "none" && style["mso-hide"] != "all" {
		fault(10, "<%s> is hidden, not in Outlook", t.Data)
	}
	lookFaults(t, style, fault)
	if p := style["padding"]; p != "" && p != "0" && t.Data != "td" && t.Data != "th" && !button {
		fault(3, "<%s> has padding", t.Data)
	}
	if m := style["margin"]; m != "" && m != "0" && t.Data != "ul" && t.Data != "ol" && t.Data != "li" {
		fault(3, "<%s> has margin %s", t.Data, m)
	}
	if style["max-width"] != "" && t.Data != "table" && t.Data != "img" && attribute(t, "class") != "col" {
		fault(4, "<%s> has max-width", t.Data)
	}
	if h := style["line-height"]; h != "" && h != "0" && style["mso-line-height-rule"] == "" && style["font-size"] != "1px" {
		fault(8, "<%s> has line-height alone", t.Data)
	}
	if style["font-size"] != "" && style["font-size"] != "0" && style["font-size"] != style["line-height"] {
		if n, _ := strconv.Atoi(strings.TrimSuffix(style["font-size"], "px")); n < 14 && t.Data != "code" {
			fault(18, "<%s> has %s", t.Data, style["font-size"])
		}
	}
	switch t.Data {
	case "table":
		if attribute(t, "role") != "presentation" && style["width"] == "" {
			fault(19, "a table of layout without role")
		}
		if style["mso-table-lspace"] == "" || attribute(t, "cellspacing") != "0" {
			fault(8, "a table with room around it")
		}
	case "img":
		if !slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "alt" }) {
			fault(17, "a picture without alt")
		}
		if style["display"] == "" && style["vertical-align"] == "" {
			fault(17, "a picture with a gap below")
		}
		if style["display"] == "block" && attribute(t, "width") == "" {
			fault(5, "a picture without width")
		}
	case "a":
		if style["text-decoration"] == "none" && !button && style["color"] == "" &&
			!strings.Contains(attribute(t, "href"), "://") {
			fault(19, "a link that isn't underlined")
		}
		if strings.HasPrefix(attribute(t, "href"), "#") {
			fault(20, "a link within the mail")
		}
	}
}

// lookFaults checks the colors, fonts and white space of an element.
func lookFaults(t *html.Token, style map[string]string, fault func(int, string, ...any)) {
	for _, class := range strings.Fields(attribute(t, "class")) {
		needs := map[string]string{"b-": "background-color", "c-": "color", "l-": "border"}[class[:min(2, len(class))]]
		stands := needs == "" || style[needs] != "" || needs == "border" && style["border-top"]+style["border-bottom"] != "" ||
			needs == "background-color" && attribute(t, "bgcolor") != ""
		if !stands {
			fault(2, "<%s> has its %s by the class %s alone", t.Data, needs, class)
		}
	}
	if f := style["font-family"]; f != "" && !strings.HasSuffix(f, "serif") && !strings.HasSuffix(f, "monospace") {
		fault(9, "<%s> has %s", t.Data, f)
	}
	if style["white-space"] != "" || t.Data == "pre" {
		fault(11, "<%s> with white-space", t.Data)
	}
	if attribute(t, "background") != "" || strings.Contains(attribute(t, "style"), "url(") {
		fault(15, "<%s> has a picture as its background", t.Data)
	}
	for _, c := range []string{style["color"], style["background-color"], attribute(t, "bgcolor")} {
		if c == "#ffffff" || c == "#000000" {
			fault(16, "<%s> is %s", t.Data, c)
		}
	}
}

// TestRulesOfMailPrograms checks that the samples result in HTML that follows the rules of email programs, in each
// theme.
func TestRulesOfMailPrograms(t *testing.T) {
	for name, source := range samples(t) {
		for _, theme := range themes {
			r, err := Compile(kindOf(name), source, Options{
				Theme: &theme, Language: "de", Title: "Title", Name: "The Letter",
				Logo: "https://letter.example/logo.png", LogoWidth: 120,
				DarkLogo: "https://letter.example/light.png", Address: "Street 1\nTown",
			})
			if err != nil {
				t.Errorf("%s, %s: %v", name, theme.Name, err)
				continue
			}
			for _, f := range faults(r.HTML) {
				t.Errorf("%s, %s: rule %s", name, theme.Name, f)
			}
		}
	}
}

// TestFaultsAreFound checks that faults finds each violation of a rule.
func TestFaultsAreFound(t *testing.T) {
	broken := map[string]string{
		`<p style="display:inline-block">x</p>`:                                      "1",
		`<div class="col">x</div>`:                                                   "1",
		`<p class="c-text">x</p>`:                                                    "2",
		`<td class="b-card">x</td>`:                                                  "2",
		`<p style="padding:4px">x</p>`:                                               "3",
		`<p style="margin:0 0 4px 0">x</p>`:                                          "3",
		`<div style="max-width:600px">x</div>`:                                       "4",
		`<img src="x" alt="" style="display:block">`:                                 "5",
		`<!--[if mso]><table width="600"><![endif]-->`:                               "6",
		`<td style="line-height:20px">x</td>`:                                        "8",
		`<td style="font-family:Comic">x</td>`:                                       "9",
		`<p style="display:none">x</p>`:                                              "10",
		`<td style="white-space:pre">x</td>`:                                         "11",
		`<pre>x</pre>`:                                                               "11",
		`<td style="color:rgb(0 0 0)">x</td>`:                                        "12",
		`<td style="display:flex">x</td>`:                                            "12",
		`<style>p{}</style>`:                                                         "13",
		`<td background="https://x.example/x.png">x</td>`:                            "15",
		`<td style="color:#000000">x</td>`:                                           "16",
		`<img src="x" style="vertical-align:top">`:                                   "17",
		`<td style="font-size:11px">x</td>`:                                          "18",
		`<table cellspacing="0" style="x">`:                                          "19",
		`<a href="#top" style="color:#111111">x</a>`:                                 "20",
		"<!-- {{ email }} -->":                                                       "0",
		`<td style="font-family:Arial;line-height:1.5">x`:                            "12",
		strings.Repeat("<p>All of it is too long.</p>", 5e3):                         "14",
		`<td style="mso-padding-alt:1px"><a style="display:inline-block">x</a></td>`: "7",
	}
	seen := map[string]bool{}
	for source, rule := range broken {
		seen[rule] = true
		found := faults("<head></head><body>" + source)
		if !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, rule+":") }) {
			t.Errorf("%.60s: %q", source, found)
		}
	}
	for rule := range 20 {
		if !seen[strconv.Itoa(rule+1)] {
			t.Errorf("nothing breaks rule %d", rule+1)
		}
	}
	bare := strings.Join(faults("<head></head><body>"), "\n")
	for _, rule := range []string{"6: ", "9: ", "16: ", "18: ", "19: "} {
		if !strings.Contains(bare, rule) {
			t.Errorf("a head that lacks all breaks no rule %s", rule)
		}
	}
}
