package devices

import (
	"context"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// modelTable describes the table model without the column no, which SQLite assigns.
var modelTable = db.TableOf[core.Model]("model", []string{"no"}, nil)

const (
	// ModelColumns lists the columns of the table model with the alias m.
	ModelColumns = `m.no, m.id, m.owner_id, m.file_no, m.name, m.description, m.visibility, m.size, m.sha256, m.content_type, m.created_at, m.updated_at`

	// heldShare is the SQL condition that the caller holds a share of model m. ?2 and ?3 are the caller's holder words,
	// which are empty if the caller has none.
	heldShare = `EXISTS (SELECT 1 FROM share s WHERE s.model_no = m.no AND s.holder IN (?2, ?3) AND s.holder <> '')`

	// visible is core.Model.CanView as an SQL condition, for reading many models: the caller owns the model (?1), holds
	// a share, or the model is public. Visibility within the tenant gives no one access. A test compares both forms of
	// the rule.
	visible = `((m.owner_id = ?1 AND ?1 <> '') OR m.visibility = 'public' OR ` + heldShare + `)`

	viewColumns = ModelColumns + `, u.name AS owner_name, ` + heldShare + ` AS shared`
)

// Model returns a model for a caller. If the caller may not view it or it doesn't exist, Model returns
// core.ErrNotFound.
func (s *Store) Model(ctx context.Context, who core.Caller, id string) (m core.ModelView, err error) {
	user, email, err := s.holders(ctx, who)
	if err != nil {
		return m, err
	}
	err = s.Get(ctx, &m, "SELECT "+viewColumns+" FROM model m JOIN user u ON u.id = m.owner_id WHERE m.id = ?4",
		who.UserID, user, email, id)
	if err == nil && !m.CanView(who, m.Shared) {
		return core.ModelView{}, core.ErrNotFound
	}
	return m, err
}

// OwnerOfModel returns the owner of a model, for the command line, which acts on behalf of every user. If no such
// model exists, it returns core.ErrNotFound.
func (s *Store) OwnerOfModel(ctx context.Context, id string) (ownerID string, err error) {
	err = s.Get(ctx, &ownerID, "SELECT owner_id FROM model WHERE id = ?", id)
	return ownerID, err
}

// Models returns an owner's models in creation order, starting after the number after. The only error is
// core.ErrStorage.
func (s *Store) Models(ctx context.Context, ownerID string, after int64, limit int) (ms []core.Model, err error) {
	err = s.All(ctx, &ms, "SELECT "+ModelColumns+" FROM model m WHERE m.owner_id = ? AND m.no > ? ORDER BY m.no "+
		"LIMIT +?", ownerID, after, limit)
	return ms, err
}

// SetVisibility changes who may see a model and returns the changed model. If the owner has no such model, it returns
// core.ErrNotFound.
func (s *Store) SetVisibility(ctx context.Context, id, ownerID string, v core.Visibility, actor string,
	now core.Instant,
) (m core.Model, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Get(&m, "SELECT "+ModelColumns+" FROM model m WHERE m.id = ? AND m.owner_id = ?", id,
			ownerID); err != nil {
			return err
		}
		if m.Visibility == v {
			return nil
		}
		if err := tx.Watch("model", id); err != nil {
			return err
		}
		m.Visibility, m.UpdatedAt = v, now
		if err := tx.One("UPDATE model SET visibility = ?, updated_at = ? WHERE id = ?", v, now, id); err != nil {
			return err
		}
		return tx.Audit(now, actor, "model.visibility."+string(v), "", id)
	})
	return m, err
}

// UpdateModel changes the name and description of a model with rule and returns the changed model. If the owner has
// no such model, it returns core.ErrNotFound. It also returns the errors of rule.
func (s *Store) UpdateModel(ctx context.Context, id, ownerID, actor string, rule func(*core.Model) error) (m core.Model,
	err error,
) {
	var at core.Instant
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("model", id); err != nil {
			return err
		}
		if err := tx.Get(&m, "SELECT "+ModelColumns+" FROM model m WHERE m.id = ? AND m.owner_id = ?", id,
			ownerID); err != nil {
			return err
		}
		at = m.UpdatedAt
		if err := rule(&m); err != nil {
			return err
		}
		if err := tx.One("UPDATE model SET name = ?, description = ?, updated_at = ? WHERE id = ?", m.Name,
			m.Description,
			m.UpdatedAt, id); err != nil {
			return err
		}
		return tx.AuditUpdate(m.UpdatedAt, actor, "model.update", "", id)
	})
	return m, db.AsItStood(err, &m.UpdatedAt, at)
}

// DeleteModel deletes a model. Housekeeping removes its file in steps, and running downloads are aborted. If the owner
// has no such model, DeleteModel returns core.ErrNotFound.
func (s *Store) DeleteModel(ctx context.Context, id, ownerID, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("model", id); err != nil {
			return err
		}
		if err := tx.One("DELETE FROM model WHERE id = ? AND owner_id = ?", id, ownerID); err != nil {
			return err
		}
		return tx.Audit(now, actor, "model.delete", "", id)
	})
}

