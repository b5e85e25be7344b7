package core

import (
	"slices"
	"strings"
)

// Languages are those that pages and mails to subscribers are written in. The first is the one where nothing else is
// said.
var Languages = []string{"en", "de", "fr", "es"}

func checkLanguage(s string) error {
	if s != "" && !slices.Contains(Languages, s) {
		return Invalidf("language", "language must be one of %s.", strings.Join(Languages, ", "))
	}
	return nil
}

// MailText is a tenant's own wording of a mail to subscribers. What is empty is the built-in text.
type MailText struct {
	Subject string `json:"subject,omitempty" like:"line" max:"200"`
	// Text is what stands above the link; paragraphs are parted by an empty line.
	Text string `json:"text,omitempty" like:"text" max:"4000"`
}

// MailTexts are the wordings of the mails to subscribers: of a list, else of its tenant, else built in.
type MailTexts struct {
	Confirm      *MailText `json:"confirm,omitempty"`
	Subscribed   *MailText `json:"subscribed,omitempty"`
	Unsubscribed *MailText `json:"unsubscribed,omitempty"`
	Preferences  *MailText `json:"preferences,omitempty"`
}

// Column is the form of the column.
func (t MailTexts) Column() string { return jsonColumn(t, t == MailTexts{}, "{}") }

// Scan reads the column.
func (t *MailTexts) Scan(src any) error { return scanJSON(src, t) }

// Of is the wording of a mail by its kind (MailConfirm and the like); zero where there is none.
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

// maxMailText is the number of characters of a wording.
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
