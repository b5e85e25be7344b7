package audience

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// AddTag adds a tag. If the tenant doesn't exist, it returns core.ErrNotFound. If the tenant has a tag with that name,
// or the maximum number of tags, it returns a Conflict.
func (s *Store) AddTag(ctx context.Context, t core.Tag, actor string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("tag", t.ID); err != nil {
			return err
		}
		if _, err := tenants.ReadTenant(tx, t.TenantID); err != nil {
			return err
		}
		if err := tenants.AddTag(tx, &t); err != nil {
			return err
		}
		return tx.Audit(t.CreatedAt, actor, "tag.create", t.TenantID, t.ID)
	})
}

// RenameTag renames a tag everywhere, including segment rules. If there is no such tag, it returns core.ErrTagNotFound.
// If the tenant has another tag with that name, it returns a Conflict.
func (s *Store) RenameTag(ctx context.Context, id, name, actor string, now core.Instant) (t core.Tag, err error) {
	err = s.ChangeRecord(ctx, "tag", id, "tag.update", actor, now, func(tx *db.Tx) error {
		if t, err = tenants.ReadTag(tx, id); err != nil {
			return err
		}
		was := t
		if err := t.Rename(name, now); err != nil || t.Name == was.Name {
			return err
		}
		if err := renameInRules(tx, &was, t.Name); err != nil {
			return err
		}
		return db.UpdateRow(tx, &tenants.TagTable, &t, id)
	})
	return t, db.OrNotFound(err, core.ErrTagNotFound)
}

// DeleteTag removes a tag from everyone. If there is no such tag, it returns core.ErrTagNotFound. If a segment uses the
// tag, it returns core.ErrTagUsed. If a list gives the tag to new subscribers, it returns core.ErrTagOfList.
func (s *Store) DeleteTag(ctx context.Context, id, actor string, now core.Instant) error {
	err := s.ChangeRecord(ctx, "tag", id, "tag.delete", actor, now, func(tx *db.Tx) error {
		t, err := tenants.ReadTag(tx, id)
		if err != nil {
			return err
		}
		using, err := campaigns.SegmentsWith(tx, &t)
		if err != nil {
			return err
		}
		if len(using) > 0 {
			return core.ErrTagUsed(using)
		}
		list, err := tenants.ListWithTag(tx, &t)
		if err != nil {
			return err
		}
		if list != "" {
			return core.ErrTagOfList(list)
		}
		return tenants.DeleteTag(tx, id)
	})
	return db.OrNotFound(err, core.ErrTagNotFound)
}

// renameInRules replaces the name of a tag in the rules that use it.
func renameInRules(tx *db.Tx, t *core.Tag, name string) error {
	using, err := campaigns.SegmentsWith(tx, t)
	for i := 0; i < len(using) && err == nil; i++ {
		g := &using[i]
		var rule *core.Rule
		if rule, err = g.ParsedRule(); err != nil {
			return err
		}
		rule.Leaves("", func(_ string, leaf *core.Rule) {
			if t.Named(leaf.Tag) {
				leaf.Tag = name
			}
		})
		text := rule.JSON()
		if len(text) > core.MaxRuleBytes {
			return core.Invalidf("name", "name: with this name, the rule of the segment %q would be too long. Choose "+
				"a shorter name.",
				g.Name)
		}
		g.Rule, g.Revision = core.RuleText(text), g.Revision+1
		err = db.UpdateRow(tx, &campaigns.SegmentTable, g, g.ID)
	}
	return err
}
