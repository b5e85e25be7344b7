package campaigns

import (
	"net/url"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/store/campaigns"
)

// campaignLinkRoutes adds the routes for the links in a sent campaign.
func (r *Room) campaignLinkRoutes(t *web.Table) {
	a := campaignsAPI{r}
	const item = "/api/campaigns/:id"
	write := web.Sent(core.ActionCampaignWrite)
	send := web.Sent(core.ActionCampaignSend).Fresh()
	t.Add("GET", item+"/links", web.Sent(core.ActionFiguresRead), web.Send, a.one(web.Path(a.links)),
		"List a sent campaign's tracked links with click counts").Named("listCampaignLinks")
	t.Add("GET", item+"/hours", web.Sent(core.ActionFiguresRead), web.Send, a.one(web.Path(a.hours)),
		"Show a campaign's unique opens and clicks by hour").
		Named("listCampaignHours")
	t.Add("GET", item+"/bounces", web.Sent(core.ActionFiguresRead), web.Send, a.one(web.Path(a.bounces)),
		"Show a campaign's rejected and bounced emails by cause and recipient domain").
		Named("getCampaignBounces")
	t.Add("PATCH", item+"/links/:no", send, web.Send, a.one(web.JSON(a.mend)),
		"Fix a link in emails already sent: later clicks go to the new target").
		Named("mendCampaignLink").
		Example(web.Object{"target": "https://shop.example/spring"}).
		Refuses(web.Refused("target", "Not a full http or https URL, or it redirects back here"))
	t.Add("PUT", item+"/links/:no/proposal", write, web.Send, a.one(web.JSON(a.propose)).Fails(core.TooMany),
		"Suggest a fix for a link").Named("proposeCampaignLink").
		Example(web.Object{"target": "https://shop.example/summer"}).
		Refuses(web.Refused("target",
			"Not a full http or https URL, redirects back here, or is already the link's target"))
	t.Add("DELETE", item+"/links/:no/proposal", write, web.Send, a.one(web.Query(a.dropProposal)),
		"Dismiss a suggested fix for a link").Named("dropCampaignLinkProposal")
}

// hours returns a campaign's opens and clicks by hour.
func (a campaignsAPI) hours(c *web.Call, _ string) ([]core.EngagedHour, error) {
	return a.Store.CampaignHours(c, a.found(c).ID)
}

// bounces returns a campaign's rejected and bounced emails, by class and domain.
func (a campaignsAPI) bounces(c *web.Call, _ string) (core.Bounces, error) {
	return a.Store.CampaignBounces(c, a.found(c).ID)
}

// links returns the tracked links in a campaign, most clicked first.
func (a campaignsAPI) links(c *web.Call, _ string) ([]core.Link, error) {
	links, err := a.Store.CampaignLinks(c, a.found(c).ID)
	if links == nil {
		links = []core.Link{}
	}
	return links, err
}

// linkMending is the body of a request to change a link's target.
type linkMending struct {
	No     string `path:"no,text"`
	Target string `json:"target" is:"required" like:"target" max:"4096"`
}

func (in *linkMending) CheckInput() error {
	if in.Target == "" {
		return nil
	}
	return core.CheckTarget(in.Target)
}

// mendedLink is a fixed link with warnings about its new target.
type mendedLink struct {
	core.Link
	Warnings []string `json:"warnings" about:"Problems of the new target; empty: none"`
}

// editLink reads a link's number from the path, and returns it with an edit of the link's campaign. If the number is
// invalid, it returns the error missing.
func (a campaignsAPI) editLink(c *web.Call, no string, missing error) (n int64, e campaigns.CampaignEdit, err error) {
	if n, err = strconv.ParseInt(no, 10, 64); err != nil {
		return n, e, missing
	}
	e, err = a.edit(c, nil, false)
	return n, e, err
}

// mend changes the target of a link in sent emails.
func (a campaignsAPI) mend(c *web.Call, in linkMending) (out mendedLink, err error) {
	of := a.found(c)
	no, e, err := a.editLink(c, in.No, core.ErrLinkNotFound)
	if err != nil {
		return out, err
	}
	own, err := a.notInCircles(c, in.Target)
	if err != nil {
		return out, err
	}
	if in.Target, err = drafts.MendedTarget(c, a.Store, of, in.Target); err != nil {
		return out, err
	}
	if out.Link, err = a.Store.MendLink(c, e, no, in.Target, false); err != nil {
		return out, err
	}
	out.Warnings = []string{}
	if in.Target != "" {
		out.Warnings = append(out.Warnings, a.Checks.Target(c, in.Target, own,
			a.Checks.MayAsk(c, of.TenantID) == nil)...)
	}
	return out, nil
}

// proposedTarget is the body of a request to suggest a target for a link.
type proposedTarget struct {
	No     string `path:"no,text"`
	Target string `json:"target" is:"required" about:"New target to suggest"`
}

func (in *proposedTarget) CheckInput() error { return core.CheckTarget(in.Target) }

// proposedLink is a link with its suggested target.
type proposedLink struct {
	core.Link
	Asked int `json:"asked" about:"Number of people who were emailed about the suggestion"`
}

// propose emails a suggested target for a link to the people who may change it.
func (a campaignsAPI) propose(c *web.Call, in proposedTarget) (out proposedLink, err error) {
	no, e, err := a.editLink(c, in.No, core.ErrLinkNotFound)
	if err == nil {
		_, err = a.notInCircles(c, in.Target)
	}
	if err == nil {
		out.Link, out.Asked, err = a.Store.ProposeTarget(c, e, no, in.Target)
	}
	return out, err
}

// linkOfPath holds the link's number from the path.
type linkOfPath struct {
	No string `path:"no,text"`
}

// dropProposal deletes a link's suggested target.
func (a campaignsAPI) dropProposal(c *web.Call, in linkOfPath) (out web.None, err error) {
	no, e, err := a.editLink(c, in.No, core.ErrProposalNotFound)
	if err != nil {
		return out, err
	}
	return out, a.Store.DropProposal(c, e, no)
}

// notInCircles returns an Invalid error on the field target if that URL is itself a tracked link of this server. own is
// the origin of the campaign's tracked links.
func (a campaignsAPI) notInCircles(c *web.Call, target string) (own string, err error) {
	t, err := a.Store.Tenant(c, a.found(c).TenantID)
	if err != nil {
		return "", err
	}
	own = t.Origin(c.PublicURL())
	u, err := url.Parse(target)
	o, err2 := url.Parse(own)
	if err != nil || err2 != nil || !strings.EqualFold(u.Host, o.Host) {
		return own, nil
	}
	for _, path := range []string{mail.ClickPath, mail.PixelPath} {
		if strings.HasPrefix(u.Path, path) {
			return own, core.Invalidf("target",
				"target is a tracked link of this server. Use the URL that it leads to.")
		}
	}
	return own, nil
}
