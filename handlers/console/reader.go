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

// Figures of the search for a reader in whose place a mail is seen.
const (
	maxSeenLists = 5 // lists of the campaign that are searched
	maxSeenFound = 6 // readers that are offered
)

// seenAs is the reader in whose place the preview shows a mail.
type seenAs struct {
	Text  string // what was searched for: the beginning of an address
	Email string // of the reader; empty: one of whom nothing is known
	Own   []Link // what is known of the reader: labels of fields, and what they say
	Found []string

	Settled bool // with what a script searches for comes the mail, since it is known who sees it
}

// FrameOf is the address of the preview in a frame, as the reader sees it, by one of its views.
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

// showSeen answers a part of the editor's page: the readers that a search finds, or the mail as one of them sees it.
func (p *Page) showSeen(c *campaignPage, part string) (web.HTML, error) {
	d := editorData{campaignPage: c}
	var err error
	if d.Lists, err = p.lists(c); err == nil {
		err = p.seeAs(&d)
	}
	if err != nil {
		return web.HTML{}, err
	}
	d.Seen.Settled = part == "readers" && (d.Seen.Email != "" || d.Seen.Text == "")
	return p.ShowPart("editor", part, View{Data: &d, Frames: true})
}

// seeAs finds the reader that the query names: the one with that address, or the only one whose address begins so, or
// else several.
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

// ownFields are the fields of a reader that say something: those of the list by their labels, then the others.
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
