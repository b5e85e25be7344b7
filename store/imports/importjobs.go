package imports

import (
	"context"
	"errors"
	"strconv"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

var importColumns = `id, tenant_id, list_id, name, tool, posts, posts_skipped, pictures, pictures_skipped, bytes,
	relative_posts, site,
	status, dry_run, subscriber_status, source, mapping, lines,
	keep_fields, added, updated, unchanged, kept, contradicted, pending, failed, evidence, evidence_unreadable,
	evidence_future, unsubscribed, bounced, complained, suppressed, not_permitted, suppress, may_end, may_suppress, barred,
	said, undo_resumed, undo_lifted, undo_untagged, tagged, new_tags, tags_skipped, known_only, no_address, typos,
	brought, undo_status, undo_removed, undo_pending, undo_kept, undone_at,
	replaced, replaced_unkept, replaced_bytes, undo_restored, undo_unrestored,
	iif(finished_at > 0 AND brought + replaced + barred + said + tagged + new_tags > 0 AND undo_status = '',
	finished_at + ` + strconv.FormatInt(FaultsKept.Milliseconds(), 10) + `, 0) AS undo_until,
	sync_id, created_by, created_at, started_at, finished_at, failure_reason, announced, done_id, done_rows,
	coalesce((SELECT data FROM import_chunk WHERE import_id = import_job.id AND kind = ` +
	strconv.Itoa(importEveryone) + ` AND no = 0), '[]') AS tags`

const (
	// ImportIdle is how long an uploaded file waits for its import to be started.
	ImportIdle = 7 * 24 * time.Hour
	// FaultsKept is how long an import can be undone after its end, and how long its rows with errors are stored.
	FaultsKept = 7 * 24 * time.Hour
)

// ErrImportEnded is returned to a run whose import was canceled or deleted.
var ErrImportEnded = errors.New("the import was canceled")

// ImportJob returns an uploaded import. If there is no such import, it returns core.ErrNotFound.
func (s *Store) ImportJob(ctx context.Context, id string) (j core.ImportJob, err error) {
	err = s.Get(ctx, &j, "SELECT "+importColumns+" FROM import_job WHERE id = ? AND status <> 'deleted'", id)
	return j, err
}

var importList = tenants.ListByTenant(
	importColumns,
	"import_job",
	"import_job_tenant",
	"status <> 'deleted'",
	tenants.NewestFirst,
)

// ImportJobs returns a page of the imports of the given tenants or, if all is true, of every tenant, newest first. If
// listID is not empty, it returns only imports for that list. Its only error is core.ErrStorage.
func (s *Store) ImportJobs(ctx context.Context, tenants []string, all bool, listID string, page core.Page) (
	js []core.ImportJob, err error,
) {
	before := page.After
	if before == "" {
		before = "~" // greater than all ids
	}
	if listID != "" {
		err = s.All(
			ctx,
			&js,
			"SELECT "+importColumns+` FROM import_job INDEXED BY import_job_list WHERE list_id = ? AND id < ?
			AND (? OR +tenant_id IN (SELECT value FROM json_each(?))) AND status <> 'deleted' ORDER BY id DESC LIMIT +?`,
			listID,
			before,
			all,
			db.JsonOf(tenants),
			page.Limit,
		)
		return js, err
	}
	err = s.AllOf(ctx, &js, &importList, tenants, all, before, page.Limit)
	return js, err
}

// RunImport queues an uploaded or checked import for a run or a dry run. If there is no such import, it returns
// core.ErrNotFound. If the import is running or has ended, it returns a Conflict.
func (s *Store) RunImport(ctx context.Context, id string, in core.ImportInput, actor string, now core.Instant,
) (j core.ImportJob, err error) {
	kind := "run"
	if in.DryRun {
		kind = "try"
	}
	return s.changeImport(ctx, id, actor, "import."+kind, now, func(tx *db.Tx, j *core.ImportJob) error {
		if j.Status != core.ImportUploaded && j.Status != core.ImportChecked {
			return core.Conflictf("conflict", "The import has the status %s. Only uploaded or checked imports "+
				"can be started.", j.Status)
		}
		tx.Kick(db.TopicImports)
		if err := tagEveryone(tx, id, in.Tags); err != nil {
			return err
		}
		return tx.One(`UPDATE import_job SET status = 'waiting', dry_run = ?2, mapping = ?3, subscriber_status = ?4,
			source = ?5, keep_fields = ?7, queued_at = ?6, touched_at = ?6, started_at = 0, lines = 0, added = 0, updated = 0,
			unchanged = 0, kept = 0, contradicted = 0, pending = 0, failed = 0, evidence = 0, evidence_unreadable = 0,
			evidence_future = 0,
			unsubscribed = 0, bounced = 0, complained = 0, suppressed = 0, not_permitted = 0, barred = 0, said = 0,
			suppress = ?8, may_end = ?9, may_suppress = ?10,
			known_only = ?11, no_address = 0, typos = '[]', announced = 0, done_id = '', done_rows = 0, brought = 0,
			replaced = 0, replaced_bytes = 0, replaced_unkept = 0, tagged = 0, new_tags = 0, tags_skipped = 0,
			failure_reason = '' WHERE id = ?1`,
			id, in.DryRun, in.Mapping.Column(), in.SubscriberStatus, core.Origin{Source: in.Source}.Trim().Source,
			int64(now), in.KeepFields, in.Suppress != nil && *in.Suppress, in.MayEnd, in.MaySuppress, in.KnownOnly)
	})
}

// CancelImport cancels an import or its upload. Rows that are already imported stay. If there is no such import, it
// returns core.ErrNotFound. If it has ended, it returns a Conflict.
func (s *Store) CancelImport(ctx context.Context, id, actor string, now core.Instant) (j core.ImportJob, err error) {
	return s.changeImport(ctx, id, actor, "import.cancel", now, func(tx *db.Tx, j *core.ImportJob) error {
		if j.Ended() {
			return core.Conflictf("conflict", "The import has ended with the status %s. There is nothing "+
				"to cancel.", j.Status)
		}
		tx.Kick(db.TopicImports)
		if err := AnnounceImport(tx, j, core.ImportCancelled, now); err != nil {
			return err
		}
		return tx.One("UPDATE import_job SET status = 'cancelled', finished_at = ?2 WHERE id = ?1", id, int64(now))
	})
}

// DeleteImport deletes an import with its file and its rows with errors. If there is no such import, it returns
// core.ErrNotFound. If it is queued, running or being undone, or if any of its posts is an issue, it returns a
// Conflict.
func (s *Store) DeleteImport(ctx context.Context, id, actor string, now core.Instant) error {
	_, err := s.changeImport(ctx, id, actor, "import.delete", now, func(tx *db.Tx, j *core.ImportJob) error {
		if j.Status == core.ImportWaiting || j.Status == core.ImportRunning {
			return core.Conflictf("conflict", "The import has the status %s. Cancel it first.", j.Status)
		}
		if j.UndoStatus == core.ImportUndoRunning { // the undo needs the notes of this import
			return core.Conflictf("conflict", "The import is being undone. Delete it when that is finished.")
		}
		issues, err := countIssues(tx, id)
		switch {
		case err != nil:
			return err
		case issues > 0: // only their import can remove them
			return core.Conflictf("conflict", "Posts from this import are in the public archive. Remove them there "+
				"first.")
		}
		tx.Kick(db.TopicImports)
		return tx.One("UPDATE import_job SET status = 'deleted' WHERE id = ?", id)
	})
	return err
}

// changeImport changes an import and returns the result.
func (s *Store) changeImport(ctx context.Context, id, actor, action string, now core.Instant,
	change func(*db.Tx, *core.ImportJob) error,
) (j core.ImportJob, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		find := "SELECT " + importColumns + " FROM import_job WHERE id = ?"
		if err := tx.Get(&j, find, id); err != nil {
			return err
		}
		if j.Status == core.ImportDeleted {
			return core.ErrNotFound
		}
		if err := tx.Watch("import_job", id); err != nil {
			return err
		}
		if err := change(tx, &j); err != nil {
			return err
		}
		if err := tx.Get(&j, find, id); err != nil {
			return err
		}
		return tx.Audit(now, actor, action, j.TenantID, id)
	})
	return j, err
}

