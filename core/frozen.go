package core

import (
	"cmp"
	"slices"
)

// PauseSender is the pause reason for a job whose sender no longer belongs to the tenant.
const PauseSender = "sender"

// FrozenContent holds the content of a job's emails that is not in its campaign, as it was when the job was created.
// Later edits don't change it. It does not include the relay, the DKIM key, the link origin and the tracking settings.
type FrozenContent struct {
	ListName      string  `db:"list_name"`
	ListNames     Strings `db:"list_names"` // of the campaign's other lists, in order
	TenantName    string  `db:"tenant_name"`
	PostalAddress string  `db:"postal_address"`
	Language      string  `db:"language"`
	MailFrom      string  `db:"mail_from"` // empty means the daemon's
	FromName      string  `db:"from_name"`
	ReplyTo       string  `db:"reply_to"`

	TemplateName string `db:"template"` // empty: the campaign's bodies are sent without a template
	Resolved     bool   `db:"resolved"` // the template and its layout existed and are stored below
	TemplateHTML string `db:"template_html"`
	TemplateText string `db:"template_text"`
	LayoutHTML   string `db:"layout_html"`
	LayoutText   string `db:"layout_text"`
}

// Freeze returns the names, language, postal address and sender that a campaign takes from its list and tenant. If the
// campaign uses a template, the caller must still call Resolve.
func Freeze(c *CampaignCopy, l *List, t *Tenant) FrozenContent {
	name := c.TemplateName()
	return FrozenContent{
		ListName: l.Name, TenantName: t.Name, PostalAddress: t.PostalAddress, Language: cmp.Or(l.Language, t.Language),
		MailFrom: t.MailFrom, FromName: t.SenderName(), ReplyTo: t.ReplyTo, TemplateName: name, Resolved: name == "",
	}
}

// Resolve freezes the bodies of template t and its layout. A zero layout means none.
func (f *FrozenContent) Resolve(t, layout *Template) {
	f.Resolved = true
	f.TemplateHTML, f.TemplateText = t.BodyHTML, t.BodyText
	f.LayoutHTML, f.LayoutText = layout.BodyHTML, layout.BodyText
}

// Restore replaces the current values in c with the frozen ones. If no template was resolved, c keeps its template.
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
