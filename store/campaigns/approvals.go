package campaigns

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/files"
	"newsletterd/store/tenants"
)

// design is a template or theme used to compile a campaign.
type design struct {
	ID string `db:"id"         json:"id"`
	// newest audit entry when a person who had not changed the design last approved it
	AuditSeen int64 `db:"audit_seen" json:"seen"`
}

// layoutsOf selects a campaign's template and the template's layout.
const layoutsOf = `SELECT id, audit_seen FROM template WHERE tenant_id = ?1 AND name = ?2
	UNION SELECT o.id, o.audit_seen FROM template AS t JOIN template AS o ON o.tenant_id = t.tenant_id AND
	o.name = t.layout WHERE t.tenant_id = ?1 AND t.name = ?2`

func layouts(q db.Querier, tenantID string, f *core.CampaignFields) (all []design, err error) {
	if f.Content.Layout != "" {
		err = q.All(&all, layoutsOf, tenantID, f.Content.Layout)
	}
	return all, err
}

// designs returns a campaign's templates and theme, except built-in ones, which have no record.
func designs(q db.Querier, tenantID string, f *core.CampaignFields) (all []design, err error) {
	all, err = layouts(q, tenantID, f)
	if err != nil || core.IsBuiltInTheme(f.Theme) {
		return all, err
	}
	var theme []design
	err = q.All(&theme, "SELECT id, audit_seen FROM theme WHERE id = ?", f.Theme)
	return append(all, theme...), err
}

// ofWhich ends a query for the actors of audit entries and the API clients that they acted through.
const ofWhich = ") SELECT actor FROM made UNION SELECT 'client:' || client_id FROM made WHERE client_id <> ''"

const (
	// designersOf selects the actors who changed templates, themes, attachment names or segment rules since another
	// person last approved the record. Renaming a theme or segment doesn't count, because it changes no email.
	designersOf = `WITH made AS MATERIALIZED (SELECT actor, client_id FROM json_each(?1) CROSS JOIN audit
		INDEXED BY audit_object ON object = value ->> 'id' AND audit.id > value ->> 'seen' WHERE action LIKE 'template.%' OR
		action = 'theme.create' OR action = 'theme.update' AND EXISTS (SELECT 1 FROM json_each(detail) WHERE key <> 'name')
		OR action = 'media.update' AND EXISTS (SELECT 1 FROM json_each(detail) WHERE key = 'name')
		OR action = 'segment.update' AND EXISTS (SELECT 1 FROM json_each(detail) WHERE key = 'rule')` + ofWhich

	// removersOf selects the actors who deleted or renamed a template with a given name after a given audit entry.
	removersOf = `WITH made AS MATERIALIZED (SELECT actor, client_id FROM audit INDEXED BY audit_tenant WHERE tenant_id = ?1
		AND id > ?2 AND action IN ('template.delete', 'template.update') AND json_extract(detail, '$.name.before') = ?3` + ofWhich
)

// designers returns the actors who changed the layout or theme of a campaign, as the audit log names them. If the
// tenant doesn't require a second person, it returns no one. A change counts until another person approves a campaign
// that uses it. It also returns the actors who renamed an attachment or changed a segment's rule since the campaign was
// created or last approved.
func designers(q db.Querier, c *core.Campaign) (all []string, err error) {
	var asks bool
	err = q.Get(&asks, "SELECT approval = '"+core.ApprovalSecondPerson+"' FROM tenant WHERE id = ?", c.TenantID)
	if errors.Is(err, core.ErrNotFound) || err == nil && !asks {
		return nil, nil
	}
	var f core.CampaignFields
	if err == nil {
		_, f, err = campaignFields(q, c, c.Version)
	}
	var in []design
	if err == nil {
		in, err = designs(q, c.TenantID, &f)
	}
	var segments []string
	if err == nil {
		segments, err = segmentIDs(q, c.TenantID, &f.Narrowing)
	}
	for _, id := range slices.Concat(f.Attachments, segments) {
		in = append(in, design{ID: id, AuditSeen: c.AuditSeen})
	}
	if err == nil {
		err = changersOf(q, in, &all)
	}
	// If the tenant's default template was deleted, the built-in one applies. It has no record to check.
	if err == nil && f.Content.Layout == core.DefaultTemplate {
		var gone []string
		err = q.All(&gone, removersOf, c.TenantID, c.AuditSeen, core.DefaultTemplate)
		all = append(all, gone...)
	}
	if err != nil {
		return nil, err
	}
	keepers, err := tenants.KeepersOf(q, slices.Concat(c.Writers, all))
	return append(all, keepers...), err
}

func changersOf(q db.Querier, in []design, all *[]string) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return q.All(all, designersOf, string(text))
}

