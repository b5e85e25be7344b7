package handlers

import (
	"cmp"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
)

// preview are the rendered parts of a job's mail.
type preview struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
}

// previewFor names a subscriber of the list, in the body as for a test mail or in the query; without one the mail is rendered for
// somebody of whom nothing is known.
type previewFor struct {
	Email core.Email `json:"email"`
	Query core.Email `query:"email"`
}

func (in *previewFor) validate() error {
	if in.Email != "" && in.Query != "" && in.Email.Key() != in.Query.Key() {
		return core.Invalidf("email", "email is given in the body and in the address, with different values.")
	}
	in.Email = cmp.Or(in.Email, in.Query)
	return nil
}

func (a sendjobs) preview(c *Call, in previewFor) (out preview, err error) {
	j, bulk, err := a.compiled(c)
	if err != nil {
		return out, err
	}
	r := mail.Recipient{
		Email: "reader@example.org", Date: c.Now.Time(),
		UnsubscribeToken: "preview", UnsubscribeURL: c.api.publicURL + "/unsubscribe?token=preview",
		PreferencesURL: c.api.publicURL + "/preferences?token=preview",
		ViewURL:        c.api.publicURL + "/v/" + c.api.sealer.SealPreview(auth.PreviewToken{JobNo: j.No, Email: in.Email, IssuedAt: c.Now}),
	}
	if in.Email != "" {
		sub, err := a.store.Subscriber(c, j.ListID, in.Email)
		if core.KindOf(err) == core.NotFound {
			return out, core.Invalidf("email", "email is no subscriber of the list.")
		}
		if err != nil {
			return out, err
		}
		r.Email, r.SubscriberID, r.Preferences = string(sub.Email), sub.ID, string(sub.Preferences)
	}
	out.Subject, out.Text, out.HTML, err = bulk.Parts(&r)
	return out, err
}

// compiled is the job of the path with its content made ready. What is missing or faulty is Invalid.
func (a sendjobs) compiled(c *Call) (j core.SendJob, bulk *mail.Bulk, err error) {
	if j, err = a.store.SendJob(c, c.ID()); err != nil {
		return j, nil, err
	}
	content, err := a.store.Content(c, &j)
	if core.KindOf(err) == core.NotFound {
		return j, nil, core.Invalidf("template", "The list or the template of the job is missing.")
	}
	if err != nil {
		return j, nil, err
	}
	bulk, err = mail.CompileBulk(mail.JobSpec(j.ID, &content, mail.Address{Email: "newsletterd@localhost"}))
	return j, bulk, err
}

// testTo is where a test mail goes.
type testTo struct {
	Email core.Email `json:"email" is:"required"`
}

// queued says that a mail will go out.
type queued struct {
	Status string `json:"status" enum:"queued"`
}

func (a sendjobs) test(c *Call, in testTo) (out queued, err error) {
	j, _, err := a.compiled(c)
	if err != nil {
		return out, err
	}
	if err := a.store.AddTestMail(c, &j, in.Email, c.Now); err != nil {
		return out, err
	}
	c.Tenant = j.TenantID
	return queued{"queued"}, nil
}
