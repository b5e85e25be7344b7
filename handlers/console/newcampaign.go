package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// newCampaignData holds the data for templates/newcampaign.html.
type newCampaignData struct {
	Name, Subject, ListID, Tracking, Start string

	Segment core.Segment // recipients; no id: the whole list
	Matches string       // number of people in Segment; empty: unknown

	Lists, Trackings []option
	Designs, Past    []start
}

func (o *Console) newCampaign(p *Page) (web.HTML, error) {
	d := newCampaignData{Tracking: trackingOf(&p.Tenant)}
	if err := p.readSegment(p.Query("segment"), &d.Segment); err != nil {
		return web.HTML{}, err
	}
	return p.showNewCampaign(d, nil)
}

func (p *Page) showNewCampaign(d newCampaignData, fault error) (web.HTML, error) {
	lists, err := p.lists(nil)
	if err != nil {
		return web.HTML{}, err
	}
	for i := range lists {
		l := &lists[i]
		d.Lists = append(d.Lists, option{l.ID, l.Name + " (" + p.Number(l.Counts.Mailable) + ")"})
	}
	if d.Segment.ID != "" {
		var ids []string
		for i := range lists {
			ids = append(ids, lists[i].ID)
		}
		sum, err := p.segmentCount(map[string]any{"segment_id": d.Segment.ID}, ids)
		if _, ok := p.countFault(err); err != nil && !ok {
			return web.HTML{}, err
		} else if err == nil {
			d.Matches = p.figureOf(&sum).Figure
		}
	}
	d.Trackings, d.Designs = p.trackings(d.Tracking), p.designs()
	if d.Past, err = p.pastCampaigns(); err != nil {
		return web.HTML{}, err
	}
	for _, all := range [][]start{d.Designs, d.Past} {
		for i := range all {
			all[i].On = all[i].Value == d.Start
		}
	}
	v := View{
		Title: p.T("New campaign"), Within: []Link{{p.T("Campaigns"), p.Path("campaigns")}},
		State: p.T("A campaign is an email to your subscribers. Nothing is sent until you confirm."), Data: &d,
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	return p.Show("newcampaign", v)
}

func (o *Console) addCampaign(p *Page) (web.HTML, error) {
	d := newCampaignData{
		Name: p.Form["name"], Subject: p.Form["subject"], ListID: p.Form["list"],
		Tracking: cmp.Or(p.Form["tracking"], trackingOf(&p.Tenant)), Start: p.Form["start"],
	}
	if err := p.readSegment(p.Form["segment"], &d.Segment); err != nil {
		return web.HTML{}, err
	}
	body := map[string]any{"tenant_id": p.Tenant.ID, "name": d.Name, "subject": d.Subject, "tracking": d.Tracking}
	if d.ListID != "" {
		body["list_ids"] = []string{d.ListID}
	}
	if d.Segment.ID != "" {
		body["segment_id"] = d.Segment.ID
	}
	err := p.startWith(d.Start, body)
	if err == nil && body["theme"] == nil {
		err = p.startInTheme(body)
	}
	if err != nil {
		return p.showNewCampaign(d, err)
	}
	var made core.CampaignView
	if err := p.Do(http.MethodPost, "/api/campaigns", body, &made); err != nil {
		return p.showNewCampaign(d, err)
	}
	return p.Redirect(p.Path("campaigns", made.ID), "")
}

// startInTheme adds the default theme to the body that creates a campaign. It is the newest campaign's theme, or the
// newest custom theme if that was created later.
func (p *Page) startInTheme(body map[string]any) error {
	var latest []struct {
		ID        string       `json:"id"`
		CreatedAt core.Instant `json:"created_at"`
	}
	if _, err := p.Get("/api/campaigns", p.ofTenant("limit", "1"), &latest); err != nil {
		return err
	}
	var last campaignPage
	if len(latest) > 0 {
		if _, err := p.readNamed(campaignAPI(latest[0].ID), &last); err != nil {
			return err
		}
	}
	if !p.May(core.ActionTemplateRead) {
		return nil
	}
	var own []core.Theme
	q := p.ofTenant("limit", strconv.Itoa(core.MaxThemes))
	if _, err := p.Get("/api/admin/themes", q, &own); err != nil {
		return err
	}
	newest, theme := last.CreatedAt, ""
	if slices.Contains(core.BuiltInThemes, last.Theme) ||
		slices.ContainsFunc(own, func(t core.Theme) bool { return t.ID == last.Theme }) { // not deleted since
		theme = last.Theme
	}
	for i := range own {
		if own[i].CreatedAt > newest {
			newest, theme = own[i].CreatedAt, own[i].ID
		}
	}
	if theme != "" {
		body["theme"] = theme
	}
	return nil
}

// readSegment reads one of the tenant's segments. An empty id means no segment.
func (p *Page) readSegment(id string, g *core.Segment) error {
	if id == "" {
		return nil
	}
	_, err := p.Get("/api/segments/"+url.PathEscape(id), nil, g)
	if err == nil && g.TenantID != p.Tenant.ID {
		err = web.ErrNotFound
	}
	return err
}
