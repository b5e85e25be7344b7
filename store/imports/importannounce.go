package imports

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// summarize queues a summary event for each endpoint that gets the list's events of at least one of these types.
func summarize(tx *db.Tx, e *core.SummaryEvent, now core.Instant, types ...string) error {
	endpoints, err := tenants.EndpointsOf(tx, e.TenantID)
	for i := range endpoints {
		if err == nil && endpoints[i].Wants(e.ListID, types...) {
			_, err = tenants.PutSummary(tx, e, endpoints[i].ID, now, now)
		}
	}
	return err
}

// importEvent returns the event that reports the outcome of an import.
func importEvent(id, tenantID, listID, status string, c core.ImportCounts, now core.Instant) *core.SummaryEvent {
	return &core.SummaryEvent{
		ID: core.NewID(), Type: core.EventImported, TenantID: tenantID, ListID: listID, ImportID: id, Status: status,
		Counts: c.Summary(), OccurredAt: now,
	}
}

// importTypes returns the event types of the changes that an import with these counts makes or may make.
func importTypes(c *core.ImportCounts) []string {
	types := []string{core.EventActivated, core.EventPreferences}
	if c.Unsubscribed > 0 {
		types = append(types, core.EventUnsubscribed)
	}
	return types
}

// AnnounceImport reports the outcome of an uploaded import, unless each of its changes was reported as an event.
func AnnounceImport(tx *db.Tx, j *core.ImportJob, status string, now core.Instant) error {
	if j.DryRun || j.Announced <= tx.DB().Options().ImportEvents {
		return nil
	}
	return summarize(tx, importEvent(j.ID, j.TenantID, j.ListID, status, j.ImportCounts, now), now,
		importTypes(&j.ImportCounts)...)
}

// announceLater queues the event of an import without a job, due after a delay. Each call postpones the event again.
// The event is therefore sent when the import ends, or if the process is killed. In the map summaries, 0 means that the
// event was dropped.
func (im *importing) announceLater(tx *db.Tx) error {
	if im.job != "" || !im.endpoints || int64(im.single) <= im.store.Options().ImportEvents {
		return nil
	}
	return im.announce(tx, im.counts, core.ImportCancelled, im.now, im.now.Add(syncAfter))
}

func (im *importing) announce(tx *db.Tx, c core.ImportCounts, status string, now, due core.Instant) error {
	endpoints, err := tenants.EndpointsOf(tx, im.list.TenantID)
	if err != nil {
		return err
	}
	if im.summaries == nil {
		im.summaries = map[string]int64{}
	}
	for i := range endpoints {
		id := endpoints[i].ID
		if !endpoints[i].Wants(im.list.ID, importTypes(&c)...) {
			continue
		}
		if row, known := im.summaries[id]; known {
			if row == 0 {
				continue
			}
			if err := tenants.EndQueued(tx, id, "DELETE FROM outbox WHERE id = ? AND dead_at = 0", row); err != nil {
				return err
			}
		}
		e := importEvent(im.runID, im.list.TenantID, im.list.ID, status, c, now)
		if im.summaries[id], err = tenants.PutSummary(tx, e, id, now, due); err != nil {
			return err
		}
	}
	return nil
}

// announceNow makes the event that announceLater has queued due immediately.
func (im *Import) announceNow(ctx context.Context, now core.Instant) error {
	if len(im.summaries) == 0 {
		return nil
	}
	return im.store.Update(ctx, func(tx *db.Tx) error {
		add := importing{Import: im, summaries: im.summaries}
		return add.announce(tx, im.Counts, core.ImportCompleted, now, now)
	})
}
