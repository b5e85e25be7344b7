package core

import "cmp"

// ListWithTenant is a list with its tenant. It is cached: the way of a request to subscribe must not read what changes
// once a month. Never change one.
type ListWithTenant struct {
	List
	Tenant Tenant
}

// Active reports whether the list takes subscriptions.
func (l *ListWithTenant) Active() bool { return l.List.Active() && l.Tenant.Active() }

// PageLanguage is that of the list's pages and mails.
func (l *ListWithTenant) PageLanguage() string {
	return cmp.Or(l.Language, l.Tenant.Language, Languages[0])
}

// Wording is the tenant's own wording of a kind of mail, the list's before the tenant's, each part by itself.
func (l *ListWithTenant) Wording(kind string) MailText {
	own, general := l.MailTexts.Of(kind), l.Tenant.MailTexts.Of(kind)
	return MailText{Subject: cmp.Or(own.Subject, general.Subject), Text: cmp.Or(own.Text, general.Text)}
}
