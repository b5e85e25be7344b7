package campaigns

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/web"
	"newsletterd/store/campaigns"
)

// campaignSendRoutes adds the routes that approve and send a campaign.
func (r *Room) campaignSendRoutes(t *web.Table) {
	a := campaignsAPI{r}
	const item = "/api/campaigns/:id"
	write := web.Sent(core.ActionCampaignWrite)
	approve, send := web.Sent(core.ActionCampaignApprove).Fresh(), web.Sent(core.ActionCampaignSend).Fresh()
	t.Add("POST", item+"/review", write, web.Send, a.moving(web.JSON(a.review).BodyOptional()).Fails(core.TooMany),
		"Request approval from another person").Named("requestReview").
		Example(web.Object{"note": "Is the price right?", "wanted_at": "2027-01-04T08:00:00.000Z"}).
		Refuses(readyToSend...)
	t.Add("GET", item+"/approvers", write, web.Send, a.one(web.Path(a.approvers)),
		"Count the people besides the caller who can approve a campaign or fix its links").
		Named("getCampaignApprovers")
	t.Add("POST", item+"/reject", web.Sent(core.ActionCampaignApprove), web.Send,
		a.moving(web.JSON(a.reject).BodyOptional()),
		"Request changes to a campaign; it becomes a draft again").Named("rejectCampaign").
		Example(web.Object{"note": "The price of the bulbs is last year's."}).
		Refuses(web.Clash("The campaign has no approval or request to withdraw"))
	t.Add("POST", item+"/approve", approve, web.Send, a.seen(web.JSON(a.approve)),
		"Approve a version of a campaign; only this version can be sent").
		Named("approveCampaign").
		Example(web.Object{"version": 1}).
		Refuses(readyToSend...)
	t.Add("POST", item+"/send", send, web.Send, a.seen(web.JSON(a.send)).Created(),
		"Send or schedule a version of a campaign; this also approves a draft").Named("sendCampaign").
		Limits(web.OnlyKnown).
		Example(web.Object{"version": 1, "undo_seconds": 60}).
		Refuses(readyToSend...).
		Refuses(times...).
		Refuses(web.NoZone, web.Clashing("no_mail_server", "", "No mail server is set up, and testing isn't true"))
	t.Add("POST", item+"/undo", web.Sent(core.ActionCampaignSend), web.Send, a.moving(web.Query(a.undo)),
		"Undo a scheduled send before its first email; an earlier approval stays valid").
		Named("undoCampaign").
		Refuses(web.Clash("Nothing is scheduled, or sending has started"))
	t.Add("POST", item+"/archive", write, web.Send, a.moving(web.Query(a.archive)), "Archive a draft or a sent "+
		"campaign").
		Named("archiveCampaign").
		Refuses(web.Clash("The campaign is neither a draft nor sent"))
}

func (a campaignsAPI) drafts(c *web.Call) drafts.Drafts {
	return drafts.Drafts{Store: a.Store, Sealer: a.Sealer, Origin: c.PublicURL(), Checks: a.Checks}
}

// draftReview is the body of a request for approval.
type draftReview struct {
	WantedAt core.Instant `json:"wanted_at"`
	Note     string       `json:"note" max:"2000"`
	ifMatch
}

func (in *draftReview) CheckInput() error { return checkNote(in.Note) }

func checkNote(note string) error {
	if utf8.RuneCountInString(note) > maxNote {
		return core.Invalidf("note", "note must have at most %d characters.", maxNote)
	}
	return nil
}

// maxNote is the maximum number of characters in a note to reviewers.
const maxNote = 2000

func (a campaignsAPI) review(c *web.Call, in draftReview) (campaign, error) {
	return a.moved(c, in.IfMatch, func(ctx context.Context, e campaigns.CampaignEdit) (core.Campaign, error) {
		return a.Store.AskReview(ctx, e, in.WantedAt, in.Note)
	})
}

// approvers returns the other people who may approve a campaign. It includes their addresses only if the caller may see
// the team.
func (a campaignsAPI) approvers(c *web.Call, _ string) (core.Approvers, error) {
	of := a.found(c)
	out, err := a.Store.Approvers(c, of, web.Actor(c), c.Now)
	if !c.Caller.May(core.ActionTeamRead, of.TenantID) {
		for i, email := range out.Waiting {
			out.Waiting[i] = core.Email(email.Mask())
		}
	}
	return out, err
}

