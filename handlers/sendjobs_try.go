package handlers

import (
	"cmp"
	"context"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/store"
)

// preview are the rendered parts of a job's mail.
type preview struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
}

// previewFor names a subscriber of the list, in the body as for a test mail or in the query; without one the mail is
// rendered for a reader of whom nothing is known.
type previewFor struct {
	Email core.Email `json:"email"`
	Query core.Email `query:"email"`
}

func (in *previewFor) CheckInput() error {
	if in.Email != "" && in.Query != "" && in.Email.Key() != in.Query.Key() {
		return core.Invalidf("email",
			"email is set in the body and in the query, with different values. Send it once.")
	}
	in.Email = cmp.Or(in.Email, in.Query)
	return nil
}

// preview renders a job's mail. What is known of a subscriber is for those who may read it.
func (a sendjobs) preview(c *web.Call, in previewFor) (out preview, err error) {
	if in.Email != "" && !c.Caller.May(core.ActionPeopleRead, c.Tenant) {
		return out, core.Lacking(core.ActionPeopleRead)
	}
	bulk, r, err := a.trial(c).Preview(c, c.ID(), in.Email, c.Now)
	if err != nil {
		return out, err
	}
	out.Subject, out.Text, out.HTML, err = bulk.Parts(&r)
	return out, err
}

func (a sendjobs) trial(c *web.Call) Trial {
	return Trial{Store: a.store, Sealer: a.sealer, Origin: c.PublicURL()}
}

// Trial tries a send job before it goes out. The API and the command line share it.
type Trial struct {
	Store  *store.Store
	Sealer *auth.Sealer // of unsubscribe tokens
	Origin string       // of the links
}

// Preview returns the content of a job and a recipient to render it for: a subscriber of one of its lists, or, with an
// empty to, a reader of whom nothing is known.
func (t Trial) Preview(ctx context.Context, jobID string, to core.Email, now core.Instant) (*mail.Bulk, mail.Recipient,
	error,
) {
	j, bulk, err := t.compiled(ctx, jobID, "")
	if err != nil {
		return nil, mail.Recipient{}, err
	}
	r := SampleRecipient(t.Origin, now)
	r.ViewURL = t.Origin + "/v/" + t.Sealer.SealPreview(auth.PreviewToken{JobNo: j.No, Email: to, IssuedAt: now})
	if to != "" {
		sub, err := t.Store.ReachedByJob(ctx, &j, to)
		if core.KindOf(err) == core.NotFound {
			return nil, r, core.Invalidf("email", "email does not belong to a subscriber of the list.")
		}
		if err == nil && sub.ListID != j.ListID {
			_, bulk, err = t.compiled(ctx, jobID, sub.ListID)
		}
		if err != nil {
			return nil, r, err
		}
		r.Email, r.SubscriberID, r.Preferences = string(sub.Email), sub.ID, string(sub.Preferences)
	}
	return bulk, r, nil
}

// SampleRecipient is a recipient of whom nothing is known, whose links lead nowhere.
func SampleRecipient(origin string, now core.Instant) mail.Recipient {
	return mail.Recipient{
		Email: "reader@example.org", Date: now.Time(),
		UnsubscribeToken: "preview", UnsubscribeURL: origin + "/unsubscribe?token=preview",
		PreferencesURL: origin + "/preferences?token=preview", ViewURL: origin + "/v/preview",
	}
}

// compiled returns a job with its content made ready for the readers of one of its lists; empty: of the first. What is
// missing or faulty is Invalid.
func (t Trial) compiled(ctx context.Context, id, listID string) (j core.SendJob, bulk *mail.Bulk, err error) {
	if j, err = t.Store.SendJob(ctx, id); err != nil {
		return j, nil, err
	}
	content, err := t.Store.ContentOf(ctx, &j, cmp.Or(listID, j.ListID))
	if core.KindOf(err) == core.NotFound {
		return j, nil, core.Invalidf("template", "The list or template of the send job no longer exists.")
	}
	if err != nil {
		return j, nil, err
	}
	bulk, err = mail.CompileShown(j.ID, &content)
	return j, bulk, err
}

// Test queues the mail of a job to one address, and returns the tenant whose it is.
func (t Trial) Test(ctx context.Context, jobID string, to core.Email, now core.Instant) (tenantID string, err error) {
	j, _, err := t.compiled(ctx, jobID, "")
	if err != nil {
		return "", err
	}
	return j.TenantID, t.Store.AddTestMail(ctx, &j, to, now)
}

// testTo is where a test mail goes.
type testTo struct {
	Email core.Email `json:"email" is:"required"`
}

// queued says that a mail will go out.
type queued struct {
	Status string `json:"status" enum:"queued"`
}

// test sends to the test group and the team, where the caller may send tests to no one else.
func (a sendjobs) test(c *web.Call, in testTo) (out queued, err error) {
	if err := mayTest(c, a.store, in.Email); err != nil {
		return out, err
	}
	tenantID, err := a.trial(c).Test(c, c.ID(), in.Email, c.Now)
	if err != nil {
		return out, err
	}
	c.Tenant = tenantID
	return queued{"queued"}, nil
}
