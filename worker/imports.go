package worker

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/subscribercsv"
)

const (
	importsEvery = time.Hour   // interval of searches for unused files
	importRetry  = time.Minute // delay if the disk is full or does not work
	// rows between two progress updates of a dry run; other imports update with each batch
	dryRunNote = 10_000
)

// importer runs and undoes imports, one at a time.
type importer struct {
	store     *store.Store
	log       *slog.Logger
	smallHeap func() (release func())
	loop      *Loop
}

// Imports returns the loop that runs uploaded imports in the order in which they were requested, and removes their
// files. An interrupted import resumes: its file is read and sorted again, and finished rows are skipped. Sorting needs
// some MiB, so the loop calls smallHeap, which makes the garbage collector run more often until release is called.
// smallHeap may be nil.
func Imports(s *store.Store, smallHeap func() (release func()), log *slog.Logger) *Loop {
	if smallHeap == nil {
		smallHeap = func() func() { return func() {} }
	}
	i := &importer{store: s, log: log, smallHeap: smallHeap}
	i.loop = &Loop{Name: "imports", Step: i.step}
	s.OnKick(db.TopicImports, i.loop.Kick)
	return i.loop
}

func (i *importer) step(ctx context.Context, now time.Time) time.Time {
	for !i.loop.stoppingOr(ctx) {
		more, err := i.store.SweepImports(ctx, core.At(time.Now()))
		if err != nil {
			i.log.Warn("imports: files can't be removed", slog.Any("error", err))
			return now.Add(importRetry)
		}
		if more {
			continue
		}
		if undone, err := i.undo(ctx); undone || err != nil {
			if err != nil {
				i.log.Warn("import: undo was interrupted and resumes later", slog.Any("error", err))
				return time.Now().Add(importRetry)
			}
			continue
		}
		j, err := i.store.NextImport(ctx)
		if errors.Is(err, core.ErrNotFound) {
			return time.Now().Add(importsEvery)
		}
		if err == nil {
			err = i.run(ctx, &j)
		}
		switch {
		case errors.Is(err, imports.ErrImportEnded), i.loop.stoppingOr(ctx):
		case err != nil:
			i.log.Warn("import: interrupted, resumes later", slog.String("import", j.ID), slog.Any("error", err))
			return time.Now().Add(importRetry)
		}
	}
	return Never
}

// undo undoes the next import that is to be undone, until it is finished or the loop stops. found is false if there is
// none. Each step is durable.
func (i *importer) undo(ctx context.Context) (found bool, err error) {
	id, err := i.store.NextUndo(ctx)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	for more := true; more && err == nil && !i.loop.stoppingOr(ctx); {
		more, err = i.store.UndoImportStep(ctx, id, core.At(time.Now()))
	}
	return true, err
}

// run runs an import to its end. An error in the file ends the import as failed. A disk error is returned.
func (i *importer) run(ctx context.Context, j *core.ImportJob) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-i.loop.Stopping():
			cancel()
		case <-ctx.Done():
		}
	}()
	began := time.Now()
	if *j, err = i.store.StartImport(ctx, j.ID, core.At(began)); err != nil {
		return err
	}
	counts, err := i.read(ctx, cancel, j)
	reason := ""
	switch {
	case errors.Is(err, imports.ErrImportEnded), core.KindOf(err) == core.Unavailable, ctx.Err() != nil, ofDisk(err):
		return err
	case err != nil:
		reason = reasonOf(err)
	case !j.DryRun && counts.Rows() > 0 && counts.Failed == counts.Rows():
		reason = core.ImportNobody
	}
	if err := i.store.FinishImport(ctx, j, counts, reason, core.At(time.Now())); err != nil {
		return err
	}
	i.log.Info("import: it has ended", slog.String("import", j.ID), slog.String("list", j.ListID),
		slog.Bool("dry_run", j.DryRun), slog.Int64("rows", counts.Rows()), slog.Int64("added", counts.Added),
		slog.Int64("failed", counts.Failed), slog.String("reason", reason), slog.Duration("took", time.Since(began)))
	return nil
}

