package console

import (
	"newsletterd/handlers/web"
)

// report shows what became of a campaign that is on its way, or was sent.
func (o *Console) report(p *Page, c *campaignPage) (web.HTML, error) {
	return p.Show("message", View{
		Title: c.Title(p), Within: []Link{{p.T("Campaigns"), p.Path("campaigns")}}, Badge: p.CampaignBadge(c.State),
	})
}

// reportOfViewer is the report for those who see figures alone.
func (o *Console) reportOfViewer(p *Page) (web.HTML, error) {
	return web.HTML{}, web.ErrNotFound
}
