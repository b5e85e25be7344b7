package tenants

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

var listTable = db.TableOf[core.List]("list", nil, []string{"tenant_id", "created_at"})

var (
	selectLists = "SELECT " + listTable.Columns + " FROM list WHERE "
	// SelectList is a query for a list that is not deleted.
	SelectList = selectLists + "id = ? AND deleted_at = 0"
	listList   = ListByTenant(listTable.Columns, "list", "list_tenant", "deleted_at = 0", false)
)

// List returns a list. If the list or its tenant doesn't exist or was deleted, it returns core.ErrListNotFound.
func (s *Store) List(ctx context.Context, id string) (l core.List, err error) {
	err = s.Get(ctx, &l, SelectList, id)
	return l, NoList(err)
}

// ReadList returns a list inside an operation.
func ReadList(tx *db.Tx, id string) (l core.List, err error) {
	err = tx.Get(&l, SelectList, id)
	return l, NoList(err)
}

// NoList returns core.ErrListNotFound if err is core.ErrNotFound, else err.
func NoList(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return core.ErrListNotFound
	}
	return err
}

// Lists returns a page of lists, sorted by id. It covers the given tenants or, if all is set, every tenant. The only
// error is core.ErrStorage.
func (s *Store) Lists(ctx context.Context, tenants []string, all bool, page core.Page) (ls []core.List, err error) {
	err = s.AllOf(ctx, &ls, &listList, tenants, all, page.After, page.Limit)
	return ls, err
}

// AddList adds a list. If its tenant doesn't exist, it returns core.ErrNotFound. If another list has its slug, it
// returns ErrSlugTaken.
func (s *Store) AddList(ctx context.Context, l core.List, actor string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("list", l.ID); err != nil {
			return err
		}
		t, err := ReadTenant(tx, l.TenantID)
		if err == nil {
			err = ownSlug(tx, &l, &t)
		}
		if err == nil {
			err = findSignupTag(tx, &l, "")
		}
		if err != nil {
			return err
		}
		_, err = db.InsertRow(tx, &listTable, &l)
		if err == nil {
			err = keepConsentText(tx, &l, l.CreatedAt)
		}
		if err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		return tx.Audit(l.CreatedAt, actor, "list.create", l.TenantID, l.ID)
	})
}

// UpdateList changes a list with rule, which runs inside the transaction, and returns the changed list. If no such
// list exists, it returns core.ErrListNotFound. It also returns ErrSlugTaken and the errors of rule.
func (s *Store) UpdateList(ctx context.Context, id, actor string, rule func(*core.List) error) (l core.List,
	err error,
) {
	var at core.Instant
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("list", id); err != nil {
			return err
		}
		if l, err = ReadList(tx, id); err != nil {
			return err
		}
		at = l.UpdatedAt
		was, slug, tag := l.Status, l.Slug, l.SignupTagID
		if err := rule(&l); err != nil {
			return err
		}
		if err := findSignupTag(tx, &l, tag); err != nil {
			return err
		}
		if l.Slug != slug {
			t, err := ReadTenant(tx, l.TenantID)
			if err == nil {
				err = ownSlug(tx, &l, &t)
			}
			if err != nil {
				return err
			}
		}
		if l.Status != was {
			tx.Kick(db.TopicJobs)
		}
		err := db.UpdateRow(tx, &listTable, &l, id)
		if err == nil {
			err = keepConsentText(tx, &l, l.UpdatedAt)
		}
		if err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		return tx.AuditUpdate(l.UpdatedAt, actor, "list.update", l.TenantID, id)
	})
	return l, db.AsItStood(err, &l.UpdatedAt, at)
}

// findSignupTag replaces the name of a list's tag for signups with its id. was is the tag's id before the change. If
// the tenant has no such tag, it returns an Invalid error.
func findSignupTag(tx *db.Tx, l *core.List, was string) error {
	if l.SignupTagID == "" || l.SignupTagID == was {
		return nil
	}
	t, err := TagNamed(tx, l.TenantID, l.SignupTagID)
	if errors.Is(err, core.ErrTagNotFound) {
		return core.Invalidf("signup_tag_id", "Tag %q not found. Create it first.", l.SignupTagID)
	}
	l.SignupTagID = t.ID
	return err
}

// keepConsentText stores the current consent text of the signup form. The consent ledger refers to the text by its
// version.
func keepConsentText(tx *db.Tx, l *core.List, now core.Instant) error {
	if l.ConsentText == "" {
		return nil
	}
	return AddConsentText(tx, l.ID, l.ConsentText, now)
}

// ConsentText returns the consent text with the given version (text_version in the ledger). If no such version exists,
// it returns core.ErrNotFound.
func (s *Store) ConsentText(ctx context.Context, listID, version string) (text string, err error) {
	err = s.Get(ctx, &text, "SELECT text FROM consent_text WHERE list_id = ? AND version = ?", listID, version)
	return text, err
}

// ListOf returns a list. If it doesn't belong to the tenant, ListOf returns an Invalid error on list_id.
func ListOf(tx *db.Tx, tenantID, listID string) (core.List, error) {
	l, err := ReadList(tx, listID)
	if errors.Is(err, core.ErrListNotFound) || err == nil && l.TenantID != tenantID {
		return l, core.Invalidf("list_id", "List not found in this tenant. Check list_id.")
	}
	return l, err
}

// AddConsentText stores a version of the text that subscribers of a list agree to.
func AddConsentText(tx *db.Tx, listID, text string, now core.Instant) error {
	_, err := tx.Exec("INSERT INTO consent_text (list_id, version, text, created_at) VALUES (?, ?, ?, ?) ON "+
		"CONFLICT DO NOTHING", listID, core.TextVersion(text), text, now)
	return err
}
