package console

import (
	"cmp"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// mailKind is an email to subscribers whose text can be customized.
type mailKind struct {
	Name, Title, When string
	Own               bool // whether the text is custom
}

// mailKinds returns the kinds of email in the order in which subscribers receive them.
func (p *Page) mailKinds() []mailKind {
	return []mailKind{
		{Name: "confirm", Title: p.T("Confirmation"), When: p.T("Sent to everyone who signs up. The link in it confirms " +
			"the subscription.")},
		{Name: "subscribed", Title: p.T("Already subscribed"), When: p.T("Sent when a subscriber signs up again.")},
		{Name: "unsubscribed", Title: p.T("Unsubscribed"), When: p.T("Sent when someone unsubscribes on a website " +
			"or in an app that uses the API. People who use the link in an email don't get it.")},
		{
			Name: "preferences", Title: p.T("Preference page link"),
			When: p.T("Sent when subscribers ask to manage their subscription."),
		},
	}
}

// mailKindsOf is like mailKinds, but also marks emails with a custom text.
func (p *Page) mailKindsOf(w *wordings) []mailKind {
	kinds := p.mailKinds()
	for i := range kinds {
		kinds[i].Own = w.own.Of(kindOfMail[kinds[i].Name]) != (core.MailText{})
	}
	return kinds
}

// kindOfMail maps names in mail_texts to kinds of email.
var kindOfMail = map[string]string{
	"confirm": core.MailConfirm, "subscribed": core.MailAlreadySubscribed, "unsubscribed": core.MailUnsubscribed,
	"preferences": core.MailPreferences,
}

// wordings holds the custom texts of a list's or tenant's emails to subscribers, and the inherited ones.
type wordings struct {
	own      *core.MailTexts
	general  core.MailTexts // texts of the tenant, if own holds a list's texts
	language string
	list     string // name of the list; empty on the tenant's page
}

func (p *Page) wordingsOfTenant() wordings {
	return wordings{own: &p.Tenant.MailTexts, language: cmp.Or(p.Tenant.Language, core.Languages[0])}
}

func (p *Page) wordingsOfList(l *core.List) wordings {
	return wordings{
		&l.MailTexts, p.Tenant.MailTexts, cmp.Or(l.Language, p.Tenant.Language, core.Languages[0]), l.Name,
	}
}

// inherited returns the text of an email that has no custom one.
func (p *Page) inherited(w *wordings, name string) core.MailText {
	kind := kindOfMail[name]
	is, general := p.console.options.MailDefault(kind, w.language), w.general.Of(kind)
	return core.MailText{Subject: cmp.Or(general.Subject, is.Subject), Text: cmp.Or(general.Text, is.Text)}
}

// mailTextValues returns the form values for the texts. An email without a custom text has the default.
func (p *Page) mailTextValues(w *wordings) map[string]string {
	values := map[string]string{}
	for name, kind := range kindOfMail {
		own, is := w.own.Of(kind), p.inherited(w, name)
		values["mail_texts."+name+".subject"] = cmp.Or(own.Subject, is.Subject)
		values["mail_texts."+name+".text"] = cmp.Or(own.Text, is.Text)
	}
	return values
}

// previewMail renders an email for a frame, with the text in the form or the stored one.
func (p *Page) previewMail(w *wordings, name string) (web.HTML, error) {
	own := p.inherited(w, name)
	if p.IsForm() {
		own = core.MailText{
			Subject: cmp.Or(p.Form["mail_texts."+name+".subject"], own.Subject),
			Text:    cmp.Or(lines(p.Form["mail_texts."+name+".text"]), own.Text),
		}
	} else if kept := w.own.Of(kindOfMail[name]); kept != (core.MailText{}) {
		own = core.MailText{Subject: cmp.Or(kept.Subject, own.Subject), Text: cmp.Or(kept.Text, own.Text)}
	}
	to := string(p.Who.User.Email)
	_, html, err := p.console.options.MailPreview(&p.Tenant, kindOfMail[name], w.language, w.list, to, own)
	if err != nil {
		return web.HTML{}, web.ErrNotFound
	}
	return p.showMail(shownMail{HTML: html})
}

// lines converts a form value's line breaks to LF.
func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// sentMailTexts returns the texts in the submitted form. A text that equals the default doesn't count as custom, so
// that it changes with the language. The form value "reset" is the email whose default is restored.
func (p *Page) sentMailTexts(w *wordings) map[string]core.MailText {
	texts := map[string]core.MailText{}
	for _, k := range p.mailKinds() {
		is := p.inherited(w, k.Name)
		t := core.MailText{
			Subject: p.Form["mail_texts."+k.Name+".subject"],
			Text:    strings.TrimSpace(lines(p.Form["mail_texts."+k.Name+".text"])),
		}
		if t.Subject == is.Subject {
			t.Subject = ""
		}
		if t.Text == is.Text {
			t.Text = ""
		}
		if t != (core.MailText{}) && p.Form["reset"] != k.Name {
			texts[k.Name] = t
		}
	}
	return texts
}

// savedTexts returns the key of the notice after the form was saved. It depends on whether a text was reset.
func (p *Page) savedTexts() string {
	if p.Form["reset"] != "" {
		return "text-reset"
	}
	return "saved"
}

// listMails shows and saves the texts of a list's emails.
func (o *Console) listMails(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	w := p.wordingsOfList(&l.List)
	if name := p.mailPreviewed(); name != "" {
		return p.previewMail(&w, name)
	}
	show := func(f filled, v View) (web.HTML, error) {
		v.State = p.T("Sent to subscribers automatically. Texts you don't change here use the defaults from Settings.")
		v.Frames, v.Script = true, editorScript
		return p.showList("list-mails", &l, v, f, p.mailKindsOf(&w))
	}
	if p.isGet() {
		return show(filled{values: p.mailTextValues(&w)}, View{})
	}
	return p.changeList(&l, map[string]any{"mail_texts": p.sentMailTexts(&w)}, "mails", show)
}

// mailPreviewed returns the email that a frame requests, or an empty string if the page itself is requested.
func (p *Page) mailPreviewed() string {
	name := cmp.Or(p.Form["preview"], p.Query("preview"))
	if kindOfMail[name] == "" {
		return ""
	}
	return name
}

// mailTextsPart holds the data for the component "mail-texts".
type mailTextsPart struct {
	Form   filled
	Kinds  []mailKind
	May    bool
	Fields fieldChoices // fields that the texts can contain

	Subject, Text, Insert, Save, Preview, Reset, Default string
}

// MailTextsPart returns the data for the component "mail-texts".
func (p *Page) MailTextsPart(f filled, kinds []mailKind, may bool) mailTextsPart {
	return mailTextsPart{
		f, kinds, may,
		fieldChoices{
			{Name: "email", Label: p.T("Email address")},
			{Name: "list.name", Label: p.T("List name")},
			{Name: "tenant.name", Label: p.T("Organization name")},
		},
		p.T("Subject"), p.T("Text above the link"), p.T("Insert name or address"), p.T("Save"), p.T("Update preview"),
		p.T("Reset to default"), p.T("Default text"),
	}
}
