package handlers

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// campaignRoutes are what is written, looked at, approved and sent.
func (h *Handler) campaignRoutes(t *web.Table) {
	a := campaigns{h.options.Store, h.sealer, h.options.Checks}
	const all, item = "/api/campaigns", "/api/campaigns/:id"
	const versions, version = item + "/versions", item + "/versions/:version"
	read, write := sent(core.ActionCampaignRead), sent(core.ActionCampaignWrite)
	approve, send := sent(core.ActionCampaignApprove).Fresh(), sent(core.ActionCampaignSend).Fresh()
	one := func(e web.Endpoint) web.Endpoint { return e.Find(a.find).Missing(core.ErrCampaignNotFound) }
	moved := func(e web.Endpoint) web.Endpoint { return one(e).Fails(core.Conflict, core.PreconditionFailed) }
	t.Add("GET", all, sent(core.ActionFiguresRead), web.Send, web.List(a.list, campaignKey),
		"List campaigns, the newest first")
	t.Add("POST", all, write, web.Send,
		web.JSON(a.create).MaxBody(maxSendJob).Created().Fails(core.NotFound, core.Conflict),
		"Create a campaign: a draft, of which nothing is sent")
	t.Add("GET", item, read, web.Send, one(web.Path(a.show)), "Show a campaign with what its version says")
	update := moved(web.JSON(a.update).MaxBody(maxSendJob)).Fails(core.PreconditionRequired)
	t.Add("PUT", item, write, web.Send, update,
		"Change what a campaign says; absent fields stay as they are, and what was approved is a draft again")
	t.Add("PATCH", item, write, web.Send, update, "The same by PATCH")
	t.Add("DELETE", item, write, web.Send, moved(web.Query(a.remove)), "Delete a draft that never had a send job")
	t.Add("POST", item+"/duplicate", write, web.Send, one(web.Path(a.duplicate)).Created(),
		"Make a draft of what a campaign says")
	t.Add("POST", item+"/preview", read, web.Send, one(web.JSON(a.preview).BodyOptional()).Fails(core.Conflict),
		"Render the mail of a campaign")
	t.Add("GET", item+"/audience", read, web.Send, one(web.Query(a.countAudience)),
		"Count to whom a campaign would go now, and why not to others")
	t.Add("POST", item+"/check", read, web.Send, one(web.JSON(a.check).BodyOptional()).Fails(core.TooMany),
		"Look for what is wrong with a campaign, or probably not meant")
	t.Add("POST", item+"/test", sent(core.ActionTestSend), web.Send,
		one(web.JSON(a.test).BodyOptional()).Fails(core.TooMany),
		"Send the mail of a campaign to some addresses, or to the test group; editors to that or to the team's")
	t.Add("POST", item+"/review", write, web.Send, moved(web.JSON(a.review).BodyOptional()).Fails(core.TooMany),
		"Ask for another person's approval")
	t.Add("GET", item+"/approvers", write, web.Send, one(web.Path(a.approvers)),
		"Count who may approve a campaign, and mend it, but for the caller, and name who can't yet")
	t.Add("POST", item+"/reject", sent(core.ActionCampaignApprove), web.Send, moved(web.JSON(a.reject).BodyOptional()),
		"Make a campaign in review, or an approved one, a draft again")
	seen := func(e web.Endpoint) web.Endpoint { return moved(e).Fails(core.PreconditionRequired) }
	t.Add("POST", item+"/approve", approve, web.Send, seen(web.JSON(a.approve)),
		"Approve the version that was looked at: what is sent later is that, whatever is edited in between")
	t.Add("POST", item+"/send", send, web.Send, seen(web.JSON(a.send)).Created(),
		"Send the version that was looked at, now or later; a draft is approved by it")
	t.Add("POST", item+"/undo", sent(core.ActionCampaignSend), web.Send, moved(web.Query(a.undo)),
		"Undo the sending of a scheduled campaign before its first mail; its approval stays, if it was given before")
	t.Add("POST", item+"/archive", write, web.Send, moved(web.Query(a.archive)), "Put a draft or a sent campaign away")
	t.Add("GET", item+"/links", sent(core.ActionFiguresRead), web.Send, one(web.Path(a.links)),
		"Tracked links of a campaign that was sent, with how many have followed each")
	t.Add("GET", item+"/hours", sent(core.ActionFiguresRead), web.Send, one(web.Path(a.hours)),
		"By hours, how many have opened the mails of a campaign and followed a link, each once")
	t.Add("GET", item+"/bounces", sent(core.ActionFiguresRead), web.Send, one(web.Path(a.bounces)),
		"Mails of a campaign that were refused or came back, by class and by the domains of the addresses")
	t.Add("PATCH", item+"/links/:no", send, web.Send, one(web.JSON(a.mend)),
		"Let a link of the mails that are out lead elsewhere, for those who follow it from now on")
	t.Add("PUT", item+"/links/:no/proposal", write, web.Send, one(web.JSON(a.propose)).Fails(core.TooMany),
		"Ask those who may mend a link to let it lead elsewhere")
	t.Add("DELETE", item+"/links/:no/proposal", write, web.Send, one(web.Query(a.dropProposal)),
		"Forget where a link should lead")
	t.Add("GET", item+"/correction", read, web.Send, one(web.Path(a.correction)),
		"Show what pages show of a campaign instead of what was sent")
	t.Add("PUT", item+"/correction", send, web.Send, one(web.JSON(a.correct).MaxBody(maxSendJob)).Fails(core.Conflict),
		"Let the archive and the mail in a browser show a corrected campaign, with the date; what was sent is kept")
	t.Add("DELETE", item+"/correction", send, web.Send, one(web.Query(a.takeBack)).Fails(core.Conflict),
		"Let pages show what was sent again")
	t.Add("GET", versions, read, web.Send, one(web.List(a.versions, campaignVersion.key)),
		"List the versions of a campaign, the newest first")
	t.Add("GET", version, read, web.Send, one(web.Query(a.showVersion)), "Show a version of a campaign")
	t.Add("PUT", version, write, web.Send, one(web.JSON(a.nameVersion)),
		"Name a version of a campaign, which then stays")
	t.Add("POST", version+"/restore", write, web.Send, moved(web.Query(a.restore)),
		"Write on what a version says, as another version")
}
