package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// suppressionRoutes adds the routes for the suppression list.
func (o *Console) suppressionRoutes(t *web.Table) {
	may := core.ActionSuppressionManage
	o.get(t, "/suppressions", may, o.suppressions, "The console: the suppression list")
	o.post(t, "/suppressions", may, o.suppressions, "The console: block an address")
	o.exportOf(t, "/suppressions-export", may, (*Page).suppressionsFile,
		"The console: export the suppression list, as CSV")
	o.post(t, "/suppressions/lift", may, o.lift, "The console: unblock an address")
}

// suppressionsData holds the data for templates/suppressions.html.
type suppressionsData struct {
	Rows          []personBlock
	Email, Reason field
	Text          string // search text

	Bounced, Complained int64         // people on lists who bounced or marked an email as spam
	Lists               []personFound // subscriptions of the address in the search
	Import              string        // id of the import whose addresses are shown; empty: all
	ExportTo            string        // URL of the page that exports the listed addresses
	Pager               pager
}

// suppressions lists the addresses that get no emails from any of the tenant's lists, and blocks an address.
func (o *Console) suppressions(p *Page) (web.HTML, error) {
	d := suppressionsData{Text: p.Query("q"), Import: p.Query("import")}
	v := View{
		Title: p.T("Suppression list"), Within: []Link{{p.T("People"), p.Path("people")}},
		State: p.T("These addresses don't get emails, and imports can't add them"), Data: &d,
	}
	d.Email = field{
		Name: "email", Label: p.T("Email address"), Type: "email", Required: true, Max: 254, Complete: "off",
		Value: p.Form["email"],
	}
	d.Reason = field{
		Name: "reason", Label: p.T("Reason (optional)"), Type: "text", Max: core.MaxOrigin, Value: p.Form["reason"],
		Hint: p.T("Visible only to your team"),
	}
	if p.IsForm() {
		err := p.Do(http.MethodPost, "/api/admin/suppressions", map[string]any{
			"tenant_id": p.Tenant.ID, "email": p.Form["email"], "reason": p.Form["reason"],
		}, nil)
		if err == nil {
			return p.Redirect(p.Path("suppressions"), "switched-off")
		}
		fault, status, ok := p.FaultOf(err)
		if !ok {
			return web.HTML{}, err
		}
		v.Fault, v.Status = fault, status
		d.Email.Wrong, d.Reason.Wrong = wrongOn(err, "email", fault), wrongOn(err, "reason", fault)
	}
	q := p.suppressedPart()
	next, err := readShort(p, "/api/admin/suppressions", q, peoplePage, &d.Rows)
	if err := p.blame(&v, err); err != nil {
		return web.HTML{}, err
	}
	d.Rows = onceEach(d.Rows)
	if err := p.explainBlocks(d.Rows); err != nil {
		return web.HTML{}, err
	}
	if err := p.unreached(&d); err != nil {
		return web.HTML{}, err
	}
	if v.Fault == "" && d.Text == "" && (len(d.Rows) > 0 || next != "" || p.Query("cursor") != "") {
		total, err := p.suppressedTotal(q)
		if err != nil {
			return web.HTML{}, err
		}
		if total != "" {
			v.State = total + " · " + v.State
		}
	}
	if d.Pager = p.Pager(next); len(d.Rows) > 0 || next != "" {
		to := url.Values{}
		for _, name := range []string{"q", "import", "kind"} {
			if value := p.Query(name); value != "" {
				to.Set(name, value)
			}
		}
		d.ExportTo = p.Path("suppressions-export") + "?" + to.Encode()
	}
	return p.Show("suppressions", v)
}

// suppressedPart returns the API query for the part of the suppression list that the page shows.
func (p *Page) suppressedPart() url.Values {
	return p.ofTenant("email", p.Query("q"), "import_id", p.Query("import"), "kind", p.Query("kind"))
}

// suppressionsFile returns the API request for exporting the addresses that the page lists.
func (p *Page) suppressionsFile() (web.Question, error) {
	q := p.suppressedPart()
	q.Set("spreadsheet", p.separator())
	return web.Question{Method: http.MethodGet, Path: "/api/admin/suppressions/export?" + q.Encode()}, nil
}

// suppressedTotal returns the formatted number of addresses in part of the suppression list, or an empty string if
// there are none.
func (p *Page) suppressedTotal(part url.Values) (string, error) {
	var n struct {
		Addresses int64
		More      bool
	}
	for _, name := range []string{"limit", "cursor"} {
		part.Del(name)
	}
	_, err := p.Get("/api/admin/suppressions/count", part, &n)
	switch {
	case n.Addresses == 0:
		return "", err
	case n.More:
		return p.T("At least {{n}} addresses", "n", p.Number(n.Addresses)), err
	}
	return p.N("1 address|{{n}} addresses", n.Addresses), err
}

