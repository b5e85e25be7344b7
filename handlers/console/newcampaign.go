package console

import (
	"cmp"
	"net/http"
	"net/url"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// newCampaignData is the Data of templates/newcampaign.html.
type newCampaignData struct {
	Name, Subject, ListID, Tracking, Start string

	Segment core.Segment // recipients; no id: the whole list

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
	if err := p.startWith(d.Start, body); err != nil {
		return p.showNewCampaign(d, err)
	}
	var made core.CampaignView
	if err := p.Do(http.MethodPost, "/api/campaigns", body, &made); err != nil {
		return p.showNewCampaign(d, err)
	}
	return p.Redirect(p.Path("campaigns", made.ID), "")
}

// readSegment reads the tenant's segment with an id. An empty id stands for no segment.
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
