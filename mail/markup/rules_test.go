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

// faults returns where HTML breaks a rule of docs/decisions/0370-html-of-mails.md, with the rule's number.
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
	for _, want := range []string{`<html lang="`, "<title>", `content="light dark"`, "PixelsPerInch", "xmlns:o="} {
		if !strings.Contains(head, want) {
			fault(19, "no %s", want)
		}
	}
	if !strings.Contains(body, `<div lang="`) {
		fault(19, "no lang on a wrapper")
	}
	cell := "" // the style of the last td
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

// properties are those that may stand in a style, and what their values look like.
var properties = map[string]string{
	"margin": `0|0 0 0 24px|0 0 \d+px 0`, "padding": `[\dpx ]+`, "color": `#[0-9a-f]{6}`, "background-color": `#[0-9a-f]{6}`,
	"font-family": `[A-Za-z ,-]+`, "font-size": `\d+px|0`, "line-height": `\d+px|0`, "font-weight": `\d00`,
	"font-style":     "italic",
	"letter-spacing": `\dpx`, "mso-line-height-rule": "exactly", "mso-padding-alt": `[\dpx ]+`, "mso-table-lspace": "0pt",
	"mso-table-rspace": "0pt", "border-collapse": "separate|collapse", "border": "0",
	"border-top":    `\dpx (solid|double) #[0-9a-f]{6}`,
	"border-bottom": `\dpx (solid|double) #[0-9a-f]{6}`, "border-radius": `[\dpx ]+`, "text-align": "left|center|right",
	"text-decoration": "underline|none", "vertical-align": "top|middle", "display": "block|inline-block", "width": `100%|\d+px`,
	"max-width": `100%|\d+px`, "word-break": "break-word|normal", "overflow-wrap": "break-word|normal", "height": `auto|\d+px`, "-webkit-text-size-adjust": "100%", "-ms-text-size-adjust": "100%",
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

// What people write becomes HTML that follows the rules of mail programs, in each theme.
func TestRulesOfMailPrograms(t *testing.T) {
	for name, source := range samples(t) {
		for _, theme := range themes {
			r, err := Compile(kindOf(name), source, Options{
				Theme: &theme, Language: "de", Title: "Title", Name: "The Letter",
				Logo: "https://letter.example/logo.png", LogoWidth: 120, Address: "Street 1\nTown",
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

// The rules are looked for: HTML that breaks them has faults.
func TestFaultsAreFound(t *testing.T) {
	for source, rule := range map[string]string{
		`<p style="padding:4px">x</p>`:                       "3",
		`<p style="margin:0 0 4px 0">x</p>`:                  "3",
		`<div style="max-width:600px">x</div>`:               "4",
		`<img src="x" alt="" style="display:block">`:         "5",
		`<td style="line-height:20px">x</td>`:                "8",
		`<td style="color:rgb(0 0 0)">x</td>`:                "12",
		`<td style="display:flex">x</td>`:                    "12",
		`<style>p{}</style>`:                                 "13",
		`<img src="x" style="vertical-align:top">`:           "17",
		`<td style="font-size:11px">x</td>`:                  "18",
		`<table cellspacing="0" style="x">`:                  "19",
		`<a href="#top" style="color:#111111">x</a>`:         "20",
		"<!-- {{ email }} -->":                               "0",
		`<td style="font-family:Arial;line-height:1.5">x`:    "12",
		strings.Repeat("<p>All of it is too long.</p>", 5e3): "14",
	} {
		found := faults("<head></head><body>" + source)
		if !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, rule+":") }) {
			t.Errorf("%.60s: %q", source, found)
		}
	}
}