// vouchForDesigns records that the given users have approved a campaign's templates and theme as of an audit entry.
// People who made changes before that entry no longer count as writers.
func vouchForDesigns(tx *db.Tx, tenantID string, f *core.CampaignFields, by []string, entry int64) error {
	in, err := designs(tx, tenantID, f)
	if err != nil || core.ActorUser(by[0]) == "" {
		return err
	}
	for _, d := range in {
		var own []string
		if err := changersOf(tx, []design{d}, &own); err != nil {
			return err
		}
		keepers, err := tenants.KeepersOf(tx, own)
		if err != nil {
			return err
		}
		own = append(own, keepers...)
		if slices.ContainsFunc(by, func(who string) bool { return slices.Contains(own, who) }) {
			continue
		}
		for _, table := range []string{"template", "theme"} {
			if _, err := tx.Exec("UPDATE "+table+" SET audit_seen = ? WHERE id = ?", entry, d.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// withDesigners sets the Designers of a campaign that is not frozen.
func withDesigners(q db.Querier, c *core.Campaign) (err error) {
	if !c.Written() {
		return nil
	}
	c.Designers, err = designers(q, c)
	if errors.Is(err, core.ErrNotFound) { // without the record, there is nothing to approve
		return nil
	}
	return err
}

// ownPictures matches the hash digits in the addresses of images that this server stores.
var ownPictures = regexp.MustCompile(core.MediaPath + `([0-9a-f]{32})/`)

// pictureIsThere is a query that reports whether an image exists. It finds the same images as Store.MediaFile.
const pictureIsThere = `SELECT EXISTS (SELECT 1 FROM media_file AS f WHERE f.sha256 >= ?1 AND f.sha256 < ?1 || 'g'
	AND f.state = ` + files.SQLFileWhole + ` AND (EXISTS (SELECT 1 FROM media WHERE mail_no = f.no)
	OR EXISTS (SELECT 1 FROM media WHERE full_no = f.no)))`

// cover sets the parts of c that an approval covers in addition to the compiled and frozen content: files and rules. An
// image's address contains digits of its hash, so the image can be deleted but never change.
func cover(q db.Querier, c *core.Covered) (err error) {
	c.Attachments, c.Pictures = []core.CoveredFile{}, []string{}
	if c.Rule, err = ruleText(q, c.Copy.TenantID, &c.Fields.Narrowing); err != nil {
		return err
	}
	for _, id := range c.Fields.Attachments {
		var f attachedFile
		err := q.Get(&f, attachedFiles+`m.name FROM media AS m JOIN media_file AS f ON f.no = m.full_no WHERE m.id = ?
			AND m.tenant_id = ?`, id, c.Copy.TenantID)
		if errors.Is(err, core.ErrNotFound) {
			continue // the draft can't be approved anyway
		}
		if err != nil {
			return err
		}
		c.Attachments = append(c.Attachments, core.CoveredFile{
			Name: core.AttachmentName(f.Name, f.Type), SHA256: f.SHA256,
		})
	}
	f := c.Frozen
	for _, body := range []string{
		c.Copy.BodyHTML, c.Copy.BodyText, f.TemplateHTML, f.TemplateText, f.LayoutHTML, f.LayoutText,
	} {
		for _, found := range ownPictures.FindAllStringSubmatch(body, -1) {
			if slices.Contains(c.Pictures, found[1]) {
				continue
			}
			var there bool
			if err := q.Get(&there, pictureIsThere, found[1]); err != nil {
				return err
			}
			if there {
				c.Pictures = append(c.Pictures, found[1])
			}
		}
	}
	return nil
}

// ContentChanges returns the last change to each of the given parts of a campaign's content, with the names of the
// person and the changed record. Its only error is core.ErrStorage.
func (s *Store) ContentChanges(ctx context.Context, c *core.Campaign, f *core.CampaignFields, parts []string) (
	changes []core.ContentChange, err error,
) {
	for _, part := range parts {
		filters := []core.AuditFilter{}
		switch part {
		case core.ChangedTheme:
			filters = append(filters, core.AuditFilter{Object: f.Theme, Action: "theme"})
		case core.ChangedLayout:
			records, err := layouts(s.Reads(ctx), c.TenantID, f)
			if err != nil {
				return nil, err
			}
			for _, r := range records {
				filters = append(filters, core.AuditFilter{Object: r.ID, Action: "template"})
			}
		case core.ChangedLists:
			for _, id := range f.ListIDs {
				filters = append(filters, core.AuditFilter{Object: id, Action: "list"})
			}
		case core.ChangedSegment:
			ids, err := segmentIDs(s.Reads(ctx), c.TenantID, &f.Narrowing)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				filters = append(filters, core.AuditFilter{Object: id, Action: "segment"})
			}
		case core.ChangedSettings, core.ChangedPlan:
			filters = append(filters, core.AuditFilter{Object: c.TenantID, Action: "tenant"})
		case core.ChangedMedia: // images can't change; they are only added and deleted
			for _, id := range f.Attachments {
				filters = append(filters, core.AuditFilter{Object: id, Action: "media"})
			}
			filters = append(filters, core.AuditFilter{TenantID: c.TenantID, Action: "media.delete"})
		}
		last, err := s.lastAudited(ctx, filters)
		if err != nil {
			return nil, err
		}
		changes = append(changes, core.ContentChange{
			What: part, ID: last.Object, Name: last.ObjectName, By: last.Actor, ByName: last.ActorName, At: last.At,
		})
	}
	return changes, nil
}

// lastAudited returns the newest audit entry that matches any of the filters, with the names of its records. If no
// entry matches, it returns the zero entry.
func (s *Store) lastAudited(ctx context.Context, filters []core.AuditFilter) (last core.AuditEntry, err error) {
	for _, f := range filters {
		found, _, err := s.Audit(ctx, f, core.Page{Limit: 1})
		if err != nil {
			return last, err
		}
		if len(found) > 0 && found[0].At >= last.At {
			last = found[0]
		}
	}
	if last.Action == "" {
		return last, nil
	}
	one := []core.AuditEntry{last}
	err = s.NameAudited(ctx, one)
	return one[0], err
}
