package markup

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"newsletterd/mail"
)

// sampleReaders holds a subscriber with no details, and one with all fields that the newsletters use.
var sampleReaders = []mail.Recipient{
	{Email: "a@example.org", SubscriberID: "s1", UnsubscribeURL: "https://letter.example/leave"},
	{
		Email: "zoe+news@example.org", SubscriberID: "s2", UnsubscribeURL: "https://letter.example/leave",
		Preferences: `{"first_name": "Zoë <O’Neill> & Söhne", "member": true, "beta": true, "plan": "team", ` +
			`"district": "Müs", "language": "tr", "house": "12", "number": "4711", "stamps": 9}`,
	},
}

// TestSamples checks the long newsletters of testdata/newsletters in every theme. They must compile without a warning,
// follow the rules of email programs, be readable in light and dark mode, and have the same links and headings in both
// parts. Each file name ends with the language.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../testdata/newsletters/*.*")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i := range themes {
				for _, fault := range sampleFaults(filepath.Base(file), string(source), &themes[i]) {
					t.Errorf("%s: %s", themes[i].Name, fault)
				}
			}
		})
	}
}

// sampleFaults returns the problems of a newsletter in a theme.
func sampleFaults(file, source string, theme *Theme) []string {
	name := strings.TrimSuffix(file, filepath.Ext(file))
	o := Options{
		Theme: theme, Language: name[len(name)-2:], Title: "Title", Name: "The Letter", Address: "Street 1\nTown",
	}
	r, err := Compile(kindOf(file), source, o)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, w := range r.Warnings {
		out = append(out, "warning: "+w.String())
	}
	if again, err := Compile(kindOf(file), source, o); err != nil || !reflect.DeepEqual(again, r) {
		out = append(out, "compiled again, it becomes something else")
	}
	b, err := mail.CompileBulk(&mail.BulkSpec{
		From: mail.Address{Email: "letter@example.org"}, ListID: "l", JobID: "j", TenantID: "t",
		Subject: "Subject", HTML: r.HTML, Text: r.Text, Language: o.Language,
		Shared: mail.Shared{List: map[string]string{"id": "list-1", "name": "The Letter"}},
	})
	if err != nil {
		return append(out, err.Error())
	}
	for _, w := range b.Warnings() {
		out = append(out, "warning of the mailer: "+w)
	}
	for i := range sampleReaders {
		_, text, page, err := b.Parts(&sampleReaders[i])
		if err != nil {
			return append(out, err.Error())
		}
		out = append(out, partFaults(text, page)...)
	}
	return out
}

// partFaults returns the problems of an email's parts as rendered for a subscriber.
func partFaults(text, source string) []string {
	seen := readPage(source)
	out := append(faults(source), seen.faults...)
	outlook := strings.NewReplacer("<!--[if mso]>", "", "<![endif]-->", "").Replace(source)
	for _, f := range readPage(outlook).faults {
		out = append(out, "in Outlook: "+f)
	}
	if len(seen.said) == 0 {
		out = append(out, "no links and no headings")
	}
	for _, words := range seen.said {
		if !strings.Contains(text, words) {
			out = append(out, "the text lacks "+words)
		}
	}
	return out
}

// pageReader reads the HTML of an email tag by tag and collects its problems.
type pageReader struct {
	open   []element         // open elements, the outermost first
	dark   map[string]string // colors in dark mode, by class
	read   map[shades]bool   // pairs of colors already checked
	said   []string          // URLs of links and words of headings
	faults []string
}

// element is an open HTML element. It inherits colors that it doesn't set from the element around it.
type element struct {
	tag         string
	style       map[string]string
	light, dark shades
}

// shades holds the color of a text and its background color.
type shades struct{ text, on string }

var (
	darkRule = regexp.MustCompile(`\.([bc]-[a-z]+)\{(?:background-)?color:(#[0-9a-f]{6}) !important\}`)
	headings = []string{"h1", "h2", "h3", "h4", "h5", "h6"}
	// linesOnly lists the elements that contain text but no blocks.
	linesOnly = append([]string{"p", "a", "code", "em", "strong", "del"}, headings...)
	blockTags = append([]string{"table", "div", "p", "ul", "ol", "blockquote"}, headings...)
	cells     = []string{"td", "th"}
	voids     = []string{"br", "img", "meta"}
)

func readPage(source string) *pageReader {
	p := &pageReader{dark: map[string]string{}, read: map[shades]bool{}}
	for _, m := range darkRule.FindAllStringSubmatch(source, -1) {
		p.dark[m[1]] = m[2]
	}
	z := html.NewTokenizer(strings.NewReader(source))
	for {
		kind := z.Next()
		t := z.Token()
		switch kind {
		case html.ErrorToken:
			for _, e := range p.open {
				p.fault("<%s> is not closed", e.tag)
			}
			return p
		case html.StartTagToken:
			p.start(&t)
		case html.EndTagToken:
			p.end(t.Data)
		case html.TextToken:
			p.text(t.Data)
		}
	}
}

