package console

import (
	"cmp"
	"embed"
	"io/fs"
	"strings"
	"sync"
	"unicode/utf8"

	"newsletterd/core"
)

// designFiles holds the designs that a campaign can start from: designs/LANGUAGE/NAME.md.
//
//go:embed designs
var designFiles embed.FS

// start is a starting point for a new campaign's content.
type start struct {
	Value, Title, Text string
	Shapes             []shape // thumbnail
	On                 bool
}

// shape is a part of a design's thumbnail that represents a block of text. Kind is the CSS class.
type shape struct {
	Kind  string
	Parts []shape // blocks of a callout, columns or the blocks of a column
}

// Kinds of shapes.
const (
	shapeTitle   = "d-title"
	shapeHeading = "d-head"
	shapeLine    = "d-text"
	shapeLines   = "d-long" // a paragraph of two lines
	shapeButton  = "d-button"
	shapeDivider = "d-rule"
	shapeNote    = "d-note"
	shapeColumns = "d-cols"
	shapeColumn  = "d-col"
)

// lineOfText is the maximum length in characters of a paragraph that a thumbnail shows as one line.
const lineOfText = 50

// drawn returns the shapes in a design's thumbnail. It supports only the Markdown in the built-in designs, in which
// each block is one line.
func drawn(text string) []shape {
	all := [][]shape{nil} // the shapes of the document, and of each open container
	var open []string     // the kinds of the containers
	put := func(s shape) { all[len(all)-1] = append(all[len(all)-1], s) }
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		kind, container := strings.CutPrefix(line, "::: ")
		switch {
		case line == "":
		case line == ":::":
			last := len(open) - 1
			s := shape{open[last], all[last+1]}
			open, all = open[:last], all[:last+1]
			put(s)
		case container:
			kind = map[string]string{"columns": shapeColumns, "column": shapeColumn}[kind]
			open, all = append(open, cmp.Or(kind, shapeNote)), append(all, nil)
		case strings.HasPrefix(line, "# "):
			put(shape{Kind: shapeTitle})
		case strings.HasPrefix(line, "#"):
			put(shape{Kind: shapeHeading})
		case line == "---":
			put(shape{Kind: shapeDivider})
		case strings.HasSuffix(line, "{.button}"):
			put(shape{Kind: shapeButton})
		case utf8.RuneCountInString(line) > lineOfText:
			put(shape{Kind: shapeLines})
		default:
			put(shape{Kind: shapeLine})
		}
	}
	return all[0]
}

// samples returns the paragraphs in all designs that authors should replace: those with four or more words and no
// placeholders.
var samples = sync.OnceValue(func() (all []string) {
	files, err := fs.Glob(designFiles, "designs/*/*.md")
	if err != nil {
		panic(err)
	}
	for _, name := range files {
		text, err := designFiles.ReadFile(name)
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.ContainsAny(line[:min(1, len(line))], "#:[-") || strings.Contains(line, "{{") {
				continue
			}
			if len(strings.Fields(line)) >= 4 {
				all = append(all, line)
			}
		}
	}
	return all
})

// sampleIn returns a design's sample sentence that is still in the content, or an empty string.
func sampleIn(c core.CampaignContent) string {
	for _, line := range samples() {
		if strings.Contains(c.Source, line) {
			return strings.ReplaceAll(line, "**", "")
		}
	}
	return ""
}

// startOf is the prefix of values that identify a campaign as the starting point.
const startOf = "campaign:"

// designText returns a design's text in the visitor's language, or in the default language.
func (p *Page) designText(name string) (text string, ok bool) {
	for _, lang := range []string{p.Lang, core.Languages[0]} {
		if text, err := designFiles.ReadFile("designs/" + lang + "/" + name + ".md"); err == nil {
			return string(text), true
		}
	}
	return "", false
}

// designs returns the designs that a campaign can start from.
func (p *Page) designs() []start {
	all := []start{
		{Value: "", Title: p.T("Blank"), Text: p.T("An empty email in your design")},
		{Value: "letter", Title: p.T("Letter"), Text: p.T("Mostly text, like a personal note")},
		{Value: "story", Title: p.T("Story"), Text: p.T("A long article with headings")},
		{Value: "digest", Title: p.T("Digest"), Text: p.T("3 to 6 short items")},
		{Value: "columns", Title: p.T("Two columns"), Text: p.T("Several topics side by side")},
		{Value: "event", Title: p.T("Event announcement"), Text: p.T("Date, place and a button")},
		{Value: "offer", Title: p.T("Offer"), Text: p.T("A product or a discount")},
	}
	for i := range all {
		text, _ := p.designText(all[i].Value)
		all[i].Shapes = drawn(text)
	}
	return all
}

// pastCampaigns returns recently sent campaigns to start from.
func (p *Page) pastCampaigns() (all []start, err error) {
	var found []core.CampaignView
	if _, err := p.Get("/api/campaigns", p.ofTenant("state", string(core.CampaignSent), "limit", "6"),
		&found); err != nil {
		return nil, err
	}
	for i := range found {
		c := campaignPage{CampaignView: found[i]}
		all = append(all, start{Value: startOf + c.ID, Title: c.Title(p), Text: p.When(c.UpdatedAt)})
	}
	return all, nil
}

// startWith adds the chosen content to the body that creates a campaign. It ignores an unknown choice.
func (p *Page) startWith(value string, body map[string]any) error {
	if id, ok := strings.CutPrefix(value, startOf); ok {
		var from campaignPage
		if _, err := p.readNamed(campaignAPI(id), &from); err != nil || from.ID == "" ||
			from.TenantID != p.Tenant.ID {
			return err
		}
		body["content"] = from.Content
		body["theme"], body["preheader"] = from.Theme, from.Preheader
		return nil
	}
	if strings.ContainsAny(value, "/.") {
		return nil
	}
	if text, ok := p.designText(value); ok {
		body["content"] = core.CampaignContent{Kind: core.ContentMarkdown, Source: text}
	}
	return nil
}
