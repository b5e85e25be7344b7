package article

import (
	"fmt"
	stdhtml "html"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/htmlclean"
	"newsletterd/mail/markup"
)

// Source is the input for an article.
type Source struct {
	Kind, Text string
	Polls      []core.Poll
	Title      string // omitted from the article if its first heading repeats it
	// Vars are the values of a subscriber with no details. New sets the links.
	Vars mail.Vars
	// Link returns the URL for a link in the article, given the URL in the source. If Link returns an empty string,
	// only the text of the link remains.
	Link func(address string) string
	// Picture returns the size in pixels of an image stored on this server, and 0 for other images.
	Picture func(address string) (width, height int)
}

// Picture is an image in an article. Width and Height are in pixels, or 0 if the image isn't stored on this server.
type Picture struct {
	Address, Alt  string
	Width, Height int
}

// Article is a campaign's content as part of a web page.
type Article struct {
	// HTML is empty if the content has a custom design, is nested too deeply or is empty. In these cases, only the
	// email shows it as intended.
	HTML     string
	Words    string // plain text, with a line for each block
	Pictures []Picture
}

// New creates an article from a source. If the source can't be compiled, it returns the error.
func New(s *Source) (*Article, error) {
	page, err := s.page()
	if err != nil {
		return nil, err
	}
	body, err := parse(page)
	if err != nil {
		return &Article{}, nil // the article is empty; the email can still be shown
	}
	strip(body)
	a := &Article{}
	s.headings(body)
	s.finish(body, a)
	a.Words = words(body)
	if s.Kind == core.ContentHTML && designed.MatchString(s.Text) {
		return a, nil
	}
	a.HTML, err = write(body)
	return a, err
}

// parse returns a body with the nodes of an HTML fragment. It returns an error if they are nested more than 512 levels
// deep.
func parse(page string) (*html.Node, error) {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(strings.NewReader(page), body)
	if err != nil {
		return nil, fmt.Errorf("parse an article: %w", err)
	}
	for _, n := range nodes {
		body.AppendChild(n)
	}
	return body, nil
}

// WellFormed returns an HTML fragment as a browser would parse it, with every element closed and correctly nested. It
// returns the same errors as Imported.
func WellFormed(page string) (string, error) {
	body, err := parse(page)
	if err != nil {
		return "", err
	}
	return write(body)
}

