package drafts

import (
	"cmp"
	"context"
	"strings"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
)

// Preview holds the rendered parts of an email.
type Preview struct {
	Subject string `json:"subject" about:"Subject, with placeholders filled in"`
	Text    string `json:"text" about:"Text part"`
	HTML    string `json:"html" about:"HTML part"`
}

// Trial previews and tests a send job before it is sent. The API and the command line share it.
type Trial struct {
	Store  *store.Store
	Sealer *auth.Sealer // seals unsubscribe tokens
	Origin string       // origin of the links
}

// Preview returns a job's compiled content and the recipient for whom it is rendered: the subscriber of one of the
// job's lists with the address to or, if to is empty, a subscriber with no details.
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
			return nil, r, core.Invalidf("email", "email isn't subscribed to the list. Use the address of a "+
				"subscriber.")
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

// SampleRecipient returns a recipient with no details whose links lead nowhere.
func SampleRecipient(origin string, now core.Instant) mail.Recipient {
	return mail.Recipient{
		Email: "reader@example.org", Date: now.Time(),
		UnsubscribeToken: "preview", UnsubscribeURL: origin + "/unsubscribe?token=preview",
		PreferencesURL: origin + "/preferences?token=preview", ViewURL: origin + "/v/preview",
		PollURL: origin + mail.PollPath,
	}
}

// compiled returns a job, and its content compiled for subscribers of the given list. An empty listID means the job's
// first list. If content is missing or faulty, it returns an Invalid error.
func (t Trial) compiled(ctx context.Context, id, listID string) (j core.SendJob, bulk *mail.Bulk, err error) {
	if j, err = t.Store.SendJob(ctx, id); err != nil {
		return j, nil, err
	}
	content, err := t.Store.ContentOf(ctx, &j, cmp.Or(listID, j.ListID))
	if core.KindOf(err) == core.NotFound {
		return j, nil, core.Invalidf("template", "The list or template of the send job no longer exists. Create a "+
			"new send job.")
	}
	if err != nil {
		return j, nil, err
	}
	bulk, err = mail.CompileShown(j.ID, &content)
	return j, bulk, err
}

// Test queues a job's email to one address and returns the job's tenant.
func (t Trial) Test(ctx context.Context, jobID string, to core.Email, now core.Instant) (tenantID string, err error) {
	j, _, err := t.compiled(ctx, jobID, "")
	if err != nil {
		return "", err
	}
	return j.TenantID, t.Store.AddTestMail(ctx, &j, to, now)
}

// TryTemplate compiles a template in the same way as a send job. If the template is faulty, it returns an Invalid
// error.
func TryTemplate(t *core.Template) error {
	content := SampleContent(t)
	_, err := mail.CompileShown(t.ID, &content)
	return err
}

// SampleContent returns sample content that uses a template. If the template wraps a body, the content has a sample
// body.
func SampleContent(t *core.Template) core.Content {
	content := core.Content{
		Template: *t, Copy: core.CampaignCopy{ID: t.ID, Subject: t.Name},
		List: core.List{ID: t.ID, Name: "list"},
	}
	if strings.Contains(t.BodyHTML+t.BodyText, "{{content") || strings.Contains(t.BodyHTML+t.BodyText, "{{ content") {
		content.Copy.BodyHTML, content.Copy.BodyText = "<p>The body of the job.</p>", "The body of the job."
	}
	return content
}
