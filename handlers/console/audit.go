package console

import (
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// auditLine is an audit log entry in the form that the page shows.
type auditLine struct {
	core.AuditEntry
	Sentence []auditPart
	Fields   []auditField
}

// auditData holds the data for the audit log page, in addition to the data of all settings pages.
type auditData struct {
	Lines              []auditLine
	Areas, People      []option
	Area, Actor        string
	Object, From, Till string
	Pager              pager
}

// auditTrail shows the audit log, newest first.
func (o *Console) auditTrail(p *Page) (web.HTML, error) {
	d := auditData{
		Area: p.Query("action"), Actor: p.Query("actor"), Object: p.Query("object"), From: p.Query("from"),
		Till: p.Query("until"), Areas: []option{{"", p.T("All areas")}}, People: []option{{"", p.T("Anyone")}},
	}
	q := p.ofTenant("limit", "30", "cursor", p.Query("cursor"), "action", d.Area, "actor", d.Actor, "object", d.Object,
		"from", p.dayAt(d.From, 0), "until", p.dayAt(d.Till, 1))
	var found []core.AuditEntry
	next, err := p.Get("/api/admin/audit", q, &found)
	if err != nil {
		return web.HTML{}, err
	}
	for i := range found {
		e := &found[i]
		d.Lines = append(d.Lines, auditLine{*e, p.auditSentence(e), p.auditFields(e)})
	}
	for _, a := range auditAreas {
		d.Areas = append(d.Areas, option{a.Value, p.T(a.Text)})
	}
	if err := p.auditPeople(&d); err != nil {
		return web.HTML{}, err
	}
	d.Pager = p.Pager(next)
	return p.showSettings("audit", "audit", View{State: p.T("Changes to this newsletter, newest first")}, filled{}, d)
}

// auditPeople adds the actors that the filter offers: the team and the tenant's API clients. A link can select other
// actors.
func (p *Page) auditPeople(d *auditData) error {
	team, err := all[core.Teammate](p, "/api/admin/team", p.ofTenant("limit", "100"), maxTeam)
	if err != nil {
		return err
	}
	for _, m := range team {
		d.People = append(d.People, option{"user:" + m.ID, personName(m.ID, m.Name, m.Email)})
	}
	var clients []core.Client
	if p.May(core.ActionClientManage) {
		if _, err := p.Get(apiClients, p.ofTenant("limit", "100"), &clients); err != nil {
			return err
		}
	}
	for _, c := range clients {
		d.People = append(d.People, option{"client:" + c.ID, p.T("API client {{name}}", "name", c.Name)})
	}
	there := slices.ContainsFunc(d.People, func(o option) bool { return o.Value == d.Actor })
	if !there {
		name := p.T("Someone else")
		if len(d.Lines) > 0 {
			name = p.auditActor(&d.Lines[0].AuditEntry).Text
		}
		d.People = append(d.People, option{d.Actor, name})
	}
	if !slices.ContainsFunc(d.Areas, func(o option) bool { return o.Value == d.Area }) {
		d.Areas = append(d.Areas, option{d.Area, d.Area})
	}
	return nil
}

// dayAt returns the start of day, the value of a date input, shifted by a number of days. If day is not a date, it
// returns an empty string.
func (p *Page) dayAt(day string, later int) string {
	at, err := time.ParseInLocation(time.DateOnly, day, p.Zone)
	if err != nil {
		return ""
	}
	return at.AddDate(0, 0, later).Format(time.RFC3339)
}