func write(body *html.Node) (string, error) {
	var b strings.Builder
	for n := body.FirstChild; n != nil; n = n.NextSibling {
		if err := html.Render(&b, n); err != nil {
			return "", fmt.Errorf("write an article: %w", err)
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// designed matches HTML that depends on styles or layout tables.
var designed = regexp.MustCompile(`(?i)<(?:table|style|center|link|form|svg|video)\b|\bbgcolor\s*=|` +
	`\bbackground(?:-\w+)?\s*[:=]`)

// page renders the content as HTML with the values of s.Vars.
func (s *Source) page() (string, error) {
	switch s.Kind {
	case core.ContentText:
		text, err := s.fill(mail.PartText, marked(markup.WithPolls(mail.PartText, s.Text, s.Polls, false)))
		return paragraphs(text), err
	case core.ContentHTML:
		page, err := s.fill(mail.PartHTML, markTexts(markup.WithPolls(mail.PartHTML, s.Text, s.Polls, false)))
		return htmlclean.Body(InBody(page)), err
	}
	template, err := markup.Article(s.Kind, s.Text, s.Polls)
	if err != nil {
		return "", err
	}
	return s.fill(mail.PartHTML, markTexts(template))
}

func (s *Source) fill(part mail.Part, template string) (string, error) {
	t, err := mail.Compile(part, "content.source", template)
	if err != nil {
		return "", err
	}
	v := s.Vars
	v.Subject = s.Title
	v.UnsubscribeURL, v.PreferencesURL, v.ViewURL, v.UnsubscribeToken = ownLink, ownLink, ownLink, ownWord
	page, err := t.Append(nil, &v)
	if err != nil {
		return "", fmt.Errorf("render an article: %w", err)
	}
	return string(page), nil
}

var (
	bodyTag = regexp.MustCompile(`(?i)<body(\s[^>]*)?>`)
	bodyEnd = regexp.MustCompile(`(?i)</body\s*>`)
)

// InBody returns the contents of an HTML document's body. It returns a fragment unchanged.
func InBody(page string) string {
	if at := bodyTag.FindStringIndex(page); at != nil {
		page = page[at[1]:]
	}
	if at := bodyEnd.FindAllStringIndex(page, -1); at != nil {
		page = page[:at[len(at)-1][0]]
	}
	return page
}

var textLink = regexp.MustCompile(`https?://[^\s<>"]*[^\s<>".,;:!?)\]]`)

// paragraphs converts plain text to HTML. Each block becomes a paragraph, and URLs become links.
func paragraphs(text string) string {
	var b strings.Builder
	for p := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		p = strings.Trim(p, "\n")
		if strings.TrimSpace(p) == "" {
			continue
		}
		b.WriteString("<p>")
		at := 0
		for _, l := range textLink.FindAllStringIndex(p, -1) {
			link := stdhtml.EscapeString(p[l[0]:l[1]])
			b.WriteString(lines(p[at:l[0]]) + `<a href="` + link + `">` + link + "</a>")
			at = l[1]
		}
		b.WriteString(lines(p[at:]) + "</p>\n")
	}
	return b.String()
}

func lines(s string) string { return strings.ReplaceAll(stdhtml.EscapeString(s), "\n", "<br>") }

var levels = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}

// headings removes a first heading that repeats the title, and shifts the levels of the others so that they start at 2
// and never skip a level. Level 1 is the title.
func (s *Source) headings(body *html.Node) {
	var all []*html.Node
	var repeated *html.Node
	for n := range body.Descendants() {
		if levels[n.DataAtom] == 0 {
			continue
		}
		if len(all) == 0 && repeated == nil && !wordsBefore(n) &&
			strings.EqualFold(oneLine(textOf(n)), oneLine(s.Title)) {
			repeated = n
			continue
		}
		all = append(all, n)
	}
	if repeated != nil {
		repeated.Parent.RemoveChild(repeated)
	}
	var above []int // original levels of the enclosing headings
	for _, n := range all {
		level := levels[n.DataAtom]
		for len(above) > 0 && above[len(above)-1] >= level {
			above = above[:len(above)-1]
		}
		above = append(above, level)
		n.Data = "h" + strconv.Itoa(min(len(above)+1, 6))
		n.DataAtom = atom.Lookup([]byte(n.Data))
	}
}

// wordsBefore reports whether any word precedes an element in its parent.
func wordsBefore(n *html.Node) bool {
	for p := n.PrevSibling; p != nil; p = p.PrevSibling {
		if isWord(p) {
			return true
		}
		for d := range p.Descendants() {
			if isWord(d) {
				return true
			}
		}
	}
	return false
}

// finish removes empty paragraphs, sets link URLs and image sizes, and collects the images.
func (s *Source) finish(body *html.Node, a *Article) {
	for _, n := range emptyParagraphs(body) {
		n.Parent.RemoveChild(n)
	}
	for n := range body.Descendants() {
		switch n.DataAtom {
		case atom.A:
			if address := s.Link(attribute(n, "href")); address != "" {
				set(n, "href", address)
			} else {
				n.Attr = slices.DeleteFunc(n.Attr, isTarget) // an answer to a poll: its text stays
			}
		case atom.Img:
			s.image(n, a)
		}
	}
}

// isTarget reports whether an attribute belongs to a link: href, class or rel.
func isTarget(a html.Attribute) bool { return a.Key == "href" || a.Key == "class" || a.Key == "rel" }

// emptyParagraphs returns the paragraphs with nothing but spaces and line breaks. Editors use them for spacing.
func emptyParagraphs(body *html.Node) (empty []*html.Node) {
	full := map[*html.Node]bool{}
	for n := range body.Descendants() {
		if isWord(n) || n.DataAtom == atom.Img {
			for p := n.Parent; p != nil && !full[p]; p = p.Parent {
				full[p] = true
			}
		}
	}
	for n := range body.Descendants() {
		if n.DataAtom == atom.P && !full[n] {
			empty = append(empty, n)
		}
	}
	return empty
}

func (s *Source) image(n *html.Node, a *Article) {
	p := Picture{Address: attribute(n, "src"), Alt: attribute(n, "alt")}
	if p.Address == "" {
		return
	}
	p.Width, p.Height = s.Picture(p.Address)
	if p.Width > 0 && p.Height > 0 {
		width := p.Width
		if asked, err := strconv.Atoi(attribute(n, "width")); err == nil && asked > 0 {
			width = min(asked, width)
		}
		set(n, "width", strconv.Itoa(width))
		set(n, "height", strconv.Itoa(max(1, (width*p.Height+p.Width/2)/p.Width)))
	}
	if len(a.Pictures) > 0 { // the first image is visible without scrolling
		set(n, "loading", "lazy")
	}
	a.Pictures = append(a.Pictures, p)
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func set(n *html.Node, name, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == name {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}