// ImportJob returns an import inside an operation.
func ImportJob(tx *db.Tx, id string) (j core.ImportJob, err error) {
	err = tx.Get(&j, "SELECT "+importColumns+" FROM import_job WHERE id = ?", id)
	return j, err
}

// NextImport returns the next import to run: one that an earlier process left running or, if there is none, the one
// that has been queued longest. If there is no import to run, it returns core.ErrNotFound.
func (s *Store) NextImport(ctx context.Context) (j core.ImportJob, err error) {
	for _, status := range []string{core.ImportRunning, core.ImportWaiting} {
		err = s.Get(ctx, &j, "SELECT "+importColumns+` FROM import_job WHERE status = ? AND status NOT IN ('completed',
			'failed', 'cancelled') ORDER BY queued_at LIMIT 1`, status)
		if !errors.Is(err, core.ErrNotFound) {
			break
		}
	}
	return j, err
}

// StartImport marks an import as running and returns it. If it was canceled, StartImport returns ErrImportEnded.
func (s *Store) StartImport(ctx context.Context, id string, now core.Instant) (j core.ImportJob, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		err := tx.One(`UPDATE import_job SET status = 'running', started_at = iif(started_at = 0, ?2, started_at)
			WHERE id = ?1 AND status IN ('waiting', 'running')`, id, int64(now))
		if err == nil {
			j, err = ImportJob(tx, id)
		}
		return endedOr(err)
	})
	return j, err
}

