package store

import (
	"cmp"
	"context"

	"newsletterd/core"
)

// ListRecord is a list with its tenant. It is cached: the way of a request to subscribe must not read what changes
// once a month. Never change one.
type ListRecord struct {
	core.List
	Tenant core.Tenant
}

// Active tells whether the list takes subscriptions.
func (l *ListRecord) Active() bool { return l.List.Active() && l.Tenant.Active() }

// ListRecord returns a list with its tenant, neither of them deleted. core.ErrListNotFound.
func (s *Store) ListRecord(ctx context.Context, id string) (*ListRecord, error) {
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
		return nil, sharpen(err, core.ErrListNotFound)
	}
	r = &ListRecord{list, tenant}
	s.lists.put(id, r, age)
	return r, nil
}

// listRecord is ListRecord inside an operation. What the cache holds is at most a commit old, and every commit
// empties it before anyone is answered.
func (tx *Tx) listRecord(id string) (*ListRecord, error) {
	if r, _ := tx.store.lists.get(id); r != nil {
		return r, nil
	}
	list, err := tx.list(id)
	if err != nil {
		return nil, err
	}
	tenant, err := tx.tenant(list.TenantID)
	return &ListRecord{list, tenant}, sharpen(err, core.ErrListNotFound)
}

// PageLanguage is that of the list's pages and mails.
func (l *ListRecord) PageLanguage() string {
	return cmp.Or(l.Language, l.Tenant.Language, core.Languages[0])
}

// Wording is the tenant's own wording of a kind of mail, the list's before the tenant's, each part by itself.
func (l *ListRecord) Wording(kind string) core.MailText {
	own, general := l.MailTexts.Of(kind), l.Tenant.MailTexts.Of(kind)
	return core.MailText{Subject: cmp.Or(own.Subject, general.Subject), Text: cmp.Or(own.Text, general.Text)}
}