// draftRejection is the body of a request for changes to a campaign in review.
type draftRejection struct {
	Note string `json:"note"` // emailed to the person who requested the review
	ifMatch
}

func (in *draftRejection) CheckInput() error { return checkNote(in.Note) }

func (a campaignsAPI) reject(c *web.Call, in draftRejection) (campaign, error) {
	return a.moved(c, in.IfMatch, func(ctx context.Context, e campaigns.CampaignEdit) (core.Campaign, error) {
		return a.Store.RejectCampaign(ctx, e, in.Note)
	})
}

func (a campaignsAPI) archive(c *web.Call, in ifMatch) (campaign, error) {
	return a.moved(c, in.IfMatch, a.Store.ArchiveCampaign)
}

func (a campaignsAPI) undo(c *web.Call, in ifMatch) (campaign, error) {
	return a.moved(c, in.IfMatch, a.Store.UndoCampaign)
}

// moved calls move to change the campaign's state.
func (a campaignsAPI) moved(c *web.Call, ifMatch *string, move func(context.Context, campaigns.CampaignEdit) (core.Campaign,
	error),
) (campaign, error) {
	e, err := a.edit(c, ifMatch, false)
	if err != nil {
		return campaign{}, err
	}
	changed, err := move(c, e)
	return a.reply(c, &changed, err)
}

// draftApproval holds the version that the approver has seen.
type draftApproval struct {
	Version int64 `json:"version" is:"required" like:"whole" min:"1" about:"Version that you have seen; must be the current one"`
	ifMatch
}

func (a campaignsAPI) approve(c *web.Call, in draftApproval) (campaign, error) {
	t, err := a.Store.Tenant(c, a.found(c).TenantID)
	if err != nil {
		return campaign{}, err
	}
	r, err := a.sending(c, &t, in.IfMatch, in.Version)
	if err != nil {
		return campaign{}, err
	}
	approved, err := a.Store.ApproveCampaign(c, r)
	return a.reply(c, &approved, a.changedSince(c, &r, err))
}

// sending compiles the content to approve or send. The source is the current version of the revision.
func (a campaignsAPI) sending(c *web.Call, t *core.Tenant, ifMatch *string, version int64) (r campaigns.CampaignSending,
	err error,
) {
	r = campaigns.CampaignSending{Version: version}
	if err := a.mayApprove(c, t, ifMatch); err != nil {
		return r, err
	}
	if r.CampaignEdit, err = a.edit(c, ifMatch, false); err != nil {
		return r, err
	}
	of := a.found(c)
	if r.Revision < 0 {
		same, err := a.sameAgain(c, of, &r.CampaignEdit, tagsOf(*ifMatch))
		if err != nil {
			return r, err
		}
		if same && version < of.Version {
			version, r.Version = of.Version, of.Version // the current version has the same content
		}
	}
	if r.Revision == of.Revision && r.Seen == "" && t.AsksSecondPerson() && of.Written() {
		return r, core.ChangedContent([]core.ContentChange{}) // the tag doesn't cover layout and theme
	}
	if r.Revision == 0 {
		r.Revision = of.Revision
	}
	if err := of.AtVersion(version); err != nil {
		return r, err
	}
	draft, _, err := a.drafts(c).Ready(c, of, version, c.Now)
	r.Fields, r.Copy, r.Head = &draft.Fields, &draft.Content.Copy, draft.Head
	if r.Seen == "" {
		r.Seen = draft.Digest
	}
	return r, err
}

// changedSince adds the changes to err if the content has changed since it was compiled.
func (a campaignsAPI) changedSince(c *web.Call, r *campaigns.CampaignSending, err error) error {
	if fault, ok := errors.AsType[*core.Error](err); !ok || fault.Kind != core.PreconditionFailed ||
		fault.Changes != nil {
		return err
	}
	of, unread := a.Store.Campaign(c, r.ID)
	if unread != nil {
		return unread
	}
	now, unread := a.tagOf(c, &of)
	if unread != nil {
		return unread
	}
	return a.changed(c, &of, r.Seen, now.Digest)
}