// ofDisk reports whether an error comes from the temporary files for sorting.
func ofDisk(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok
}

// reasonOf returns the text of an error that is stored with a failed import.
func reasonOf(err error) string {
	if fault, ok := errors.AsType[*core.Error](err); ok && fault.Message != "" {
		return fault.Message
	}
	return err.Error()
}

// read reads an import's file and imports its rows. Even if it returns an error, the counts include all rows imported
// so far.
func (i *importer) read(ctx context.Context, cancel func(), j *core.ImportJob) (core.ImportCounts, error) {
	im, err := i.store.ImportOf(ctx, j)
	if err != nil {
		return j.ImportCounts, err
	}
	defer im.Close()
	s, err := i.survey(ctx, j)
	if err != nil {
		return j.ImportCounts, err
	}
	r, err := subscribercsv.NewReader(i.store.ImportFile(ctx, j.ID), subscribercsv.Options{
		Map: j.Mapping, Survey: s, Fields: im.Fields(), KnownOnly: j.KnownOnly, Tags: j.Tags,
	})
	if mapping, ok := errors.AsType[subscribercsv.MappingError](err); ok {
		return j.ImportCounts, errors.New(mapping.Text)
	}
	if err != nil {
		return j.ImportCounts, err
	}
	r.Now, r.AskAgain, r.Suppress = j.StartedAt, j.SubscriberStatus == core.SubscriptionPending, j.Suppress
	if asked := r.Questions(s); len(asked) > 0 && !j.Suppress {
		return j.ImportCounts, errors.New(subscribercsv.Asking(asked))
	}
	kept, err := i.store.NewFaultWriter(ctx, j.ID)
	if err != nil {
		return j.ImportCounts, err
	}
	buffer := bufio.NewWriterSize(kept, 64<<10)
	faults, err := subscribercsv.NewFaults(buffer, r.Header())
	if err == nil {
		release := i.smallHeap()
		err = r.Load(ctx, im, faults.Report)
		release()
		j.Typos = r.Typos
	}
	if err != nil {
		return im.Counts, err
	}
	lines, sofar := im.Held()+im.Counts.Rows(), im.Counts
	if im.Resumed() {
		sofar = j.ImportCounts
	}
	if err = i.store.NoteProgress(ctx, j.ID, lines, sofar); err != nil {
		return im.Counts, err
	}
	var noted int64
	var cancelled error
	written := func(rows int64) {
		if !j.DryRun || cancelled != nil || rows-noted < dryRunNote {
			return
		}
		noted = rows
		if cancelled = i.store.NoteProgress(ctx, j.ID, lines, im.Counts); cancelled != nil {
			cancel()
		}
	}
	now := func() core.Instant { return core.At(time.Now()) }
	err = im.Write(ctx, now, written)
	return im.Counts, errors.Join(cancelled, err, faults.Flush(), buffer.Flush(), kept.Flush())
}

const (
	bulkEvery = 5 * time.Second // interval of searches for actions that a command has started
	bulkRetry = time.Minute     // delay if the disk is full or does not work
)

// Bulk returns the loop that performs and undoes bulk actions. Tenants take turns, one step each.
func Bulk(s *store.Store, log *slog.Logger) *Loop {
	loop := &Loop{Name: "bulk actions"}
	tenant := "" // the tenant that had the last turn
	loop.Step = func(ctx context.Context, _ time.Time) time.Time {
		for !loop.stoppingOr(ctx) {
			id, next, err := s.NextBulk(ctx, tenant)
			if errors.Is(err, core.ErrNotFound) {
				return time.Now().Add(bulkEvery)
			}
			if tenant = next; err == nil {
				_, err = s.BulkStep(ctx, id, core.At(time.Now()))
			}
			if err != nil && !loop.stoppingOr(ctx) {
				log.Warn("bulk actions continue later", slog.String("action", id), slog.Any("error", err))
				return time.Now().Add(bulkRetry)
			}
		}
		return Never
	}
	s.OnKick(db.TopicBulk, loop.Kick)
	return loop
}
