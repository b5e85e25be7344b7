package store

import (
	"cmp"
	"context"

	"newsletterd/core"
)

// ListWithTenant is a list with its tenant. It is cached: the way of a request to subscribe must not read what changes
// once a month. Never change one.
type ListWithTenant struct {
	core.List
	Tenant core.Tenant
}

// Active reports whether the list takes subscriptions.
func (l *ListWithTenant) Active() bool { return l.List.Active() && l.Tenant.Active() }

// ListWithTenant returns a list with its tenant, neither of them deleted. It returns core.ErrListNotFound where there
// is none.
func (s *Store) ListWithTenant(ctx context.Context, id string) (*ListWithTenant, error) {
	r, age := s.lists.get(id)
	if r != nil {
		return r, nil
	}
	list, err := s.List(ctx, id)
	if err != nil {
		return nil, err
	}
	tenant, err := s.Tenant(ctx, list.TenantID)
	if err != nil {
		return nil, orNotFound(err, core.ErrListNotFound)
	}
	r = &ListWithTenant{list, tenant}
	s.lists.put(id, r, age)
	return r, nil
}

// listWithTenant is ListWithTenant inside an operation. What the cache holds is at most a commit old, and every commit
// empties it before anyone is answered.
func (tx *Tx) listWithTenant(id string) (*ListWithTenant, error) {
	if r, _ := tx.store.lists.get(id); r != nil {
		return r, nil
	}
	list, err := tx.list(id)
	if err != nil {
		return nil, err
	}
	tenant, err := tx.tenant(list.TenantID)
	return &ListWithTenant{list, tenant}, orNotFound(err, core.ErrListNotFound)
}

// PageLanguage is that of the list's pages and mails.
func (l *ListWithTenant) PageLanguage() string {
	return cmp.Or(l.Language, l.Tenant.Language, core.Languages[0])
}

// Wording is the tenant's own wording of a kind of mail, the list's before the tenant's, each part by itself.
func (l *ListWithTenant) Wording(kind string) core.MailText {
	own, general := l.MailTexts.Of(kind), l.Tenant.MailTexts.Of(kind)
	return core.MailText{Subject: cmp.Or(own.Subject, general.Subject), Text: cmp.Or(own.Text, general.Text)}
}
