package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/markup"
	"newsletterd/mail/smtp"
)

// testPrefix starts the subject of a test email, so that no one mistakes the email for the campaign.
const testPrefix = "[Test] "

// composeTest renders the content of a send job for one address, as the job would. If the address belongs to a
// subscriber, the email contains the subscriber's fields. Test emails are not tracked and don't count in any figures.
func (m *mailer) composeTest(ctx context.Context, q *core.Mail, now time.Time) (*smtp.Envelope, error) {
	var of core.TestMail
	if err := json.Unmarshal([]byte(q.Params), &of); err != nil {
		return nil, err
	}
	c, view, files, err := m.testedContent(ctx, &of, q)
	if err != nil {
		return nil, err
	}
	from, skips, err := m.server(ctx)
	if err != nil {
		return nil, err
	}
	spec := mail.JobSpec(cmp.Or(of.JobID, of.CampaignID), c, from)
	spec.SubjectPrefix, spec.Attachments = testPrefix, mail.NewAttachments(files)
	bulk, err := mail.CompileBulk(spec)
	if err != nil {
		return nil, err
	}
	origin := c.Tenant.Origin(m.PublicURL)
	r := mail.Recipient{Email: string(q.Email), Date: now, MessageID: m.Ident.Message(0, q.ID)}
	r.SubscriberID = m.Store.SubscriptionID(c.List.ID, q.Email.Key())
	if r.UnsubscribeToken, err = m.Sealer.SealUnsubscribe(auth.UnsubscribeToken{
		Kind: auth.UnsubscribeMailed, ListID: c.List.ID, SubscriptionID: r.SubscriberID, Email: q.Email,
		IssuedAt: q.CreatedAt,
	}); err != nil {
		return nil, err
	}
	r.OneClickURL = origin + "/api/newsletter/unsubscribe?token=" + r.UnsubscribeToken
	r.UnsubscribeURL = origin + "/unsubscribe?token=" + r.UnsubscribeToken
	r.PreferencesURL = origin + "/preferences?token=" + r.UnsubscribeToken
	r.ViewURL = origin + "/v/" + view
	r.PollURL = origin + mail.PollPath
	sub, err := m.Store.Subscriber(ctx, c.List.ID, q.Email)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return nil, err
	}
	r.Preferences = string(sub.Preferences)
	e := envelopes.Get().(*smtp.Envelope)
	e.From, e.To, e.Tag, e.Tail = spec.From.Email, string(q.Email), q, bulk.Tail()
	if e.Data, err = bulk.Append(e.Data[:0], &r); err != nil {
		return nil, err
	}
	return e, m.sign(ctx, e, c.Tenant.ID, skips)
}

// testedContent reads the content of a test email from a job or from a version of a campaign. If the campaign has
// several lists, testedContent uses the one through which the campaign would reach the address. view is the token for
// viewing the email in a browser.
func (m *mailer) testedContent(ctx context.Context, of *core.TestMail, q *core.Mail) (c *core.Content, view string,
	files []core.Attachment, err error,
) {
	if of.CampaignID == "" {
		j, err := m.Store.SendJob(ctx, of.JobID)
		if err != nil {
			return nil, "", nil, err
		}
		listID := j.ListID
		switch sub, err := m.Store.ReachedByJob(ctx, &j, q.Email); {
		case err == nil:
			listID = sub.ListID
		case !errors.Is(err, core.ErrNotFound):
			return nil, "", nil, err
		}
		content, err := m.Store.ContentOf(ctx, &j, listID)
		if err == nil {
			files, err = m.Store.Attachments(ctx, j.CopyID)
		}
		token := auth.PreviewToken{JobNo: j.No, Email: q.Email, IssuedAt: q.CreatedAt}
		return &content, m.Sealer.SealPreview(token), files, err
	}
	campaign, err := m.Store.Campaign(ctx, of.CampaignID)
	if err != nil {
		return nil, "", nil, err
	}
	d, err := m.Store.Draft(ctx, &campaign, of.Version, markup.CampaignParts, q.CreatedAt)
	if err == nil {
		_, err = m.Store.ReachedByDraft(ctx, &d, q.Email)
		if errors.Is(err, core.ErrNotFound) {
			err = nil
		}
	}
	if err == nil {
		files, err = m.Store.AttachmentsOfDraft(ctx, &d)
	}
	return &d.Content, m.Sealer.SealDraft(auth.DraftToken{
		CampaignID: of.CampaignID, Version: of.Version, Email: q.Email, IssuedAt: q.CreatedAt,
	}), files, err
}
