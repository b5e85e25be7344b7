package mail

import (
	"strings"
	"testing"

	"newsletterd/core"
)

// rendered renders a job's content for the subscriber Ada.
func rendered(t *testing.T, c core.Content) (subject, text, html string) {
	t.Helper()
	c.List.ID, c.List.Name, c.Tenant.ID, c.Tenant.Name = "l", "News", "t", "Acme"
	bulk, err := CompileBulk(JobSpec("j", &c, Address{Email: "news@example.org"}))
	if err != nil {
		t.Fatal(err)
	}
	r := testRecipient()
	r.Preferences = `{"first_name": "Ada <3"}`
	if subject, text, html, err = bulk.Parts(r); err != nil {
		t.Fatal(err)
	}
	return subject, text, html
}

// TestTemplateWithoutBody checks that, if the job has no body, the email has only the parts of its template.
func TestTemplateWithoutBody(t *testing.T) {
	layout := core.Template{BodyHTML: "<body>{{content}}</body>", BodyText: "above\n{{content}}\nbelow"}
	for _, tc := range []struct {
		template   core.Template
		text, html string // starts of the parts; empty: no such part
	}{
		{core.Template{BodyHTML: "<p>The issue</p>"}, "The issue\n", "<body><p>The issue</p>"},
		{core.Template{BodyText: "The issue"}, "above\nThe issue\nbelow\n", ""},
		{
			core.Template{BodyHTML: "<p>The issue</p>", BodyText: "The text"},
			"above\nThe text\nbelow\n",
			"<body><p>The issue</p>",
		},
		{core.Template{BodyHTML: "<i>{{content}}</i>"}, "Hello Ada <3\n", "<body><i><h1>Hello Ada &lt;3</h1></i>"},
		{core.Template{}, "above\nHello Ada <3\n", "<body><h1>Hello Ada &lt;3</h1>"},
	} {
		_, text, html := rendered(t, core.Content{
			Copy: core.CampaignCopy{Subject: "Hello {{preferences.first_name}}"}, Template: tc.template, Layout: layout,
		})
		if !strings.HasPrefix(text, tc.text) || !strings.HasPrefix(html, tc.html) || tc.html == "" && html != "" {
			t.Errorf("%+v:\n%q\n%q", tc.template, text, html)
		}
	}
}

// TestBuiltInTemplateIsADocument checks that the built-in template turns a fragment into a document with the list's
// language and the subject as its title.
func TestBuiltInTemplateIsADocument(t *testing.T) {
	for _, tc := range []struct{ language, body, want string }{
		{"de", "", "<html lang=\"de\" dir=\"ltr\">"},
		{"", "<p>Hi</p>", "<html lang=\"en\" dir=\"ltr\">"},
		{"fr", "<!doctype html><HTML lang=x><p>Hi", "<HTML lang=x>"},
	} {
		c := core.Content{
			Copy:     core.CampaignCopy{Subject: "Hello {{preferences.first_name}}", BodyHTML: tc.body},
			Template: core.BuiltInTemplate("t"),
		}
		c.List.Language = tc.language
		_, text, html := rendered(t, c)
		if !strings.Contains(html, tc.want) || strings.Count(strings.ToLower(html), "<html") != 1 ||
			strings.Contains(text, "{") {
			t.Errorf("%+v:\n%s\n%s", tc, text, html)
		}
		if tc.language != "fr" && !strings.Contains(html, "<title>Hello Ada &lt;3</title>") {
			t.Errorf("%+v: no title\n%s", tc, html)
		}
	}
}

// TestSubjectInBody checks that job.subject prints the subject as rendered for the subscriber.
func TestSubjectInBody(t *testing.T) {
	subject, text, html := rendered(t, core.Content{
		Copy:     core.CampaignCopy{Subject: `{% if preferences.first_name contains "Ada" %}Dear {{preferences.first_name}}{% endif %} & all`, BodyText: "{{job.subject}}"},
		Template: core.Template{BodyHTML: "<title>{{job.subject}}</title>"},
	})
	if want := "Dear Ada <3 & all"; subject != want || !strings.HasPrefix(text, want+"\n") ||
		!strings.HasPrefix(html, "<title>Dear Ada &lt;3 &amp; all</title>") {
		t.Errorf("%q\n%q\n%q", subject, text, html)
	}
	subject, text, _ = rendered(t,
		core.Content{Copy: core.CampaignCopy{Subject: "Now: {{job.subject}}", BodyText: "{{job.subject}}"}})
	// the subject can't contain itself
	if want := "Now: Now: {{job.subject}}"; subject != want || !strings.HasPrefix(text, want+"\n") {
		t.Errorf("%q %q", subject, text)
	}
}

// TestPreheaderIsText checks that the preheader is escaped as text, so that it can't break the HTML around it.
func TestPreheaderIsText(t *testing.T) {
	_, _, html := rendered(t, core.Content{Copy: core.CampaignCopy{
		Subject: "s", BodyHTML: "<p>x</p>", Template: `{"preheader": "Fish & <!-- chips for {{preferences.first_name}}"}`,
	}})
	if !strings.Contains(html, ">Fish &amp; &lt;!-- chips for Ada &lt;3&#8204;") {
		t.Error(html)
	}
}

// TestFooterLanguage checks that the footer uses the language of the list, or else the tenant's, and keeps the lines of
// the postal address.
func TestFooterLanguage(t *testing.T) {
	for _, tc := range []struct{ list, tenant, want string }{
		{"de", "fr", "weil Sie „News“ abonniert haben"},
		{"", "fr", "abonnement à News"},
		{"es", "", "suscribió a News"},
		{"", "", "subscribed to News"},
	} {
		c := core.Content{Copy: core.CampaignCopy{Subject: "s", BodyHTML: "<p>x</p>"}}
		c.List.Language, c.Tenant.Language, c.Tenant.PostalAddress = tc.list, tc.tenant, "1 Garden {{Lane}}\r\nKew & Co"
		_, text, html := rendered(t, c)
		if !strings.Contains(text, tc.want) || !strings.Contains(html, tc.want) ||
			!strings.Contains(html, "</a><br>1 Garden {{Lane}}<br>Kew &amp; Co</td>") {
			t.Errorf("%+v:\n%s\n%s", tc, text, html)
		}
	}
}

// TestKnownFieldsAreFilled checks that every field that a template can use without a warning has a value.
func TestKnownFieldsAreFilled(t *testing.T) {
	c := core.Content{Copy: core.CampaignCopy{
		Name: "n", Subject: "s",
		BodyText: "{{tenant.mail_from}} {{tenant.reply_to}} {{tenant.postal_address}} {{job.name}}",
	}}
	c.Tenant.MailFrom, c.Tenant.ReplyTo, c.Tenant.PostalAddress = "from@example.org", "to@example.org", "Kew"
	if _, text, _ := rendered(t, c); !strings.HasPrefix(text, "from@example.org to@example.org Kew n\n") {
		t.Error(text)
	}
}
