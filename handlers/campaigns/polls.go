package campaigns

import (
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/web"
)

// pollRoutes adds the routes for poll results. Polls themselves are fields of the campaign.
func (r *Room) pollRoutes(t *web.Table) {
	a := campaignsAPI{r}
	const all = "/api/campaigns/:id/polls"
	t.Add("GET", all, web.Sent(core.ActionFiguresRead), web.Send, a.one(web.Path(a.polls)),
		"List a campaign's polls with their answers").Named("listCampaignPolls")
	t.Add("POST", all+"/:number/close", web.Sent(core.ActionCampaignWrite), web.Send,
		a.one(web.Query(a.closePoll)).Fails(core.Conflict), "Close a poll of a sent campaign; you can't reopen it").
		Named("closeCampaignPoll").
		Refuses(web.Clash("The campaign wasn't sent"))
}

// pollList holds the polls of a campaign.
type pollList struct {
	Polls []core.PollResult `json:"polls" about:"Polls of the campaign, in order"`
}

// polls returns a campaign's polls. If the campaign is unsent and the caller may not read its text, it leaves them out.
// Few answers are broken down by option only for callers who may see individual subscribers.
func (a campaignsAPI) polls(c *web.Call, _ string) (pollList, error) {
	of := a.found(c)
	if !c.Caller.May(core.ActionCampaignRead, of.TenantID) {
		if sent, err := drafts.Sent(c, a.Store, of); err != nil || !sent {
			return pollList{[]core.PollResult{}}, err
		}
	}
	polls, err := drafts.PollResults(c, a.Store, of, c.Caller.May(core.ActionPeopleRead, of.TenantID), c.Now)
	return pollList{polls}, err
}

// numberedPoll holds the poll's number from the path.
type numberedPoll struct {
	Number string `path:"number,text"`
}

func (a campaignsAPI) closePoll(c *web.Call, in numberedPoll) (pollList, error) {
	of := a.found(c)
	if of.Written() || of.State == core.CampaignApproved {
		return pollList{}, core.Conflictf("conflict", "The campaign is %s. Its polls open when it is sent.", of.State)
	}
	n, err := strconv.Atoi(in.Number)
	if err != nil {
		return pollList{}, core.ErrPollNotFound
	}
	if err := a.Store.ClosePoll(c, of, n, web.Actor(c), c.Now); err != nil {
		return pollList{}, err
	}
	return a.polls(c, of.ID)
}