// bouncedElsewhere returns the formatted number of bounced addresses on the suppression list. It is empty if there are
// none or the visitor may not see the list.
func (p *Page) bouncedElsewhere() (string, error) {
	if !p.May(core.ActionSuppressionManage) {
		return "", nil
	}
	return p.suppressedTotal(p.ofTenant("kind", string(core.StatusBounced)))
}

// personFound is a person on a list as a search result.
type personFound struct {
	person
	Badge Badge
}

// unreached counts the people on lists who get no emails although they are not blocked. It also finds the subscriptions
// of the address in the search.
func (p *Page) unreached(d *suppressionsData) error {
	lists, err := p.peopleLists()
	if err != nil {
		return err
	}
	for i := range lists {
		d.Bounced += lists[i].Counts.Bounced
		d.Complained += lists[i].Counts.Complaint
	}
	if d.Text == "" || !p.May(core.ActionPeopleRead) {
		return nil
	}
	var found []person
	_, err = p.Get("/api/admin/subscribers", p.ofTenant("email", d.Text, "limit", "20"), &found)
	if _, _, ok := p.FaultOf(err); ok { // the search text isn't an address
		return nil
	}
	if err != nil {
		return err
	}
	for _, one := range found {
		d.Lists = append(d.Lists, personFound{one, p.PersonBadge(one.Shown())})
	}
	return nil
}

// onceEach removes the send service's entries that duplicate entries from the lists.
func onceEach(rows []personBlock) (out []personBlock) {
	type address struct{ email, tenant, reason string }
	seen := map[address]bool{}
	for _, b := range rows {
		key := address{b.Email.Key(), b.TenantID, b.Reason}
		switch b.Kind {
		case core.KindDisabled:
			seen[key] = true
			seen[address{email: key.email, tenant: key.tenant}] = true // entry of one list, without a reason
		case string(core.StatusSuppressed):
			if seen[key] || b.ListID != "" && seen[address{email: key.email}] {
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

// blocksOf returns the blocks on an address, q. It returns none if q isn't an address or the visitor may not see the
// suppression list.
func (p *Page) blocksOf(q string) (rows []personBlock, err error) {
	if !strings.Contains(q, "@") || !p.May(core.ActionSuppressionManage) {
		return nil, nil
	}
	_, err = p.Get("/api/admin/suppressions", p.ofTenant("email", q), &rows)
	if core.KindOf(err) == core.Invalid {
		return nil, nil
	}
	return rows, err
}

// suppressedPath returns the path that searches the suppression list for an address.
func (p *Page) suppressedPath(q string) string {
	return p.Path("suppressions") + "?" + url.Values{"q": {q}}.Encode()
}

// explainBlocks sets the explanation of each block.
func (p *Page) explainBlocks(rows []personBlock) error {
	team, err := p.teamOf(func(yield func(string) bool) {
		for i := range rows {
			if !yield(cmp.Or(rows[i].DisabledBy, madeFrom(rows[i].Reason))) {
				return
			}
		}
	})
	for i := range rows {
		b := &rows[i]
		by := p.madeBy(madeFrom(b.Reason), team)
		var parts []string
		if b.Reason != "" && by == "" {
			parts = append(parts, p.T("“{{cell}}”", "cell", b.Reason))
		}
		if by = cmp.Or(p.madeBy(b.DisabledBy, team), by); by != "" {
			parts = append(parts, by)
		}
		b.Why = strings.Join(parts, " · ")
	}
	return err
}

// madeFrom returns the actor in a block's default reason, such as "by user:ID".
func madeFrom(reason string) string {
	actor, _ := strings.CutPrefix(reason, "by ")
	return actor
}

// lift unblocks an address.
func (o *Console) lift(p *Page) (web.HTML, error) {
	err := p.Do(http.MethodPost, "/api/admin/suppressions/lift",
		map[string]any{"email": p.Form["email"], "tenant_id": p.Tenant.ID}, nil)
	if err != nil && core.KindOf(err) != core.NotFound { // already unblocked in the meantime
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("suppressions"), "lifted")
}

// SuppressionKind returns the badge with the reason why an address is blocked.
func (p *Page) SuppressionKind(b personBlock) Badge {
	switch b.Kind {
	case core.KindDisabled, string(core.StatusSuppressed):
		return Badge{p.T("Blocked"), ""}
	case core.KindLeft:
		return Badge{p.T("Erased"), ""}
	}
	return p.PersonBadge(b.Kind)
}