func (p *pageReader) fault(format string, args ...any) {
	if f := fmt.Sprintf(format, args...); !slices.Contains(p.faults, f) {
		p.faults = append(p.faults, f)
	}
}

// within reports whether one of the tags is open.
func (p *pageReader) within(tags []string) bool {
	return slices.ContainsFunc(p.open, func(e element) bool { return slices.Contains(tags, e.tag) })
}

func (p *pageReader) start(t *html.Token) {
	e := element{tag: t.Data, style: map[string]string{}}
	if n := len(p.open); n > 0 {
		e.light, e.dark = p.open[n-1].light, p.open[n-1].dark
	}
	for decl := range strings.SplitSeq(attribute(t, "style"), ";") {
		name, value, _ := strings.Cut(decl, ":")
		e.style[name] = value
	}
	if c := e.style["color"]; c != "" {
		e.light.text, e.dark.text = c, c
	}
	if c := e.style["background-color"]; c != "" {
		e.light.on, e.dark.on = c, c
	}
	for _, class := range strings.Fields(attribute(t, "class")) {
		switch c := p.dark[class]; {
		case c == "":
		case strings.HasPrefix(class, "c-"):
			e.dark.text = c
		default:
			e.dark.on = c
		}
	}
	if slices.Contains(blockTags, t.Data) && p.within(linesOnly) || t.Data == "a" && p.within([]string{"a"}) {
		p.fault("<%s> stands in <%s>", t.Data, p.open[len(p.open)-1].tag)
	}
	p.open = append(p.open, e)
	if t.Data == "a" {
		p.said = append(p.said, strings.TrimPrefix(attribute(t, "href"), "mailto:"))
	}
	if alt := attribute(t, "alt"); alt != "" {
		p.look(alt)
	}
	if slices.Contains(voids, t.Data) {
		p.end(t.Data)
	}
}

func (p *pageReader) end(tag string) {
	last := len(p.open) - 1
	if last < 0 || p.open[last].tag != tag {
		p.fault("</%s> ends what it did not begin", tag)
		return
	}
	p.open = p.open[:last]
}

func (p *pageReader) text(s string) {
	if s = strings.TrimSpace(s); s == "" || !p.within([]string{"body"}) {
		return
	}
	if p.within(headings) {
		p.said = append(p.said, s)
	}
	p.look(s)
}

// look reports a text that is not readable on its background, or whose cell doesn't set its style.
func (p *pageReader) look(words string) {
	e := &p.open[len(p.open)-1]
	for _, s := range []shades{e.light, e.dark} {
		if !p.read[s] && !color(s.text).Legible(color(s.on)) {
			p.fault("%s on %s can't be read: %.40q", s.text, s.on, words)
		}
		p.read[s] = true
	}
	for _, name := range []string{"color", "font-family", "font-size", "line-height"} {
		if v := p.cellStyle(name); v == "" || v == "0" {
			p.fault("no %s in the cell of %.40q", name, words)
		}
	}
}

// cellStyle returns a property from the innermost open elements, up to the cell that contains them.
func (p *pageReader) cellStyle(name string) string {
	for _, e := range slices.Backward(p.open) {
		if v := e.style[name]; v != "" || slices.Contains(cells, e.tag) {
			return v
		}
	}
	return ""
}

// TestSampleFaultsAreFound checks that pageReader finds each kind of problem.
func TestSampleFaultsAreFound(t *testing.T) {
	const (
		styles = `<style>.b-tint{background-color:#222222 !important}</style>`
		cell   = `<body><td style="color:#222222;background-color:#fafafa;font-family:Arial;font-size:16px;` +
			`line-height:24px">`
	)
	for source, want := range map[string]string{
		`<p>x</td>`:                                "</td> ends what it did not begin",
		`x`:                                        "<td> is not closed",
		`<p><table></table></p></td></body>`:       "<table> stands in <p>",
		`<a><em><a></a></em></a></td></body>`:      "<a> stands in <em>",
		`<p style="color:#bbbbbb">x</p></td>`:      `#bbbbbb on #fafafa can't be read: "x"`,
		`<p class="b-tint">x</p></td>`:             `#222222 on #222222 can't be read: "x"`,
		`<img alt="x" style="color:#dddddd"></td>`: `#dddddd on #fafafa can't be read: "x"`,
		`<table><td>x</td></table>`:                `no font-size in the cell of "x"`,
	} {
		if found := readPage(styles + cell + source).faults; !slices.Contains(found, want) {
			t.Errorf("%s: %q", source, found)
		}
	}
	found := partFaults("Hello", cell+`<h1>Hello</h1><h2>World</h2><a href="https://x.example/?a=1&amp;b=2">x</a>`)
	for _, want := range []string{"the text lacks World", "the text lacks https://x.example/?a=1&b=2"} {
		if !slices.Contains(found, want) || slices.Contains(found, "the text lacks Hello") {
			t.Errorf("%q", found)
		}
	}
}
