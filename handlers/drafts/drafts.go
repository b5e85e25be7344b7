package drafts

import (
	"context"
	"strings"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/mail"
	"newsletterd/store"
	"newsletterd/store/campaigns"
)

// Drafts tries campaigns before they are sent. The API and the command line share it.
type Drafts struct {
	Store  *store.Store
	Sealer *auth.Sealer // of unsubscribe tokens and of views
	Origin string       // of the links
	Checks *Checks      // nil: nothing but what is written is looked at
}

// HeadOf returns what archives say of a mail.
func HeadOf(bulk *mail.Bulk, now core.Instant) (campaigns.IssueHead, error) {
	subject, preheader, err := bulk.Head(&mail.Recipient{Preferences: "{}", Date: now.Time()})
	tidy := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return campaigns.IssueHead{Title: tidy(subject), Summary: tidy(preheader)}, err
}

// MendedSpec returns what pages show of a job to the readers of one of its lists, with what it is made of.
func MendedSpec(ctx context.Context, s *store.Store, mended *core.Mended, j *core.SendJob, listID string) (
	spec *mail.BulkSpec, content core.Content, err error,
) {
	shown := *j
	if mended.CopyID != "" {
		shown.CopyID = mended.CopyID
	}
	if content, err = s.ContentOf(ctx, &shown, listID); err != nil {
		return nil, content, err
	}
	spec = mail.JobSpec(j.ID, &content, mail.ShownSender)
	spec.Mended = mended.Links
	style := page.Style{Lang: spec.Language}
	spec.Notice = style.Words().CorrectedAt(mended.At)
	return spec, content, nil
}

// Correction compiles what pages are to show of a campaign instead of what was sent, which a change makes of it.
func (d Drafts) Correction(ctx context.Context, c *core.Campaign, change func(*core.CampaignFields) error, by string,
	now core.Instant,
) (r campaigns.CampaignCorrection, err error) {
	l, err := d.Corrected(ctx, c, change, now)
	if err == nil {
		err = l.Fault
	}
	f := &l.Draft.Fields
	r.CampaignEdit = campaigns.CampaignEdit{ID: c.ID, Actor: by, Now: now}
	r.Correction = core.Correction{Subject: f.Subject, Source: f.Content.Source, Text: f.Content.Text}
	r.Copy, r.Head = &l.Draft.Content.Copy, l.Draft.Head
	return r, err
}

// Corrected compiles what a change makes of what was sent.
func (d Drafts) Corrected(ctx context.Context, c *core.Campaign, change func(*core.CampaignFields) error,
	now core.Instant,
) (l Look, err error) {
	if err := c.Correctable(); err != nil {
		return l, err
	}
	l, err = d.compileChanged(ctx, c, c.ApprovedVersion, change, now)
	l.Draft.Digest = "" // no approval covers it
	return l, err
}

// Complete compiles a version that is to be tried, and refuses one in which something is missing.
func (d Drafts) Complete(ctx context.Context, c *core.Campaign, version int64, now core.Instant) (draft campaigns.Draft,
	warnings []string, err error,
) {
	l, err := d.Look(ctx, c, version, now)
	if err == nil {
		err = l.Fault
	}
	if err == nil {
		err = l.Draft.Fields.Complete()
	}
	return l.Draft, l.Warnings(), err
}

// Recipient returns a subscriber of one of the draft's lists for whom it can be rendered, or, with an empty address, a
// reader of whom nothing is known. The mail becomes that of the list by which the subscriber is reached. Invalid: the
// address is no subscriber's.
func (d Drafts) Recipient(ctx context.Context, l *Look, to core.Email, now core.Instant) (mail.Recipient, error) {
	draft := &l.Draft
	origin := draft.Content.Tenant.Origin(d.Origin)
	r := SampleRecipient(origin, now)
	r.ViewURL = d.View(draft, to, now)
	if to == "" {
		return r, nil
	}
	first := draft.Content.List.ID
	sub, err := d.Store.ReachedByDraft(ctx, draft, to)
	if core.KindOf(err) == core.NotFound {
		return r, core.Invalidf("email", "email does not belong to a subscriber of the list.")
	}
	if err == nil && draft.Content.List.ID != first {
		l.Bulk, err = mail.CompileShown(draft.Campaign.ID, &draft.Content)
	}
	r.Email, r.SubscriberID, r.Preferences = string(sub.Email), sub.ID, string(sub.Preferences)
	return r, err
}

// View returns the address at which a draft can be looked at without signing in, for auth.DraftTTL. It shows what the
// digest of the draft names and nothing else, so that an approver sees what that digest approves.
func (d Drafts) View(draft *campaigns.Draft, to core.Email, now core.Instant) string {
	return draft.Content.Tenant.Origin(d.Origin) + "/v/" + d.Sealer.SealDraft(auth.DraftToken{
		CampaignID: draft.Campaign.ID, Version: draft.Version.Version, Email: to, IssuedAt: now,
		Seen: draft.Digest,
	})
}

// TestGroup returns where tests of a version go that name no address. Invalid: neither the campaign nor its tenant has
// a test group.
func (d Drafts) TestGroup(ctx context.Context, of *core.Campaign, version int64) ([]core.Email, error) {
	_, fields, err := d.Store.CampaignVersion(ctx, of, version)
	if err != nil {
		return nil, err
	}
	t, err := d.Store.Tenant(ctx, of.TenantID)
	if err != nil {
		return nil, err
	}
	var to []core.Email
	for _, address := range fields.TestGroup(&t) {
		to = append(to, core.Email(address))
	}
	if len(to) == 0 {
		return nil, core.Invalidf("to", "to is missing. Set it, or set test_addresses on the campaign or its tenant.")
	}
	return to, nil
}
