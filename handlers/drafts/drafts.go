package drafts

import (
	"context"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/mail"
	"newsletterd/store"
	"newsletterd/store/campaigns"
)

// Drafts checks and previews campaigns before they are sent. The API and the command line share it.
type Drafts struct {
	Store  *store.Store
	Sealer *auth.Sealer // seals unsubscribe tokens and view links
	Origin string       // origin of the links
	Checks *Checks      // further checks; nil: only the content is checked
}

// MendedSpec returns the source of a job's corrected emails as web pages show it to subscribers of one of the job's
// lists.
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

// Correction applies a change to the sent version of a campaign. It returns the compiled result as a correction for web
// pages.
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

// Corrected applies a change to a campaign's sent version and compiles the result.
func (d Drafts) Corrected(ctx context.Context, c *core.Campaign, change func(*core.CampaignFields) error,
	now core.Instant,
) (l Look, err error) {
	if err := c.Correctable(); err != nil {
		return l, err
	}
	l, err = d.compileChanged(ctx, c, c.ApprovedVersion, change, now)
	l.Draft.Digest = "" // no approval covers the change
	return l, err
}

// Complete compiles a version for a test email. It returns an error if anything is missing.
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

// Recipient returns the recipient for whom the draft is rendered: the subscriber with the address to or, if to is
// empty, a subscriber with no details. It sets the draft's list to the one through which that subscriber would get the
// draft. If no subscriber of the draft's lists has the address, it returns an Invalid error.
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
		return r, core.Invalidf("email", "email isn't subscribed to the list. Use the address of a subscriber.")
	}
	if err == nil && draft.Content.List.ID != first {
		l.Bulk, err = mail.CompileShown(draft.Campaign.ID, &draft.Content)
	}
	r.Email, r.SubscriberID, r.Preferences = string(sub.Email), sub.ID, string(sub.Preferences)
	return r, err
}

// View returns a URL that shows a draft without signing in, for auth.DraftTTL. It always shows the content with the
// draft's digest, so that approvers see what they approve.
func (d Drafts) View(draft *campaigns.Draft, to core.Email, now core.Instant) string {
	return draft.Content.Tenant.Origin(d.Origin) + "/v/" + d.Sealer.SealDraft(auth.DraftToken{
		CampaignID: draft.Campaign.ID, Version: draft.Version.Version, Email: to, IssuedAt: now,
		Seen: draft.Digest,
	})
}

// TestGroup returns the default recipients for tests of a version. If neither the campaign nor its tenant has a test
// group, it returns an Invalid error.
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
