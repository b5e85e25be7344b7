package store

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
)

const (
	importBatch = 500  // rows in one operation
	maxSingle   = 1000 // changed rows of an import that are announced one by one; more ask for a full sync
	// syncAfter is how long after the last batch an import's full sync is planned if the import never says that it has
	// ended: its process may have been killed.
	syncAfter = 5 * time.Second
)

// ImportRow is one row of an operator's file.
type ImportRow struct {
	Email       core.Email
	Preferences core.Preferences // empty: not in the file
	Left        bool             // the file says that they have left: no other row of theirs brings them back
	// when and from where they consented in another system, for the ledger; empty: nothing is known
	Evidence string
	Line     int // of the file, for Import.OnContradicted
	id, key  string
}

func newImportRow(id, email, preferences string, left bool) ImportRow {
	e := core.Email(email)
	return ImportRow{Email: e, Preferences: core.Preferences(preferences), Left: left, id: id, key: e.Key()}
}

// Import is a running import. Make it with NewImport; it is for one goroutine. Either Put every row, then Write and
// Close, which costs a sort and writes each page of the database once; or Add them as they come.
type Import struct {
	store  *Store
	list   *core.ListWithTenant
	status string
	proof  string // of those who become active
	source string
	ids    *subscriptionIDs
	spool  spool
	put    []ImportRow // not in the spool yet
	spare  []ImportRow // its memory is used again
	packed chan error  // of the rows on their way into the spool, which are in spare; nil: none
	single int         // changes announced one by one
	synced bool
	held   int64 // rows that were put in
	Counts core.ImportCounts
	DryRun bool // nothing is kept: Counts says what would become of the rows
	// OnContradicted, if not nil, is called by Write for each row that is left out since another row of the file says
	// that the subscriber has left, with the lines of both, in no order. An error of it ends Write.
	OnContradicted func(line, left int) error

	job      string            // id of the core.ImportJob that it is the run of; empty: none
	position importPosition    // of the row that Write has come to
	from     importPosition    // up to where a process before this one has come
	before   core.ImportCounts // of that process
}

// NewImport begins an import into a list; status is that of new rows: active, or pending, which sends each of them a
// confirmation mail. source goes into the ledger. core.ErrListNotFound, and a Conflict where another member service
// keeps the list.
func (s *Store) NewImport(ctx context.Context, listID, status, source string) (*Import, error) {
	if status != core.SubscriptionActive && status != core.SubscriptionPending {
		return nil, core.Invalidf("status", "status must be active or pending.")
	}
	list, err := s.ListWithTenant(ctx, listID)
	if err != nil {
		return nil, err
	}
	if s.opts.MemberElsewhere {
		return nil, core.Conflictf("conflict", "Another member service keeps this list: import there.")
	}
	return &Import{
		store: s, list: list, status: status, proof: core.ProofImport,
		source: core.Origin{Source: source}.Trim().Source, ids: s.subscriptionIDs(listID),
		spool: spool{dir: filepath.Dir(s.path)},
	}, nil
}

// Put takes a row in. Memory stays bounded: rows beyond some megabytes go into files without a name next to the
// database. It returns an error of the file system, maybe that of a row before.
func (im *Import) Put(r ImportRow) error {
	im.held++
	if im.put = append(im.put, r); len(im.put) < importBatch {
		return nil
	}
	return im.pack()
}

// pack has the rows that were put in packed while the next ones are read.
func (im *Import) pack() error {
	if err := im.settle(); err != nil {
		return err
	}
	full := im.put
	im.put, im.spare = im.spare[:0], full
	im.packed = make(chan error, 1)
	go func() {
		im.identify(full)
		for i := range full {
			if err := im.spool.add(&full[i]); err != nil {
				im.packed <- err
				return
			}
		}
		im.packed <- nil
	}()
	return nil
}

// settle waits for the rows on their way into the spool.
func (im *Import) settle() error {
	if im.packed == nil {
		return nil
	}
	err := <-im.packed
	im.packed = nil
	return err
}

