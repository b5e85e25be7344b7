package console

import (
	"encoding/json"
	"io"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/markup"
)

// compareRoutes are what the script of the editor asks for.
func (o *Console) compareRoutes(t *web.Table) {
	o.upload(t, "/compare-sources", core.ActionCampaignRead, o.compareSources,
		"The console: whether two sources become the same mail")
}

// compared are two sources of one kind: what is written, and what the visual editor makes of it.
type compared struct {
	Kind   string `json:"kind"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// compareSources tells the script of the editor whether what it would write becomes the same mail.
func (o *Console) compareSources(p *Page) (any, error) {
	var in compared
	if err := json.NewDecoder(io.LimitReader(p.Request.Body, maxForm)).Decode(&in); err != nil {
		return nil, core.Invalidf("before", "Send two sources as JSON.")
	}
	return struct {
		Same bool `json:"same"`
	}{in.same()}, nil
}

// same reports whether both sources become the same HTML and the same text, with their placeholders. A source of which
// no mail can be made is like no other: no visual editor can show it as it will look.
func (c *compared) same() bool {
	before, err := markup.Compile(c.Kind, c.Before, markup.Options{})
	if err != nil {
		return false
	}
	after, err := markup.Compile(c.Kind, c.After, markup.Options{})
	return err == nil && before.HTML == after.HTML && before.Text == after.Text
}
