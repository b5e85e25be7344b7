package audience

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

var selectSegment = "SELECT " + campaigns.SegmentTable.Columns + " FROM segment WHERE id = ?"

// Segments returns a page of a tenant's segments, sorted by id. The only error is core.ErrStorage.
func (s *Store) Segments(ctx context.Context, tenantID string, page core.Page) (all []core.Segment, err error) {
	err = s.All(ctx, &all, campaigns.SegmentsOfTenant, tenantID, page.After, page.Limit)
	return all, err
}

// Segment returns a segment. If it doesn't exist, Segment returns core.ErrSegmentNotFound.
func (s *Store) Segment(ctx context.Context, id string) (g core.Segment, err error) {
	err = s.Get(ctx, &g, selectSegment, id)
	return g, db.OrNotFound(err, core.ErrSegmentNotFound)
}

// AddSegment adds a segment. If the tenant doesn't exist, it returns core.ErrNotFound. If the tenant has a segment with
// that name, or the maximum number of segments, it returns a Conflict. It returns an Invalid error with the JSON path
// of the condition if the rule refers to a missing record or nests segments too deeply.
func (s *Store) AddSegment(ctx context.Context, g core.Segment) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("segment", g.ID); err != nil {
			return err
		}
		if _, err := tenants.ReadTenant(tx, g.TenantID); err != nil {
			return err
		}
		n, err := tx.Number("SELECT count(*) FROM segment INDEXED BY segment_name WHERE tenant_id = ?", g.TenantID)
		if err != nil {
			return err
		}
		if n >= core.MaxSegments {
			return core.Conflictf("conflict", "A tenant can have at most %d segments. Delete one first.",
				core.MaxSegments)
		}
		if err := errors.Join(maySave(tx, &g), nameIsFree(tx, &g)); err != nil {
			return err
		}
		if _, err := db.InsertRow(tx, &campaigns.SegmentTable, &g); err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		return tx.Audit(g.CreatedAt, g.CreatedBy, "segment.create", g.TenantID, g.ID)
	})
}

// ChangeSegment changes a segment with rule and returns the changed segment. A change that keeps the name and the rule
// is not stored. Jobs keep the rule that they were created with. If there is no such segment, it returns
// core.ErrSegmentNotFound. It can also return the other errors of AddSegment and the errors of rule.
func (s *Store) ChangeSegment(ctx context.Context, id, actor string, rule func(*core.Segment) error) (g core.Segment,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("segment", id); err != nil {
			return err
		}
		if err := tx.Get(&g, selectSegment, id); err != nil {
			return db.OrNotFound(err, core.ErrSegmentNotFound)
		}
		was := g
		if err := rule(&g); err != nil {
			return err
		}
		if g.Name == was.Name && g.Rule == was.Rule {
			g = was
			return nil
		}
		if err := nameIsFree(tx, &g); err != nil {
			return err
		}
		if g.Rule != was.Rule {
			if err := maySave(tx, &g); err != nil {
				return err
			}
			if err := mayStay(tx, &g); err != nil {
				return err
			}
		}
		if err := db.UpdateRow(tx, &campaigns.SegmentTable, &g, id); err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		return tx.AuditUpdate(g.UpdatedAt, actor, "segment.update", g.TenantID, id)
	})
	return g, err
}

// nameIsFree returns a Conflict if another segment of the tenant has the same name, ignoring case.
func nameIsFree(tx *db.Tx, g *core.Segment) error {
	var others []struct {
		ID   string `db:"id"`
		Name string `db:"name"`
	}
	err := tx.All(&others, "SELECT id, name FROM segment INDEXED BY segment_name WHERE tenant_id = ?", g.TenantID)
	for i := range others {
		if others[i].ID != g.ID && core.SameSegmentName(others[i].Name, g.Name) {
			return core.Conflictf("already_exists", "This name or ID is already in use. Choose another one.")
		}
	}
	return err
}

// maySave returns an Invalid error if a segment's rule names something that doesn't exist, or nests segments too
// deeply.
func maySave(tx *db.Tx, g *core.Segment) error {
	rule, err := g.ParsedRule()
	if err != nil {
		return err
	}
	return campaigns.CheckRule(tx, g.TenantID, "rule", rule, g)
}

// DeleteSegment removes a segment. Jobs keep their rules. If there is no such segment, it returns
// core.ErrSegmentNotFound. If an unsent campaign or another segment uses it, it returns core.ErrSegmentUsed.
func (s *Store) DeleteSegment(ctx context.Context, id, actor string, now core.Instant) error {
	err := s.ChangeRecord(ctx, "segment", id, "segment.delete", actor, now, func(tx *db.Tx) error {
		uses, err := segmentUses(tx, id, 2)
		if err != nil {
			return err
		}
		if len(uses) > 0 {
			return core.ErrSegmentUsed(uses)
		}
		return tx.One("DELETE FROM segment WHERE id = ?", id)
	})
	return db.OrNotFound(err, core.ErrSegmentNotFound)
}