// LibraryPage selects a part of the library: the newest Limit models with numbers below Before. If Before is 0, it
// starts with the newest.
type LibraryPage struct {
	Before int64
	Limit  int
	Own    bool   // only the caller's own models
	Access string // AccessShared: only models shared with the caller; AccessPublic: only public ones; empty: all
	Query  string // words of the name; the last one may be incomplete; empty: all
}

// Values of LibraryPage.Access.
const (
	AccessShared = "shared"
	AccessPublic = "public"
)

const newest = int64(1) << 62

// Library returns the models that a caller may view, newest first. New models have greater numbers, so paging never
// returns a model twice or skips one. If the share key can't be decrypted, Library returns ErrMasterKey.
func (s *Store) Library(ctx context.Context, who core.Caller, p LibraryPage) (ms []core.ModelView, err error) {
	user, email, err := s.holders(ctx, who)
	if err != nil || who.UserID == "" {
		return nil, err
	}
	if p.Before == 0 {
		p.Before = newest
	}
	switch {
	case strings.TrimSpace(p.Query) != "":
		words := searchWords(p.Query)
		if words == "" {
			return nil, nil // the query contains nothing that a name could contain
		}
		err = s.All(ctx, &ms, searchLibrary, who.UserID, user, email, p.Before, p.Limit,
			"name : ("+words+") AND audience : ("+p.audience(user, email)+")")
	case p.Own:
		err = s.All(ctx, &ms, ownLibrary, who.UserID, user, email, p.Before, p.Limit)
	case p.Access == AccessShared:
		err = s.All(ctx, &ms, sharedLibrary, who.UserID, user, email, p.Before, p.Limit)
	case p.Access == AccessPublic:
		err = s.All(ctx, &ms, publicLibrary, who.UserID, user, email, p.Before, p.Limit)
	default:
		err = s.All(ctx, &ms, wholeLibrary, who.UserID, user, email, p.Before, p.Limit)
	}
	return ms, err
}

// audience returns the words that the search index uses for the models of the page. user and email are the caller's
// holder words.
func (p *LibraryPage) audience(user, email string) string {
	own, shared := "o"+user[1:], user
	if email != "" {
		shared += " OR " + email
	}
	switch {
	case p.Own:
		return own
	case p.Access == AccessShared:
		return shared
	case p.Access == AccessPublic:
		return "p"
	}
	return own + " OR p OR " + shared
}

// The library merges the results of several indexes. Each result is in the order of the numbers and no longer than a
// page. The condition visible then filters the models.
const (
	libraryFrom = "SELECT " + viewColumns + " FROM candidate c CROSS JOIN model m ON m.no = c.no JOIN user u ON " +
		"u.id = m.owner_id WHERE " + visible

	wholeLibrary = `WITH candidate (no) AS (
		SELECT no FROM (SELECT no FROM model WHERE visibility = 'public' AND no < ?4 ORDER BY no DESC LIMIT +?5)
		UNION SELECT no FROM (SELECT no FROM model WHERE owner_id = ?1 AND no < ?4 ORDER BY no DESC LIMIT +?5)
		UNION SELECT model_no FROM (SELECT model_no FROM share WHERE holder = ?2 AND ?2 <> '' AND model_no < ?4 ORDER
		BY model_no DESC LIMIT +?5)
		UNION SELECT model_no FROM (SELECT model_no FROM share WHERE holder = ?3 AND ?3 <> '' AND model_no < ?4 ORDER
		BY model_no DESC LIMIT +?5))
		` + libraryFrom + ` ORDER BY c.no DESC LIMIT +?5`

	ownLibrary = `WITH candidate (no) AS (SELECT no FROM model WHERE owner_id = ?1 AND no < ?4 ORDER BY no DESC LIMIT
		+?5)
		` + libraryFrom + ` ORDER BY c.no DESC LIMIT +?5`

	sharedLibrary = `WITH candidate (no) AS (
		SELECT model_no FROM (SELECT model_no FROM share WHERE holder = ?2 AND ?2 <> '' AND model_no < ?4 ORDER
		BY model_no DESC LIMIT +?5)
		UNION SELECT model_no FROM (SELECT model_no FROM share WHERE holder = ?3 AND ?3 <> '' AND model_no < ?4 ORDER
		BY model_no DESC LIMIT +?5))
		` + libraryFrom + ` ORDER BY c.no DESC LIMIT +?5`

	publicLibrary = `WITH candidate (no) AS (SELECT no FROM model WHERE visibility = 'public' AND no < ?4 ORDER BY no DESC
		LIMIT +?5)
		` + libraryFrom + ` ORDER BY c.no DESC LIMIT +?5`

	searchLibrary = `WITH candidate (no) AS MATERIALIZED (
		SELECT rowid FROM model_search WHERE model_search MATCH ?6 AND rowid < ?4 ORDER BY rowid DESC LIMIT +?5)
		` + libraryFrom + ` ORDER BY c.no DESC LIMIT +?5`
)

// searchWords returns a query as an FTS5 expression for all its words, the last one as a prefix. The words are
// quoted, so their characters have no special meaning. Words without a letter or digit are omitted, because FTS5
// would find nothing for them.
func searchWords(q string) string {
	var words []string
	for _, w := range core.SearchWords(q) {
		words = append(words, `"`+w+`"`)
	}
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, " AND ") + "*"
}
