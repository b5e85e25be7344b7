package core

import (
	"cmp"
	"slices"
)

// PauseSender is why a job waits whose sender is no longer the tenant's.
const PauseSender = "sender"

// FrozenContent is what a job's mails are made of besides its campaign, as it was when the job was made: what is edited
// later does not change them. Relay, DKIM key, the origin of links and whether readers are tracked are not part of it.
type FrozenContent struct {
	ListName      string  `db:"list_name"`
	ListNames     Strings `db:"list_names"` // of the further lists of a campaign, in their order
	TenantName    string  `db:"tenant_name"`
	PostalAddress string  `db:"postal_address"`
	Language      string  `db:"language"`
	MailFrom      string  `db:"mail_from"` // empty: the daemon's
	FromName      string  `db:"from_name"`
	ReplyTo       string  `db:"reply_to"`

	TemplateName string `db:"template"` // empty: the campaign's bodies are sent as they are
	Resolved     bool   `db:"resolved"` // the template and its layout existed, and are below
	TemplateHTML string `db:"template_html"`
	TemplateText string `db:"template_text"`
	LayoutHTML   string `db:"layout_html"`
	LayoutText   string `db:"layout_text"`
}

// Freeze takes the words and the sender of a list and its tenant for a campaign. The template is still to be resolved
// where the campaign names one.
func Freeze(c *CampaignCopy, l *List, t *Tenant) FrozenContent {
	name := c.TemplateName()
	return FrozenContent{
		ListName: l.Name, TenantName: t.Name, PostalAddress: t.PostalAddress, Language: cmp.Or(l.Language, t.Language),
		MailFrom: t.MailFrom, FromName: t.SenderName(), ReplyTo: t.ReplyTo, TemplateName: name, Resolved: name == "",
	}
}

// Resolve takes the bodies of the template and of the layout around it; a zero layout is none.
func (f *FrozenContent) Resolve(t, layout *Template) {
	f.Resolved = true
	f.TemplateHTML, f.TemplateText = t.BodyHTML, t.BodyText
	f.LayoutHTML, f.LayoutText = layout.BodyHTML, layout.BodyText
}

// Restore puts the frozen words into a content that was read now. The template stays as read where it is not resolved.
func (f *FrozenContent) Restore(c *Content) {
	c.List.Name, c.List.Language = f.ListName, f.Language
	c.Tenant.Name, c.Tenant.PostalAddress, c.Tenant.Language = f.TenantName, f.PostalAddress, f.Language
	c.Tenant.MailFrom, c.Tenant.MailFromName, c.Tenant.ReplyTo = f.MailFrom, f.FromName, f.ReplyTo
	if f.Resolved {
		c.Template = Template{
			TenantID: c.Tenant.ID, Name: f.TemplateName, BodyHTML: f.TemplateHTML,
			BodyText: f.TemplateText,
		}
		c.Layout = Template{TenantID: c.Tenant.ID, BodyHTML: f.LayoutHTML, BodyText: f.LayoutText}
	}
}

// SenderAllowed reports whether the tenant may still send from the frozen address.
func (f *FrozenContent) SenderAllowed(t *Tenant) bool {
	return f.MailFrom == "" || slices.Contains(t.Domains, Email(f.MailFrom).Domain())
}