// ImportOf is like NewImport, for a run of an uploaded import. If an earlier run was interrupted, it skips the rows
// that are already imported.
func (s *Store) ImportOf(ctx context.Context, j *core.ImportJob) (*Import, error) {
	im, err := s.NewImport(ctx, j.ListID, j.SubscriberStatus, j.Source)
	if err != nil {
		return nil, err
	}
	im.DryRun, im.KeepFields, im.job, im.By = j.DryRun, j.KeepFields, j.ID, j.CreatedBy
	im.MayEnd, im.MaySuppress = j.MayEnd, j.MaySuppress
	if !j.DryRun && j.DoneID != "" {
		im.from, im.before = importPosition{j.DoneID, j.DoneRows}, j.ImportCounts
		im.single = int(j.Announced)
		im.Synced = im.single > MaxSingle
		im.replacedBytes = j.ReplacedBytes
	}
	return im, nil
}

// NoteProgress records the progress of a run where no batch records it: after reading the file, and in a dry run. lines
// is the number of lines in the file. If the import was canceled, it returns ErrImportEnded.
func (s *Store) NoteProgress(ctx context.Context, id string, lines int64, c core.ImportCounts) error {
	return s.Bulk(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec("UPDATE import_job SET lines = ? WHERE id = ? AND status = 'running'", lines, id)
		switch {
		case err != nil:
			return err
		case n == 0:
			return ErrImportEnded
		}
		return setImportCounts(tx, id, c)
	})
}

func setImportCounts(tx *db.Tx, id string, c core.ImportCounts) error {
	return endedOr(tx.One(`UPDATE import_job SET added = ?2, updated = ?3, unchanged = ?4, kept = ?5, contradicted = ?6,
		pending = ?7, failed = ?8, evidence = ?9, evidence_unreadable = ?10, evidence_future = ?11, sync_id = ?12,
		unsubscribed = ?13, bounced = ?14, complained = ?15, suppressed = ?16, not_permitted = ?17,
		no_address = ?18, tagged = ?19, new_tags = ?20, tags_skipped = ?21
		WHERE id = ?1 AND status = 'running'`, id, c.Added, c.Updated, c.Unchanged, c.Kept, c.Contradicted, c.Pending,
		c.Failed, c.Evidence, c.EvidenceUnreadable, c.EvidenceFuture, c.SyncID, c.Unsubscribed, c.Bounced, c.Complained,
		c.Suppressed, c.NotPermitted, c.NoAddress, c.Tagged, c.NewTags, c.TagsSkipped))
}

// endedOr replaces core.ErrNotFound with ErrImportEnded.
func endedOr(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return ErrImportEnded
	}
	return err
}

// FinishImport records the end of a run with its counts and the typos in j. The import is then completed or, if reason
// is not empty, failed. After a dry run, it is checked, with the reason if there is one, and can be run again with
// another mapping. If the import was canceled, it returns ErrImportEnded.
func (s *Store) FinishImport(ctx context.Context, j *core.ImportJob, c core.ImportCounts, reason string,
	now core.Instant,
) error {
	status, finished := core.ImportCompleted, int64(now)
	switch {
	case j.DryRun:
		status, finished = core.ImportChecked, 0
	case reason != "":
		status = core.ImportFailed
	}
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("import_job", j.ID); err != nil {
			return err
		}
		if err := setImportCounts(tx, j.ID, c); err != nil {
			return err
		}
		err := tx.One(`UPDATE import_job SET status = ?2, finished_at = ?3, touched_at = ?4, failure_reason = ?5,
			typos = ?6 WHERE id = ?1`, j.ID, status, finished, int64(now), reason, j.Typos.Column())
		if err != nil {
			return err
		}
		ended, err := ImportJob(tx, j.ID)
		if err == nil {
			err = AnnounceImport(tx, &ended, status, now)
		}
		if err != nil {
			return err
		}
		return tx.Audit(now, j.CreatedBy, "import."+status, j.TenantID, j.ID)
	})
}

// importPosition marks how far a run has come. Rows are imported in the order of their ids. The position holds an id
// and the number of rows with that id that are already imported.
type importPosition struct {
	id   string
	rows int64
}

// reach advances p by a row with the given id. It reports whether that row is at or before from, that is, whether an
// earlier process has imported it.
func (p *importPosition) reach(id string, from importPosition) (done bool) {
	if id != p.id {
		p.id, p.rows = id, 0
	}
	p.rows++
	return id < from.id || id == from.id && p.rows <= from.rows
}

// progress records the progress of the import within the operation of a batch.
func (im *importing) progress(tx *db.Tx) error {
	if im.job == "" {
		return nil
	}
	err := tx.One(`UPDATE import_job SET done_id = ?2, done_rows = ?3, announced = ?4, brought = brought + ?5,
		replaced = replaced + ?6, replaced_unkept = replaced_unkept + ?7, replaced_bytes = ?8, barred = barred + ?9,
		said = said + ?10
		WHERE id = ?1 AND status = 'running'`, im.job, im.position.id, im.position.rows, im.single, im.brought,
		im.replaced, im.unkept, im.replacedBytes, im.barred, im.said)
	if err == nil {
		err = setImportCounts(tx, im.job, im.counts)
	}
	return endedOr(err)
}
