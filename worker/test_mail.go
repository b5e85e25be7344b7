package worker

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
)

// testPrefix begins the subject of a test mail, so that no reader takes it for the mailing.
const testPrefix = "[Test] "

// composeTest renders the content of a send job for one address, as the job itself would: with the data of a subscriber
// where the address is one, else with none. Nothing of it is tracked, and it counts in no figures.
func (m *mailer) composeTest(ctx context.Context, q *core.Mail, now time.Time) (*smtp.Envelope, error) {
	var of core.TestMail
	if err := json.Unmarshal([]byte(q.Params), &of); err != nil {
		return nil, err
	}
	j, err := m.Store.SendJob(ctx, of.JobID)
	if err != nil {
		return nil, err
	}
	c, err := m.Store.Content(ctx, &j)
	if err != nil {
		return nil, err
	}
	spec := mail.JobSpec(j.ID, &c, m.From)
	spec.SubjectPrefix = testPrefix
	bulk, err := mail.CompileBulk(spec)
	if err != nil {
		return nil, err
	}
	origin := m.PublicURL
	if c.Tenant.PublicURL != "" {
		origin = c.Tenant.PublicURL
	}
	r := mail.Recipient{Email: string(q.Email), Date: now, MessageID: m.Ident.Message(0, q.ID)}
	r.SubscriberID = m.Store.SubscriptionID(j.ListID, q.Email.Key())
	if r.UnsubscribeToken, err = m.Sealer.SealUnsubscribe(auth.UnsubscribeToken{
		Kind: auth.UnsubscribeMailed, ListID: j.ListID, SubscriptionID: r.SubscriberID, Email: q.Email,
		IssuedAt: q.CreatedAt,
	}); err != nil {
		return nil, err
	}
	r.OneClickURL = origin + "/api/newsletter/unsubscribe?token=" + r.UnsubscribeToken
	r.UnsubscribeURL = origin + "/unsubscribe?token=" + r.UnsubscribeToken
	r.PreferencesURL = origin + "/preferences?token=" + r.UnsubscribeToken
	r.ViewURL = origin + "/v/" + m.Sealer.SealPreview(auth.PreviewToken{
		JobNo: j.No, Email: q.Email,
		IssuedAt: q.CreatedAt,
	})
	sub, err := m.Store.Subscriber(ctx, j.ListID, q.Email)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return nil, err
	}
	r.Preferences = string(sub.Preferences)
	e := envelopes.Get().(*smtp.Envelope)
	e.From, e.To, e.Tag = spec.From.Email, string(q.Email), q
	if e.Data, err = bulk.Append(e.Data[:0], &r); err != nil {
		return nil, err
	}
	return e, m.sign(ctx, e, j.TenantID)
}
