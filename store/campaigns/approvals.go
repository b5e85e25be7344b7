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

// design is a template or a theme that a campaign is compiled in.
type design struct {
	ID        string `db:"id"         json:"id"`
	AuditSeen int64  `db:"audit_seen" json:"seen"` // newest entry of the trail when someone who had not changed it approved it
}

// layoutsOf are the template that a campaign names, and the layout around that.
const layoutsOf = `SELECT id, audit_seen FROM template WHERE tenant_id = ?1 AND name = ?2
	UNION SELECT o.id, o.audit_seen FROM template AS t JOIN template AS o ON o.tenant_id = t.tenant_id AND
	o.name = t.layout WHERE t.tenant_id = ?1 AND t.name = ?2`

func layouts(q db.Querier, tenantID string, f *core.CampaignFields) (all []design, err error) {
	if f.Content.Layout != "" {
		err = q.All(&all, layoutsOf, tenantID, f.Content.Layout)
	}
	return all, err
}

// designs are the templates and the theme of a campaign. Built-in ones have no record.
func designs(q db.Querier, tenantID string, f *core.CampaignFields) (all []design, err error) {
	all, err = layouts(q, tenantID, f)
	if err != nil || core.IsBuiltInTheme(f.Theme) {
		return all, err
	}
	var theme []design
	err = q.All(&theme, "SELECT id, audit_seen FROM theme WHERE id = ?", f.Theme)
	return append(all, theme...), err
}

// The actors of entries of the audit trail, and the clients through which they acted.
const ofWhich = ") SELECT actor FROM made UNION SELECT 'client:' || client_id FROM made WHERE client_id <> ''"

const (
	// designersOf are those who have changed templates and themes since someone else has approved each, or the names of
	// attachments. Another name of a theme changes no mail.
	designersOf = `WITH made AS MATERIALIZED (SELECT actor, client_id FROM json_each(?1) CROSS JOIN audit
		INDEXED BY audit_object ON object = value ->> 'id' AND audit.id > value ->> 'seen' WHERE action LIKE 'template.%' OR
		action = 'theme.create' OR action = 'theme.update' AND EXISTS (SELECT 1 FROM json_each(detail) WHERE key <> 'name')
		OR action = 'media.update' AND EXISTS (SELECT 1 FROM json_each(detail) WHERE key = 'name')` + ofWhich

	// removersOf are those who have taken a template of a name away since an entry.
	removersOf = `WITH made AS MATERIALIZED (SELECT actor, client_id FROM audit INDEXED BY audit_tenant WHERE tenant_id = ?1
		AND id > ?2 AND action IN ('template.delete', 'template.update') AND json_extract(detail, '$.name.before') = ?3` + ofWhich
)

// designers reads who has changed the layout or the theme of a campaign, as the audit trail names them, where the
// tenant asks for a second person. A change counts until someone else has approved a campaign with it. So does another
// name of an attachment that was given since the campaign was begun or approved last.
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
	for _, id := range f.Attachments {
		in = append(in, design{ID: id, AuditSeen: c.AuditSeen})
	}
	if err == nil {
		err = changersOf(q, in, &all)
	}
	// The built-in default stands in for a template of this name that is gone: then no record is left to look at.
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

// vouchForDesigns notes that a user has approved what a campaign is compiled in, up to an entry of the trail: what
// others have changed until then no longer makes them writers.
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

// withDesigners fills in who has designed a campaign that is not frozen.
func withDesigners(q db.Querier, c *core.Campaign) (err error) {
	if !c.Written() {
		return nil
	}
	c.Designers, err = designers(q, c)
	if errors.Is(err, core.ErrNotFound) { // nothing that could be approved
		return nil
	}
	return err
}

// ownPictures finds the digits of pictures of ours in the addresses of a body.
var ownPictures = regexp.MustCompile(core.MediaPath + `([0-9a-f]{32})/`)

// pictureIsThere is Store.MediaFile without the file.
const pictureIsThere = `SELECT EXISTS (SELECT 1 FROM media_file AS f WHERE f.sha256 >= ?1 AND f.sha256 < ?1 || 'g'
	AND f.state = ` + files.SQLFileWhole + ` AND (EXISTS (SELECT 1 FROM media WHERE mail_no = f.no)
	OR EXISTS (SELECT 1 FROM media WHERE full_no = f.no)))`

// cover reads what an approval covers besides what is compiled and frozen: the files of mails. An address of a picture
// has the digits of its hash in it, so what it shows never changes; but it can be deleted.
func cover(q db.Querier, c *core.Covered) error {
	c.Attachments, c.Pictures = []core.CoveredFile{}, []string{}
	for _, id := range c.Fields.Attachments {
		var f attachedFile
		err := q.Get(&f, attachedFiles+`m.name FROM media AS m JOIN media_file AS f ON f.no = m.full_no WHERE m.id = ?
			AND m.tenant_id = ?`, id, c.Copy.TenantID)
		if errors.Is(err, core.ErrNotFound) {
			continue // it can't be approved
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

// ContentChanges reads who has changed parts of what an approval of a campaign covers last, with the names of people
// and records. Its only error is core.ErrStorage.
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
		case core.ChangedSettings, core.ChangedPlan:
			filters = append(filters, core.AuditFilter{Object: c.TenantID, Action: "tenant"})
		case core.ChangedMedia: // pictures only come and go
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

// lastAudited reads the newest entry of the audit trail that one of some filters lets through, with its names; the zero
// entry where there is none.
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