// campaignSending is the body of a request to send a campaign.
type campaignSending struct {
	draftApproval
	ScheduledAt string `json:"scheduled_at" like:"time" about:"Start of sending; without an offset, in time_zone"`
	WindowStart string `json:"window_start" like:"time" about:"Sending doesn't start before this time"`
	WindowEnd   string `json:"window_end" like:"time" about:"End of sending; recipients not reached by then get no email; empty: no end"`
	// time zone for times without an offset; empty: the tenant's
	TimeZone string  `json:"time_zone" max:"64" about:"IANA time zone; defaults to the tenant's"`
	Undo     int64   `json:"undo_seconds" min:"0" max:"600" about:"Seconds in which the send can be undone before it starts; default 0"`
	FirstFew *bool   `json:"first_few" about:"Send to 500 recipients first; defaults to the tenant's setting"`
	Key      *string `header:"Idempotency-Key" like:"idempotency_key"`
	// if false, the request is rejected while emails are only saved to a folder
	Testing bool `json:"testing" about:"Send even if no mail server is set up: emails are saved to a folder"`
}

// times returns a new job with the times from the request.
func (in *campaignSending) times(t *core.Tenant) (n core.NewJob, err error) {
	zone, err := t.ZoneOf(in.TimeZone)
	if err != nil {
		return n, err
	}
	for _, f := range []struct {
		field, text string
		to          *core.Instant
	}{
		{"scheduled_at", in.ScheduledAt, &n.ScheduledAt},
		{"window_start", in.WindowStart, &n.WindowStart},
		{"window_end", in.WindowEnd, &n.WindowEnd},
	} {
		if *f.to, err = core.ParseTime(f.field, f.text, zone); err != nil {
			return n, err
		}
	}
	return n, nil
}

// JudgeKeys rejects unknown keys.
func (in *campaignSending) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[campaignSending](), unknown)
}

func (in *campaignSending) CheckInput() error {
	if most := int64(core.MaxUndo / time.Second); in.Undo < 0 || in.Undo > most {
		return core.Invalidf("undo_seconds", "undo_seconds must be from 0 to %d.", most)
	}
	return validIdempotencyKey(in.Key)
}

// sentCampaign is the response to a request to send a campaign.
type sentCampaign struct {
	SendJobID string         `json:"send_job_id"`
	Status    core.JobStatus `json:"status" enum:"pending|running|completed|failed|cancelled" about:"Status of the send job"`
	StartsAt  core.Instant   `json:"starts_at" about:"When sending starts; until then, it can be undone"`
	Audience  audience       `json:"audience" about:"Numbers of subscribers when the campaign was sent"`
}

func (a campaignsAPI) send(c *web.Call, in campaignSending) (out sentCampaign, err error) {
	tenant, err := a.Store.Tenant(c, a.found(c).TenantID)
	if err != nil {
		return out, err
	}
	if in.Key == nil { // with a key, the first response may apply
		if err := a.Relay.Reaches(c, a.Store, &tenant, in.Testing); err != nil {
			return out, err
		}
	}
	n, err := in.times(&tenant)
	if err != nil {
		return out, err
	}
	if in.Key == nil { // with a key, the first response applies for longer than the times
		if err := n.ValidateSchedule(c.Now); err != nil {
			return out, err
		}
	}
	job := campaigns.JobRequest{NewJob: n, Caller: c.Caller, CreatedBy: web.Actor(c)}
	if in.Key != nil {
		sum := sha256.Sum256(slices.Concat(c.Body(), []byte(c.ID())))
		job.IdempotencyKey, job.BodyHash = *in.Key, sum[:]
	}
	r, err := a.sending(c, &tenant, in.IfMatch, in.Version)
	if err != nil {
		return out, err
	}
	counted, err := a.Store.CountAudience(c, a.found(c).TenantID, r.Fields, core.AudienceBudget)
	if err != nil {
		return out, err
	}
	r.FirstFew, r.Expected = in.FirstFew, counted.Expected()
	var undo core.Instant
	if in.Undo > 0 {
		undo = c.Now.Add(time.Duration(in.Undo) * time.Second)
	}
	j, err := a.Store.SendCampaign(c, r, job, undo)
	if err != nil {
		return out, a.named(c, a.changedSince(c, &r, err))
	}
	return sentCampaign{j.ID, j.Status, j.DueAt, a.audienceOf(c, r.Fields, counted)}, nil
}
