package tenants

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

var themeTable = db.TableOf[core.Theme]("theme", nil, []string{"tenant_id", "base", "created_at"})

var (
	selectThemes = "SELECT " + themeTable.Columns + " FROM theme WHERE "
	selectTheme  = selectThemes + "id = ?"
	themeNamed   = selectThemes + "tenant_id = ? AND (id = ?2 OR name = ?2)"
	themeList    = ListByTenant(themeTable.Columns, "theme", "theme_tenant", "true", false)
)

// Themes returns a page of the tenants' own themes, sorted by id. It covers the given tenants or, if all is set, every
// tenant. The only error is core.ErrStorage.
func (s *Store) Themes(ctx context.Context, tenants []string, all bool, page core.Page) (ts []core.Theme, err error) {
	err = s.AllOf(ctx, &ts, &themeList, tenants, all, page.After, page.Limit)
	return ts, err
}

// Theme returns a theme. If it doesn't exist, Theme returns core.ErrNotFound.
func (s *Store) Theme(ctx context.Context, id string) (t core.Theme, err error) {
	err = s.Get(ctx, &t, selectTheme, id)
	return t, err
}

// ThemeNamed returns a theme of a tenant by its id or name. For a built-in theme, it returns nil. If no such theme
// exists, it returns core.NoTheme.
func (s *Store) ThemeNamed(ctx context.Context, tenantID, name string) (*core.Theme, error) {
	if core.IsBuiltInTheme(name) {
		return nil, nil
	}
	var t core.Theme
	err := s.Get(ctx, &t, themeNamed, tenantID, name)
	return &t, noTheme(err, name)
}

func noTheme(err error, name string) error {
	if errors.Is(err, core.ErrNotFound) {
		return core.NoTheme(name)
	}
	return err
}

// SettleTheme replaces, in f, the name of a tenant's own theme with its id, so that renaming the theme changes no
// campaign.
func SettleTheme(tx *db.Tx, tenantID string, f *core.CampaignFields) error {
	if core.IsBuiltInTheme(f.Theme) {
		return nil
	}
	var t core.Theme
	err := tx.Get(&t, themeNamed, tenantID, f.Theme)
	if err == nil {
		f.Theme = t.ID
	}
	return noTheme(err, f.Theme)
}

// AddTheme adds a theme. If the tenant doesn't exist, it returns core.ErrNotFound. If the tenant has a theme with
// that name, or the maximum number of themes, it returns a Conflict.
func (s *Store) AddTheme(ctx context.Context, t core.Theme, actor string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("theme", t.ID); err != nil {
			return err
		}
		if _, err := ReadTenant(tx, t.TenantID); err != nil {
			return err
		}
		n, err := tx.Number("SELECT count(*) FROM theme WHERE tenant_id = ?", t.TenantID)
		if err != nil {
			return err
		}
		if n >= core.MaxThemes {
			return core.Conflictf("conflict",
				"A tenant can have at most %d themes. Delete one first.", core.MaxThemes)
		}
		if _, err := db.InsertRow(tx, &themeTable, &t); err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		return tx.Audit(t.CreatedAt, actor, "theme.create", t.TenantID, t.ID)
	})
}

// UpdateTheme changes a theme with rule and returns the changed theme. Campaigns that were approved or sent keep
// their design. If no such theme exists, it returns core.ErrNotFound. If the name is taken, it returns
// core.ErrConflict. It also returns the errors of rule.
func (s *Store) UpdateTheme(ctx context.Context, id, actor string, now core.Instant, rule func(*core.Theme) error) (
	t core.Theme, err error,
) {
	var at core.Instant
	err = s.TouchRecord(ctx, "theme", id, "theme.update", actor, now, func(tx *db.Tx) error {
		if err := tx.Get(&t, selectTheme, id); err != nil {
			return err
		}
		at = t.UpdatedAt
		if err := rule(&t); err != nil {
			return err
		}
		return db.UpdateRow(tx, &themeTable, &t, id)
	})
	return t, db.AsItStood(err, &t.UpdatedAt, at)
}

// DeleteTheme removes a theme. Campaigns that were approved or sent keep their design. If the theme doesn't exist, it
// returns core.ErrNotFound. If a draft or a campaign in review uses it, it returns core.ErrThemeInUse.
func (s *Store) DeleteTheme(ctx context.Context, id, actor string, now core.Instant) error {
	return s.ChangeRecord(ctx, "theme", id, "theme.delete", actor, now, func(tx *db.Tx) error {
		n, err := tx.Number(`SELECT EXISTS (SELECT 1 FROM theme AS t JOIN campaign AS c ON c.tenant_id = t.tenant_id
			AND c.state IN ('draft', 'in_review') JOIN campaign_version AS v ON v.campaign_no = c.no AND
			v.version = c.version WHERE t.id = ? AND v.fields <> '' AND json_extract(v.fields, '$.theme') = t.id)`, id)
		if err != nil {
			return err
		}
		if n > 0 {
			return core.ErrThemeInUse
		}
		return tx.One("DELETE FROM theme WHERE id = ?", id)
	})
}
