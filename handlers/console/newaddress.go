package console

import (
	"net/http"
	"net/url"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Unreachable reports whether a person's mailbox doesn't exist and the visitor may invite the person's new address.
func (p *Page) Unreachable(d *personData) bool {
	return d.Readable && d.Status == string(core.StatusBounced) && p.May(core.ActionPeopleAdd)
}

// NeedsAddress reports whether the newest email to a subscribed person failed because of the address or a full mailbox,
// and the visitor may add another address.
func (p *Page) NeedsAddress(d *personData) bool {
	if d.Status != core.SubscriptionActive || len(d.Mails) == 0 || !p.May(core.ActionPeopleAdd) {
		return false
	}
	why := p.MailWhy(d.Mails[0])
	return why.Turn == turnTaken || why.What == refusals["4.2.2"].What || why.What == refusals["550"].What
}

// newAddress asks a person's new address to join the list with the person's data, if the old mailbox doesn't exist. The
// old address keeps its consent record, because that consent covers no other address.
func (o *Console) newAddress(p *Page) (web.HTML, error) {
	return p.personPage(func(d *personData, _ core.Fields) (to, notice string, err error) {
		if !p.Unreachable(d) {
			return "", "", web.ErrNotFound
		}
		inner := map[string]any{} // an object, such as the tracking consent
		for name := range d.Preferences.Values() {
			if strings.HasPrefix(name, "_") {
				inner[name] = nil
			}
		}
		body := map[string]any{
			"list_id": d.ListID, "email": strings.TrimSpace(p.Form["email"]), "status": core.SubscriptionPending,
			"source": p.T("replaces a bounced address"),
		}
		if said := d.Preferences.With(inner); said != core.NoPreferences {
			body["preferences"] = said
		}
		answer, err := p.Ask(web.Question{Method: http.MethodPost, Path: "/api/admin/subscribers", Body: body})
		if err != nil {
			return "", "", err
		}
		var made person
		if err := answer.Decode(&made); err != nil {
			return "", "", err
		}
		if len(d.Tags) > 0 && p.May(core.ActionPeopleTag) {
			path := "/api/admin/subscribers/" + url.PathEscape(made.ID) + "/tags"
			if err := p.Do(http.MethodPatch, path, map[string]any{"add": d.Tags}, nil); err != nil {
				return "", "", err
			}
		}
		notice = "asked"
		if answer.Status != http.StatusCreated {
			notice = "known"
		}
		return p.Path("people", made.ID), notice, nil
	})
}