// Resumed reports whether a process before this one has done a part of it.
func (im *Import) Resumed() bool { return im.from.id != "" }

// Held is how many rows were put in.
func (im *Import) Held() int64 { return im.held }

// Write imports what was put in, by ids, in operations of 500 rows, and announces it. written, if not nil, is told the
// number of rows so far. now is asked for each operation. It returns core.ErrStorage, or an error of the file system.
func (im *Import) Write(ctx context.Context, now func() core.Instant, written func(rows int64)) error {
	if err := errors.Join(im.pack(), im.settle()); err != nil {
		return err
	}
	im.put, im.spare = nil, nil
	batch, n := make([]ImportRow, 0, importBatch), int64(0)
	flush := func() error {
		if err := im.Add(ctx, batch, now()); err != nil {
			return err
		}
		if n += int64(len(batch)); written != nil {
			written(n)
		}
		batch = batch[:0]
		return nil
	}
	if im.from.id != "" {
		im.Counts = im.before // of the lines that were read, too: they are the same
	}
	var left ImportRow // the latest that says that its subscriber has left: it comes before the others of theirs
	err := im.spool.each(func(r ImportRow) error {
		done := im.position.reach(r.id, im.from)
		switch {
		case r.Left:
			if r.id != left.id {
				left = r
			}
			if !done {
				im.Counts.Kept++
			}
			n++
			return nil
		case r.id == left.id:
			n++
			return im.contradicted(r.Line, left.Line, done)
		case done:
			n++
			return nil
		}
		if batch = append(batch, r); len(batch) < importBatch {
			return nil
		}
		return flush()
	})
	if err == nil && len(batch) > 0 {
		err = flush()
	}
	if err != nil {
		return err
	}
	if written != nil {
		written(n)
	}
	return im.End(ctx, now())
}

func (im *Import) contradicted(line, left int, counted bool) error {
	if !counted {
		im.Counts.Contradicted++
	}
	if im.OnContradicted == nil {
		return nil
	}
	return im.OnContradicted(line, left)
}

var errDryRun = errors.New("a dry run")

// Close lets go of the files. It may be called at any time, and again.
func (im *Import) Close() {
	_ = im.settle()
	im.spool.close()
}

// Add imports rows, at most 500, in one operation, and sorts them by id. Repeating it changes nothing. Its only error
// is core.ErrStorage.
func (im *Import) Add(ctx context.Context, rows []ImportRow, now core.Instant) error {
	im.prepare(rows)
	var add importing
	run := im.store.bulkRepeatable
	if im.DryRun {
		run = im.store.bulk
	}
	err := run(ctx, func(tx *Tx) (err error) {
		add = importing{Import: im, now: now, counts: im.Counts, single: im.single}
		if err := add.run(tx, rows); err != nil || !im.DryRun {
			return err
		}
		return errDryRun // and with it nothing has happened
	})
	if errors.Is(err, errDryRun) {
		im.Counts = add.counts
		return nil
	}
	if err == nil {
		im.Counts, im.single = add.counts, add.single
		im.synced = im.synced || add.sync
	}
	return err
}

// identify derives the ids of rows that have none.
func (im *Import) identify(rows []ImportRow) {
	for i := range rows {
		if r := &rows[i]; r.id == "" {
			r.key = r.Email.Key()
			r.id = im.ids.of(r.key)
		}
	}
}

// prepare derives the ids outside the operation, and sorts the rows by them.
func (im *Import) prepare(rows []ImportRow) {
	im.identify(rows)
	byID := func(a, b ImportRow) int { return strings.Compare(a.id, b.id) }
	if !slices.IsSortedFunc(rows, byID) {
		slices.SortStableFunc(rows, byID)
	}
}

// End announces what Add did not announce one by one. Where another member service feeds the list too, the full sync
// ends no one of theirs. Its only error is core.ErrStorage.
func (im *Import) End(ctx context.Context, now core.Instant) (err error) {
	if !im.synced {
		return nil
	}
	im.Counts.SyncID, err = im.store.syncList(ctx, im.list, now)
	return err
}
