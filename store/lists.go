package store

import (
	"context"
	"errors"

	"newsletterd/core"
)

var listTable = tableOf[core.List]("list", nil, []string{"tenant_id", "created_at"})

var (
	selectLists = "SELECT " + listTable.columns + " FROM list WHERE "
	// selectList reads a list that is not deleted.
	selectList = selectLists + "id = ? AND deleted_at = 0"
	listList   = listByTenant(listTable.columns, "list", "list_tenant", "deleted_at = 0", false)
)

// List reads one list. One that was deleted, itself or with its tenant, is core.ErrListNotFound.
func (s *Store) List(ctx context.Context, id string) (l core.List, err error) {
	err = s.get(ctx, &l, selectList, id)
	return l, noList(err)
}

// list reads one list inside an operation.
func (tx *Tx) list(id string) (l core.List, err error) {
	err = tx.get(&l, selectList, id)
	return l, noList(err)
}

// noList turns an error of a row that is not there into core.ErrListNotFound.
func noList(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return core.ErrListNotFound
	}
	return err
}

// Lists reads a page of lists, by id: of all tenants, or of those among tenants. Its only error is core.ErrStorage.
func (s *Store) Lists(ctx context.Context, tenants []string, all bool, page core.Page) (ls []core.List, err error) {
	err = s.allOf(ctx, &ls, &listList, tenants, all, page.After, page.Limit)
	return ls, err
}

// AddList keeps a new list. core.ErrNotFound means that its tenant is unknown, ErrSlugTaken that its slug is another
// list's.
func (s *Store) AddList(ctx context.Context, l core.List, actor string) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.watch("list", l.ID); err != nil {
			return err
		}
		t, err := tx.tenant(l.TenantID)
		if err == nil {
			err = tx.ownSlug(&l, &t)
		}
		if err != nil {
			return err
		}
		_, err = insertRow(tx, &listTable, &l)
		if err == nil {
			err = tx.keepConsentText(&l, l.CreatedAt)
		}
		if err != nil {
			return err
		}
		tx.kick(TopicRecords)
		return tx.audit(l.CreatedAt, actor, "list.create", l.TenantID, l.ID)
	})
}

// UpdateList changes a list by a rule and returns it as it is then. The rule runs inside the transaction. It returns
// core.ErrListNotFound where there is no such list, ErrSlugTaken, or an error of the rule.
func (s *Store) UpdateList(ctx context.Context, id, actor string, rule func(*core.List) error) (l core.List,
	err error,
) {
	var at core.Instant
	err = s.update(ctx, func(tx *Tx) error {
		if err := tx.watch("list", id); err != nil {
			return err
		}
		if l, err = tx.list(id); err != nil {
			return err
		}
		at = l.UpdatedAt
		was, slug := l.Status, l.Slug
		if err := rule(&l); err != nil {
			return err
		}
		if l.Slug != slug {
			t, err := tx.tenant(l.TenantID)
			if err == nil {
				err = tx.ownSlug(&l, &t)
			}
			if err != nil {
				return err
			}
		}
		if l.Status != was {
			tx.kick(TopicJobs)
		}
		err := updateRow(tx, &listTable, &l, id)
		if err == nil {
			err = tx.keepConsentText(&l, l.UpdatedAt)
		}
		if err != nil {
			return err
		}
		tx.kick(TopicRecords)
		return tx.auditUpdate(l.UpdatedAt, actor, "list.update", l.TenantID, id)
	})
	return l, asItStood(err, &l.UpdatedAt, at)
}

// keepConsentText keeps the text that subscribers of the form agree to from now on, under the name that the ledger
// calls it by.
func (tx *Tx) keepConsentText(l *core.List, now core.Instant) error {
	if l.ConsentText == "" {
		return nil
	}
	return tx.addConsentText(l.ID, l.ConsentText, now)
}

// ConsentText is what a version of the ledger's text_version said. It returns core.ErrNotFound where there is none.
func (s *Store) ConsentText(ctx context.Context, listID, version string) (text string, err error) {
	err = s.get(ctx, &text, "SELECT text FROM consent_text WHERE list_id = ? AND version = ?", listID, version)
	return text, err
}

// listOf reads a list that must be the tenant's.
func (tx *Tx) listOf(tenantID, listID string) (core.List, error) {
	l, err := tx.list(listID)
	if errors.Is(err, core.ErrListNotFound) || err == nil && l.TenantID != tenantID {
		return l, core.Invalidf("list_id", "The tenant has no such list.")
	}
	return l, err
}

// addConsentText keeps a version of the text that subscribers of a list agree to.
func (tx *Tx) addConsentText(listID, text string, now core.Instant) error {
	_, err := tx.exec("INSERT INTO consent_text (list_id, version, text, created_at) VALUES (?, ?, ?, ?) ON "+
		"CONFLICT DO NOTHING", listID, core.TextVersion(text), text, now)
	return err
}
