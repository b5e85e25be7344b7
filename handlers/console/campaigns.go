package console

import (
	"net/url"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// campaignRoutes are the pages of campaigns.
func (o *Console) campaignRoutes(t *web.Table) {
	o.get(t, "/campaigns", core.ActionCampaignRead, o.campaigns, "The console: campaigns")
}

// campaignStates in the order of a campaign's life.
var campaignStates = []core.CampaignState{
	core.CampaignDraft, core.CampaignInReview, core.CampaignApproved, core.CampaignScheduled, core.CampaignSending,
	core.CampaignSent, core.CampaignArchived,
}

// CampaignBadge is the state of a campaign in a word.
func (p *Page) CampaignBadge(s core.CampaignState) Badge {
	switch s {
	case core.CampaignInReview:
		return Badge{p.T("to approve"), "warn"}
	case core.CampaignApproved:
		return Badge{p.T("approved"), "good"}
	case core.CampaignScheduled:
		return Badge{p.T("scheduled"), "live"}
	case core.CampaignSending:
		return Badge{p.T("going out"), "live"}
	case core.CampaignSent:
		return Badge{p.T("sent"), "good"}
	case core.CampaignArchived:
		return Badge{p.T("put away"), ""}
	}
	return Badge{p.T("draft"), ""}
}

// campaigns lists the campaigns, the newest first.
func (o *Console) campaigns(p *Page) (web.HTML, error) {
	q := url.Values{"tenant_id": {p.Tenant.ID}, "limit": {"30"}}
	for _, name := range []string{"state", "q", "cursor"} {
		if value := p.Query(name); value != "" {
			q.Set(name, value)
		}
	}
	var found []core.CampaignView
	next, err := p.Get("/api/campaigns", q, &found)
	if err != nil {
		return web.HTML{}, err
	}
	states := []option{{"", p.T("All states")}}
	for _, s := range campaignStates {
		states = append(states, option{string(s), p.CampaignBadge(s).Text})
	}
	return p.Show("campaigns", View{Title: p.T("Campaigns"), Data: struct {
		Campaigns   []core.CampaignView
		States      []option
		State, Text string
		Pager       pager
	}{found, states, p.Query("state"), p.Query("q"), p.Pager(next)}})
}
