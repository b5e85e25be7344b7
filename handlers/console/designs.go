package console

import (
	"embed"
	"io/fs"
	"strings"
	"sync"

	"newsletterd/core"
)

// designFiles holds the texts from which a campaign can start: designs/LANGUAGE/NAME.md.
//
//go:embed designs
var designFiles embed.FS

// start is a choice for the content of a new campaign.
type start struct {
	Value, Title, Text string
	Look               string // name of its icon
	On                 bool
}

// samples returns the texts of all designs that an author should replace: paragraphs of four or more words without
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

// sampleIn returns a sentence of a design that is still in the content, or an empty string.
func sampleIn(c core.CampaignContent) string {
	for _, line := range samples() {
		if strings.Contains(c.Source, line) {
			return strings.ReplaceAll(line, "**", "")
		}
	}
	return ""
}

// startOf is the prefix of a value for a campaign to start from.
const startOf = "campaign:"

// designs returns the texts that a campaign can start from.
func (p *Page) designs() []start {
	return []start{
		{Value: "", Title: p.T("Blank"), Text: p.T("An empty email in your design"), Look: "blank"},
		{Value: "letter", Title: p.T("Letter"), Text: p.T("Mostly text, like a personal note"), Look: "letter"},
		{Value: "story", Title: p.T("Story"), Text: p.T("One image and a long article"), Look: "story"},
		{Value: "digest", Title: p.T("Digest"), Text: p.T("3 to 6 short items"), Look: "digest"},
		{Value: "columns", Title: p.T("Two columns"), Text: p.T("Several topics side by side"), Look: "columns"},
		{Value: "event", Title: p.T("Event announcement"), Text: p.T("Date, place and a button"), Look: "event"},
		{Value: "offer", Title: p.T("Offer"), Text: p.T("A product or a discount"), Look: "offer"},
	}
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
		for name, is := range map[string]string{"theme": from.Theme, "preheader": from.Preheader} {
			if is != "" {
				body[name] = is
			}
		}
		return nil
	}
	if strings.ContainsAny(value, "/.") {
		return nil
	}
	for _, lang := range []string{p.Lang, core.Languages[0]} {
		if text, err := designFiles.ReadFile("designs/" + lang + "/" + value + ".md"); err == nil {
			body["content"] = core.CampaignContent{Kind: core.ContentMarkdown, Source: string(text)}
			return nil
		}
	}
	return nil
}
