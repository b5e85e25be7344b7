package console

import (
	"encoding/json"
	"io"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/markup"
)

// compareRoutes adds the routes with which the editor script compares sources.
func (o *Console) compareRoutes(t *web.Table) {
	o.upload(t, "/compare-sources", core.ActionCampaignRead, o.compareSources,
		"The console: whether two sources produce the same email")
}

// compared holds two sources of the same kind: the original, and the visual editor's version of it.
type compared struct {
	Kind   string `json:"kind"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// compareSources responds to the editor script with whether its version of the source would produce the same email.
func (o *Console) compareSources(p *Page) (any, error) {
	var in compared
	if err := json.NewDecoder(io.LimitReader(p.Request.Body, maxForm)).Decode(&in); err != nil {
		return nil, core.Invalidf("before", "Choose two versions to compare.")
	}
	return struct {
		Same bool `json:"same"`
	}{in.same()}, nil
}

// same reports whether both sources produce the same HTML and text, including placeholders. A source that doesn't
// compile isn't the same as any other, because the visual editor can't show its result.
func (c *compared) same() bool {
	before, err := markup.Compile(c.Kind, c.Before, markup.Options{})
	if err != nil {
		return false
	}
	after, err := markup.Compile(c.Kind, c.After, markup.Options{})
	return err == nil && before.HTML == after.HTML && before.Text == after.Text
}
