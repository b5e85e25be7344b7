package console

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// mailKind is a mail to readers whose wording can be changed.
type mailKind struct{ Name, Title, When string }

// mailKinds in the order in which a reader gets them.
func (p *Page) mailKinds() []mailKind {
	return []mailKind{
		{"confirm", p.T("Confirmation"), p.T("Sent to everyone who signs up. The link in it confirms the " +
			"subscription.")},
		{"subscribed", p.T("Already subscribed"), p.T("Sent when a subscriber signs up again.")},
		{"unsubscribed", p.T("Unsubscribed"), p.T("Sent when someone unsubscribes.")},
		{"preferences", p.T("Preference page link"), p.T("Sent when subscribers ask to manage their subscription.")},
	}
}

// mailTextValues are the wordings as a form has them.
func mailTextValues(m *core.MailTexts) map[string]string {
	values := map[string]string{}
	for name, text := range map[string]*core.MailText{
		"confirm": m.Confirm, "subscribed": m.Subscribed, "unsubscribed": m.Unsubscribed, "preferences": m.Preferences,
	} {
		if text != nil {
			values["mail_texts."+name+".subject"], values["mail_texts."+name+".text"] = text.Subject, text.Text
		}
	}
	return values
}

// sentMailTexts are the wordings of the form that was sent.
func (p *Page) sentMailTexts() map[string]core.MailText {
	texts := map[string]core.MailText{}
	for _, k := range p.mailKinds() {
		t := core.MailText{Subject: p.Form["mail_texts."+k.Name+".subject"], Text: p.Form["mail_texts."+k.Name+".text"]}
		if t != (core.MailText{}) {
			texts[k.Name] = t
		}
	}
	return texts
}

// listMails is the wording of the mails of a list.
func (o *Console) listMails(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	show := func(f filled, v View) (web.HTML, error) {
		v.State = p.T("Sent to subscribers automatically. Leave a field blank to use the default text.")
		return p.showList("list-mails", &l, v, f, p.mailKinds())
	}
	if p.isGet() {
		return show(filled{values: mailTextValues(&l.MailTexts)}, View{})
	}
	return p.changeList(&l, map[string]any{"mail_texts": p.sentMailTexts()}, "mails", show)
}

// mailTextsPart is what the component "mail-texts" shows.
type mailTextsPart struct {
	Form                      filled
	Kinds                     []mailKind
	May                       bool
	Subject, Text, Help, Save string
}

// MailTextsPart makes it.
func (p *Page) MailTextsPart(f filled, kinds []mailKind, may bool) mailTextsPart {
	return mailTextsPart{
		f, kinds, may, p.T("Subject"), p.T("Text above the link"),
		p.T("You can use {{email}}, {{list}} and {{tenant}}.", "email", "{{email}}", "list", "{{list.name}}",
			"tenant",
			"{{tenant.name}}"), p.T("Save"),
	}
}
