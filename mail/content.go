package mail

import (
	"cmp"
	"fmt"
	"strings"

	"newsletterd/core"
	"newsletterd/mail/internal/words"
)

// JobSpec returns the content of a job as a BulkSpec. It combines the campaign's bodies with the campaign's template,
// if any, and with the template's layout. sender is the daemon's own sender, which is used if the tenant has none.
//
// A template that contains {{content}} surrounds the campaign's bodies, any other template replaces them. If a campaign
// has no body, its subject serves as the content, in those parts that the template has.
func JobSpec(jobID string, c *core.Content, sender Address) *BulkSpec {
	s := &BulkSpec{
		From: sender, ListID: c.List.ID, ListName: c.List.Name, JobID: jobID, TenantID: c.Tenant.ID,
		Subject: c.Copy.Subject, HTML: c.Copy.BodyHTML, Text: c.Copy.BodyText,
		Preheader: c.Copy.Preheader(), UnsubscribeURL: c.Copy.UnsubscribeURL,
		Language: cmp.Or(c.List.Language, c.Tenant.Language),
		Shared: Shared{
			List: map[string]string{"id": c.List.ID, "name": c.List.Name},
			Tenant: map[string]string{
				"id": c.Tenant.ID, "name": c.Tenant.Name, "postal_address": c.Tenant.PostalAddress,
			},
			Job: map[string]string{"id": jobID, "name": c.Copy.Name, "subject": c.Copy.Subject},
		},
	}
	if c.Tenant.MailFrom != "" {
		s.From.Email = c.Tenant.MailFrom
	}
	s.From.Name = cmp.Or(c.Tenant.SenderName(), sender.Name)
	s.ReplyTo.Email = c.Tenant.ReplyTo
	s.Shared.Tenant["mail_from"], s.Shared.Tenant["reply_to"] = s.From.Email, s.ReplyTo.Email
	if s.HTML == "" && s.Text == "" {
		s.HTML, s.Text = "<h1>{{ job.subject }}</h1>", "{{ job.subject }}\n"
		switch t := &c.Template; {
		case t.BodyHTML != "" && t.BodyText == "":
			s.Text = ""
		case t.BodyText != "" && t.BodyHTML == "":
			s.HTML = ""
		}
	}
	builtIn := c.Template.Name == core.DefaultTemplate && c.Template.BodyHTML == core.BuiltInTemplate("").BodyHTML
	if builtIn && indexFold(s.HTML, "<html") < 0 {
		c.Template.BodyHTML = fmt.Sprintf(defaultDocument, words.Language(s.Language))
	}
	s.HTML, s.HTMLLayout = withTemplate(s.HTML, c.Template.BodyHTML, c.Layout.BodyHTML)
	s.Text, s.TextLayout = withTemplate(s.Text, c.Template.BodyText, c.Layout.BodyText)
	return s
}

// defaultDocument is the HTML around a body that uses the built-in template and is not a complete document.
const defaultDocument = `<!DOCTYPE html>
<html lang="%[1]s" dir="ltr">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{ job.subject }}</title></head>
<body style="margin:0"><div lang="%[1]s" dir="ltr">
<table role="presentation" align="center" width="100%%" cellpadding="0" cellspacing="0" border="0" style="max-width:600px"><tr>
<td style="padding:24px 20px;font-family:Helvetica,Arial,sans-serif;font-size:16px;line-height:24px">
{{content}}
</td></tr></table>
</div></body>
</html>
`

// withTemplate combines a body with a template and a layout, each of which may be empty. It returns the content and the
// layout around it.
func withTemplate(body, template, layout string) (content, around string) {
	switch before, after, holds := cutContent(template); {
	case template == "":
		return body, layout
	case !holds:
		return template, layout
	case body == "":
		return "", ""
	default:
		if b, a, ok := cutContent(layout); ok {
			return body, b + before + "{{content}}" + after + a
		}
		return body, template
	}
}

// cutContent splits a layout at its first {{content}}.
func cutContent(src string) (before, after string, ok bool) {
	for from := 0; ; {
		i := strings.Index(src[from:], "{{")
		if i < 0 {
			return "", "", false
		}
		i += from
		j := strings.Index(src[i:], "}}")
		if j < 0 {
			return "", "", false
		}
		if strings.TrimSpace(src[i+2:i+j]) == "content" {
			return src[:i], src[i+j+2:], true
		}
		from = i + j + 2
	}
}

// ShownSender is the default sender of content that is compiled only for display.
var ShownSender = Address{Email: "newsletterd@localhost"}

// CompileShown compiles a job's content for display. It returns the same errors as CompileBulk.
func CompileShown(jobID string, c *core.Content) (*Bulk, error) {
	return CompileBulk(JobSpec(jobID, c, ShownSender))
}

// TryContent compiles the content of a requested job without the database, to find errors early. It returns the
// warnings and errors of CompileBulk.
func TryContent(n *core.NewJob) (warnings []string, err error) {
	_, campaign := n.Job(1)
	content := core.Content{Copy: campaign, List: core.List{ID: campaign.ID, Name: "list"}}
	spec := JobSpec(campaign.ID, &content, ShownSender)
	spec.Track = Tracking{Open: n.TrackOpen, Click: n.TrackClick, Origin: "https://localhost"}
	bulk, err := CompileBulk(spec)
	if err != nil {
		return nil, err
	}
	return bulk.Warnings(), nil
}
