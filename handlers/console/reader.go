package console

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Limits on the search for a subscriber as whom an email is previewed.
const (
	maxSeenLists = 5 // maximum number of the campaign's lists that are searched
	maxSeenFound = 6 // maximum number of results
)

// seenAs is the subscriber for whom the preview renders the email.
type seenAs struct {
	Text  string // search text, the beginning of an address
	Email string // address of the subscriber; empty: a subscriber with no details
	Own   []Link // labels and values of the subscriber's fields
	Found []string

	Settled bool // whether the subscriber is known, so that the response to a search includes the email
	Chosen  bool // whether the visitor chose one of the results, so that the response closes their list
}

// FrameOf returns the URL of a preview frame for the subscriber. view is the kind of preview.
func (d *editorData) FrameOf(p *Page, view string) string {
	q := url.Values{}
	if view != "" {
		q.Set("view", view)
	}
	if d.Seen.Email != "" {
		q.Set("as", d.Seen.Email)
	}
	to := p.Path("campaigns", d.ID, "preview")
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	return to
}

// showSeen renders a part of the editor's page for a script: the results of a subscriber search, or the email for one
// of them.
func (p *Page) showSeen(c *campaignPage, part string) (web.HTML, error) {
	d := editorData{campaignPage: c}
	var err error
	if d.Lists, err = p.lists(c); err == nil {
		err = p.seeAs(&d)
	}
	if err != nil {
		return web.HTML{}, err
	}
	d.Seen.Chosen = part == "seen"
	d.Seen.Settled = part == "readers" && (d.Seen.Email != "" || d.Seen.Text == "")
	return p.ShowPart("editor", part, View{Data: &d, Frames: true})
}

// seeAs finds the subscriber for the text in the query: the one with that address, or the only one whose address begins
// with the text. If several do, it lists them.
func (p *Page) seeAs(d *editorData) error {
	d.Seen.Text = strings.TrimSpace(p.Query("as"))
	if d.Seen.Text == "" || !p.May(core.ActionPeopleRead) {
		return nil
	}
	var first seenAs
	searched := 0
	for i := range d.Lists {
		l := &d.Lists[i]
		if !l.On || searched == maxSeenLists {
			continue
		}
		searched++
		var found []person
		q := p.ofTenant("list_id", l.ID, "status", core.SubscriptionActive, "email_prefix",
			strings.ToLower(d.Seen.Text))
		if _, err := readShort(p, "/api/admin/subscribers", q, peoplePage, &found); err != nil {
			return err
		}
		for i := range found {
			email := string(found[i].Email)
			if len(d.Seen.Found) == 0 {
				first = seenAs{Email: email, Own: p.ownFields(l.Fields, found[i].Preferences)}
			}
			if strings.EqualFold(email, d.Seen.Text) && d.Seen.Email == "" {
				d.Seen.Email, d.Seen.Own = email, p.ownFields(l.Fields, found[i].Preferences)
			}
			if len(d.Seen.Found) < maxSeenFound && !slices.Contains(d.Seen.Found, email) {
				d.Seen.Found = append(d.Seen.Found, email)
			}
		}
	}
	if d.Seen.Email == "" && len(d.Seen.Found) == 1 {
		d.Seen.Email, d.Seen.Own = first.Email, first.Own
	}
	return nil
}

// ownFields returns a subscriber's nonempty fields: first the list's fields with their labels, then the others.
func (p *Page) ownFields(fields core.Fields, said core.Preferences) (own []Link) {
	values := said.Values()
	add := func(name, label string) {
		text := string(values[name])
		var plain string
		if json.Unmarshal(values[name], &plain) == nil {
			text = plain
		}
		if delete(values, name); text != "" {
			own = append(own, Link{label, text})
		}
	}
	for _, f := range fields {
		add(f.Name, f.Label)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		add(name, p.knownLabel(name))
	}
	return own
}
