package core

import (
	"slices"
	"strings"
)

// Languages lists the languages of pages and emails for subscribers. The first is the default.
var Languages = []string{"en", "de", "fr", "es"}

func checkLanguage(s string) error {
	if s != "" && !slices.Contains(Languages, s) {
		return Invalidf("language", "language must be one of %s.", strings.Join(Languages, ", "))
	}
	return nil
}

// MailText is a tenant's custom text for an email to subscribers. An empty field means the built-in text.
type MailText struct {
	Subject string `json:"subject,omitempty" like:"line" max:"200" about:"Subject, with {{email}}, {{list.name}} and {{tenant.name}}; empty: the built-in one"`
	Text    string `json:"text,omitempty" like:"text" max:"4000" about:"Text above the link; empty lines separate paragraphs; empty: the built-in one"`
}

// MailTexts holds custom texts for emails to subscribers. A list's texts take precedence over its tenant's, and those
// over the built-in ones.
type MailTexts struct {
	Confirm      *MailText `json:"confirm,omitempty" about:"Email that asks to confirm a signup"`
	Subscribed   *MailText `json:"subscribed,omitempty" about:"Email to people who sign up again although they are subscribed"`
	Unsubscribed *MailText `json:"unsubscribed,omitempty" about:"Email after unsubscribing"`
	Preferences  *MailText `json:"preferences,omitempty" about:"Email with the link to the preference page"`
}

// Column returns the value to store in the database column.
func (t MailTexts) Column() string { return jsonColumn(t, t == MailTexts{}, "{}") }

// Scan implements sql.Scanner.
func (t *MailTexts) Scan(src any) error { return scanJSON(src, t) }

// Of returns the custom text for a kind of email, such as MailConfirm, or a zero MailText if there is none.
func (t *MailTexts) Of(kind string) MailText {
	m := map[string]*MailText{
		MailConfirm: t.Confirm, MailAlreadySubscribed: t.Subscribed, MailUnsubscribed: t.Unsubscribed,
		MailPreferences: t.Preferences,
	}[kind]
	if m == nil {
		return MailText{}
	}
	return *m
}

// maxMailText is the maximum length of a custom text, in characters.
const maxMailText = 4000

func (t *MailTexts) check() error {
	for _, m := range []struct {
		name string
		text *MailText
	}{
		{"confirm", t.Confirm},
		{"subscribed", t.Subscribed},
		{"unsubscribed", t.Unsubscribed},
		{"preferences", t.Preferences},
	} {
		if m.text == nil {
			continue
		}
		at := "mail_texts." + m.name
		if err := checkText(&m.text.Subject, at+".subject", maxName, false); err != nil {
			return err
		}
		if err := checkText(&m.text.Text, at+".text", maxMailText, true); err != nil {
			return err
		}
		for _, f := range [][2]string{{at + ".subject", m.text.Subject}, {at + ".text", m.text.Text}} {
			if strings.Contains(mailTextNames.Replace(f[1]), "{{") {
				return Invalidf(f[0],
					"%s may only contain the placeholders {{email}}, {{list.name}} and {{tenant.name}}.", f[0])
			}
		}
	}
	return nil
}

var mailTextNames = strings.NewReplacer("{{email}}", "", "{{list.name}}", "", "{{tenant.name}}", "")
