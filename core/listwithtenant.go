package core

import "cmp"

// ListWithTenant is a list with its tenant. It is shared by a cache, because subscribe requests read both and they
// hardly ever change. Callers must not modify it.
type ListWithTenant struct {
	List
	Tenant Tenant

	// OnlyArchive is true if the tenant has its own host with only this list's archive. Only Store.ListWithTenant sets
	// it.
	OnlyArchive bool
}

// Active reports whether both the list and its tenant accept subscriptions.
func (l *ListWithTenant) Active() bool { return l.List.Active() && l.Tenant.Active() }

// PageLanguage returns the language of the list's pages and emails.
func (l *ListWithTenant) PageLanguage() string {
	return cmp.Or(l.Language, l.Tenant.Language, Languages[0])
}

// Wording returns the custom text for a kind of email. For each part, the list's text takes precedence over the
// tenant's.
func (l *ListWithTenant) Wording(kind string) MailText {
	own, general := l.MailTexts.Of(kind), l.Tenant.MailTexts.Of(kind)
	return MailText{Subject: cmp.Or(own.Subject, general.Subject), Text: cmp.Or(own.Text, general.Text)}
}
