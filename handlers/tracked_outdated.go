package handlers

import (
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// outdatedView is the error of a link to the content of a campaign that is no longer what the link was made for.
type outdatedView struct{ of core.Campaign }

func (*outdatedView) Error() string { return "the campaign has changed since the link was made" }

// showOutdated says so, and leads to the page where the campaign is approved. Nothing of the campaign is shown.
func (a tracked) showOutdated(c *web.Call, of *core.Campaign) (web.HTML, error) {
	t, err := a.store.Tenant(c, of.TenantID)
	if err != nil {
		return web.HTML{}, err
	}
	w := page.WordsOf(c)
	said := w.OutdatedText
	if of.State == core.CampaignApproved || !of.Written() {
		said = w.StateOf(of.State)
	}
	return page.RenderMessage(c, web.StatusOf(web.Page, core.PreconditionFailed), w.OutdatedTitle, page.Note{
		Lines: []string{said}, Link: a.origin + reviewAddress(of.ID), LinkText: w.OutdatedLink,
	}, page.TenantBrand(page.OwnBrand(), &t))
}
