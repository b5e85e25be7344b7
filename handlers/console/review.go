package console

import (
	"slices"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// sentBack describes who requested changes to a campaign and when, and holds the note.
type sentBack struct{ Who, Note string }

// SentBackBy describes a request for changes to a campaign.
func (p *Page) SentBackBy(s *core.SentBack) sentBack {
	if s.Name == "" {
		return sentBack{p.T("Changes requested {{when}}.", "when", p.When(s.At)), s.Note}
	}
	return sentBack{p.T("{{who}} requested changes {{when}}.", "who", s.Name, "when", p.When(s.At)), s.Note}
}

// ShowReview renders the page for approving a tenant's campaign or requesting changes. Emails link to the page, so it
// has no navigation. Its content comes from handlers/campaigns: v.Data is the data for templates/review.html. v.Lang
// may be a language that the console doesn't have. The page shows the same errors and warnings as the send page.
func (o *Console) ShowReview(c *web.Call, who core.Visitor, of *page.Reviewed, status int, v *page.View) (web.HTML,
	error,
) {
	p, err := o.page(c, who)
	if err != nil {
		return web.HTML{}, err
	}
	p.Tenant, p.Lang = of.Tenant, v.Lang
	d := sendData{Readers: countedAudience{Audience: of.Readers, Coarse: of.Coarse}}
	if written(of.Campaign.State) {
		f := &of.Fields
		d.Campaign = &campaignPage{
			CampaignView: of.Campaign.View(), Content: f.Content, ListIDs: f.ListIDs, SegmentID: f.SegmentID,
			ExcludeSegmentIDs: f.ExcludeSegmentIDs,
		}
		d.found(p.checksOf(d.Campaign, of.Findings, of.Coverage))
		if err = p.judgeAudience(&d, of.Uncounted); err != nil {
			return web.HTML{}, err
		}
	}
	return p.Show("review", View{
		Title: v.Title, Fault: v.Fault, Status: status, Plain: true, Frames: true, Data: struct {
			Review  any
			Matters []matter
		}{v.Data, slices.Concat(d.Faults, d.Warnings)},
	})
}

// ShowDecision renders the page after a decision about a tenant's campaign, in the design of ShowReview. v.Data is the
// data for templates/review-done.html.
func (o *Console) ShowDecision(c *web.Call, who core.Visitor, t *core.Tenant, v *page.View) (web.HTML, error) {
	p, err := o.page(c, who)
	if err != nil {
		return web.HTML{}, err
	}
	p.Tenant, p.Lang = *t, v.Lang
	return p.Show("review-done", View{Title: v.Title, Plain: true, Data: v.Data})
}
