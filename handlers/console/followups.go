package console

import (
	"net/http"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// follows reports whether a follow-up to a group of recipients, who, can be sent. jobs are the send jobs of the
// campaign that it follows. If it can't, until is the time of the last retry, or 0 if that is unknown.
func follows(who string, jobs []jobRow) (until core.Instant, ok bool) {
	ok = true
	for i := range jobs {
		j := &jobs[i]
		if j.Status.Final() || who == core.FollowJoined && j.Expanded {
			continue
		}
		until, ok = max(until, j.Stats.GivesUpAt), false
	}
	return until, ok
}

// followFault returns the reason why a campaign can't follow another one at the moment, or an empty string.
func (p *Page) followFault(f *core.FollowUp) (string, error) {
	jobs, err := p.jobsOf(f.Of, maxRetries)
	if err != nil {
		return "", err
	}
	until, ok := follows(f.Who, jobs)
	if ok {
		return "", nil
	}
	name, err := p.campaignName(f.Of)
	if until == 0 {
		return p.T("“{{campaign}}” is still being sent. Wait until sending is complete.", "campaign", name), err
	}
	return p.T("“{{campaign}}” is still being sent. You can send this campaign after the last retry: {{at}}.",
		"campaign", name, "at", p.When(until)), err
}

// NotYet describes when recipients who didn't open the campaign can get a follow-up. If they already can, it returns an
// empty string.
func (d *reportData) NotYet(p *Page) string {
	switch {
	case !d.Running():
		return ""
	case d.Job.Stats.GivesUpAt == 0:
		return p.T("Can be sent once sending is complete")
	}
	return p.T("Can be sent after the last retry: {{at}}", "at", p.When(d.Job.Stats.GivesUpAt))
}

// lookAtFollowed adds an error if the campaign that this one follows is still being sent.
func (p *Page) lookAtFollowed(d *sendData) error {
	f := d.Campaign.Audience
	if f == nil {
		return nil
	}
	text, err := p.followFault(f)
	if text != "" {
		d.Faults = append(d.Faults, matter{
			Text: text, Bad: true, Mend: Link{p.T("View report"), p.Path("campaigns", f.Of)},
		})
	}
	return err
}

// namingCampaigns replaces campaign IDs in an error message with the campaigns' names. The IDs are those to which the
// campaign refers.
func (p *Page) namingCampaigns(fault, id string) (string, error) {
	c, err := p.campaignOf(id)
	if err != nil {
		return fault, err
	}
	ids := slices.Clone(c.ExcludeCampaignIDs)
	if c.Audience != nil {
		ids = append(ids, c.Audience.Of)
	}
	for _, of := range ids {
		if strings.Contains(fault, of) {
			name, err := p.campaignName(of)
			if err != nil {
				return fault, err
			}
			fault = strings.ReplaceAll(fault, of, p.T("“{{campaign}}”", "campaign", name))
		}
	}
	return fault, nil
}

// chooseSegment limits a draft to a segment that was created for it, and redirects to the draft.
func (p *Page) chooseSegment(campaign, segment string) (web.HTML, error) {
	c, err := p.campaignOf(campaign)
	if err != nil {
		return web.HTML{}, err
	}
	_, err = p.Ask(web.Question{
		Method: http.MethodPatch, Path: campaignAPI(c.ID), Body: map[string]string{"segment_id": segment},
		Header: map[string]string{"If-Match": c.Revision},
	})
	if _, _, ok := p.FaultOf(err); ok { // for example, it was sent in the meantime
		return p.Redirect(p.Path("segments", segment), "segment-created")
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("campaigns", c.ID)+"?tab=settings", "segment-created")
}

// followLimits describes how other campaigns limit a campaign's audience.
func (p *Page) followLimits(c *campaignPage) (limits []string, err error) {
	if c.Audience != nil {
		name, err := p.campaignName(c.Audience.Of)
		if err != nil {
			return nil, err
		}
		limits = append(limits, p.T("Only {{who}}", "who", p.onlyTo(c.Audience.Who, name)))
	}
	for _, id := range c.ExcludeCampaignIDs {
		name, err := p.campaignName(id)
		if err != nil {
			return nil, err
		}
		limits = append(limits, p.T("Recipients of “{{campaign}}” are excluded", "campaign", name))
	}
	return limits, nil
}
