package tenants

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

const templateColumns = "tenant_id, name, id, layout, body_html, body_text, created_at, updated_at"

// Template returns a named template of a tenant. Until the tenant has its own default template, the default name
// returns the built-in one. If the tenant has no template with another name, Template returns core.ErrNotFound.
func (s *Store) Template(ctx context.Context, tenantID, name string) (t core.Template, err error) {
	err = s.Get(ctx, &t, "SELECT "+templateColumns+" FROM template WHERE tenant_id = ? AND name = ?", tenantID, name)
	if errors.Is(err, core.ErrNotFound) && name == core.DefaultTemplate {
		return core.BuiltInTemplate(tenantID), nil
	}
	return t, err
}

// ReadTemplate is like Template, inside an operation.
func ReadTemplate(tx *db.Tx, tenantID, name string) (t core.Template, err error) {
	err = tx.Get(&t, "SELECT "+templateColumns+" FROM template WHERE tenant_id = ? AND name = ?", tenantID, name)
	if errors.Is(err, core.ErrNotFound) && name == core.DefaultTemplate {
		return core.BuiltInTemplate(tenantID), nil
	}
	return t, err
}

// TemplateByID returns a template by its id. If no such template exists, it returns core.ErrNotFound.
func (s *Store) TemplateByID(ctx context.Context, id string) (t core.Template, err error) {
	err = s.Get(ctx, &t, "SELECT "+templateColumns+" FROM template WHERE id = ?", id)
	return t, err
}

// TemplateExists reports whether a tenant has a template with the given name. An empty name means no template, so it
// always exists.
func TemplateExists(tx *db.Tx, tenantID, name string) (bool, error) {
	if name == "" || name == core.DefaultTemplate {
		return true, nil
	}
	var n int
	err := tx.Get(&n, "SELECT count(*) FROM template WHERE tenant_id = ? AND name = ?", tenantID, name)
	return n > 0, err
}

// Templates returns a page of a tenant's templates, sorted by name. The only error is core.ErrStorage.
func (s *Store) Templates(ctx context.Context, tenantID string, page core.Page) (ts []core.Template, err error) {
	err = s.All(ctx, &ts,
		"SELECT "+templateColumns+" FROM template WHERE tenant_id = ? AND name > ? ORDER BY name LIMIT +?",
		tenantID, page.After, page.Limit)
	return ts, err
}

// TemplateHeads is like Templates, but leaves out the bodies, which can be long. The only error is core.ErrStorage.
func (s *Store) TemplateHeads(ctx context.Context, tenantID string, page core.Page) (ts []core.Template, err error) {
	err = s.All(ctx, &ts, `SELECT tenant_id, name, id, layout, '' AS body_html, '' AS body_text, created_at, updated_at
		FROM template WHERE tenant_id = ? AND name > ? ORDER BY name LIMIT +?`, tenantID, page.After, page.Limit)
	return ts, err
}

// AddTemplate adds a template. If the tenant has a template with that name, it returns core.ErrConflict. If the
// tenant doesn't exist, it returns core.ErrNotFound.
func (s *Store) AddTemplate(ctx context.Context, t core.Template, actor string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("template", t.ID); err != nil {
			return err
		}
		if _, err := ReadTenant(tx, t.TenantID); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO template ("+templateColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			t.TenantID, t.Name, t.ID, t.Layout, t.BodyHTML, t.BodyText, int64(t.CreatedAt), int64(t.UpdatedAt))
		if err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		return tx.Audit(t.CreatedAt, actor, "template.create", t.TenantID, t.ID)
	})
}

// UpdateTemplate changes a template with rule and returns the changed template. Earlier jobs keep their frozen
// contents. If no such template exists, it returns core.ErrNotFound. If the name is taken, it returns
// core.ErrConflict. It also returns the errors of rule.
func (s *Store) UpdateTemplate(ctx context.Context, id, actor string, rule func(*core.Template) error) (t core.Template,
	err error,
) {
	var at core.Instant
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("template", id); err != nil {
			return err
		}
		if err := tx.Get(&t, "SELECT "+templateColumns+" FROM template WHERE id = ?", id); err != nil {
			return err
		}
		at = t.UpdatedAt
		if err := rule(&t); err != nil {
			return err
		}
		err := tx.One("UPDATE template SET name = ?, layout = ?, body_html = ?, body_text = ?, updated_at = ? WHERE "+
			"id = ?",
			t.Name, t.Layout, t.BodyHTML, t.BodyText, int64(t.UpdatedAt), id)
		if err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		return tx.AuditUpdate(t.UpdatedAt, actor, "template.update", t.TenantID, id)
	})
	return t, db.AsItStood(err, &t.UpdatedAt, at)
}

// templateUses holds the queries for the records that use template ?1, at most ?2 of each kind. Uses of the default
// template's name don't count, because that name always has a template.
var templateUses = []string{
	`SELECT 'template' AS kind, o.id, o.name, '' AS campaign_id FROM template t JOIN template o ON o.tenant_id = t.tenant_id AND
		o.layout = t.name WHERE t.id = ?1 AND t.name <> '` + core.DefaultTemplate + `' ORDER BY o.name LIMIT +?2`,
	`SELECT 'campaign' AS kind, c.id, iif(c.name = '', c.subject, c.name) AS name, '' AS campaign_id FROM template t JOIN
		campaign c ON c.tenant_id = t.tenant_id AND c.state IN ('draft', 'in_review') JOIN campaign_version v ON
		v.campaign_no = c.no AND v.version = c.version WHERE t.id = ?1 AND t.name <> '` + core.DefaultTemplate + `' AND
		v.fields <> '' AND json_extract(v.fields, '$.content.layout') = t.name LIMIT +?2`,
	`SELECT 'job' AS kind, j.id, iif(c.name = '', c.subject, c.name) AS name, j.campaign_id FROM template t
		CROSS JOIN send_job j INDEXED BY send_job_tenant ON
		j.status = 'pending' AND j.tenant_id = t.tenant_id JOIN frozen_content z ON z.copy_id = j.copy_id AND z.resolved = 0
		AND z.template = t.name JOIN campaign_copy c ON c.id = j.copy_id WHERE t.id = ?1 AND
		t.name <> '` + core.DefaultTemplate + `' LIMIT +?2`,
}

// TemplateUses returns the records that use a template, up to limit of each kind. The only error is core.ErrStorage.
func (s *Store) TemplateUses(ctx context.Context, id string, limit int) (uses []core.TemplateUse, err error) {
	for _, query := range templateUses {
		var found []core.TemplateUse
		if err := s.All(ctx, &found, query, id, limit); err != nil {
			return nil, err
		}
		uses = append(uses, found...)
	}
	return uses, nil
}

// DeleteTemplate removes a template. Earlier jobs keep their frozen contents. If no such template exists, it returns
// core.ErrNotFound. If something uses the template and force is false, it returns core.ErrTemplateUsed.
func (s *Store) DeleteTemplate(ctx context.Context, id string, force bool, actor string, now core.Instant) error {
	return s.ChangeRecord(ctx, "template", id, "template.delete", actor, now, func(tx *db.Tx) error {
		for _, query := range templateUses {
			var found []core.TemplateUse
			if force {
				break
			}
			if err := tx.All(&found, query, id, 2); err != nil {
				return err
			}
			if len(found) > 0 {
				return core.ErrTemplateUsed(found)
			}
		}
		return tx.One("DELETE FROM template WHERE id = ?", id)
	})
}
