package imports

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

const (
	// ImportBatch is the number of rows in one step of an operation.
	ImportBatch = 500
	// ImportSteps is the number of steps of an operation that no other one waits for.
	ImportSteps = 8
	// MaxSingle is how many changed rows of an import are announced one by one; more ask for a full sync.
	MaxSingle = 1000
	// syncAfter is how long after the last batch an import's full sync is planned if the import never says that it has
	// ended: its process may have been killed.
	syncAfter = 5 * time.Second
)

// ImportRow is one row of an operator's file.
type ImportRow struct {
	Email       core.Email
	Preferences core.Preferences // empty: not in the file
	Left        bool             // the file says that they are no subscriber: no other row of theirs brings them in
	Departure                    // if they are not, as what they are imported
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
	ids    *db.SubscriptionIDs
	spool  spool
	put    []ImportRow // not in the spool yet
	spare  []ImportRow // its memory is used again
	packed chan error  // of the rows on their way into the spool, which are in spare; nil: none
	single int         // changes announced one by one
	Synced bool
	held   int64 // rows that were put in
	Counts core.ImportCounts
	DryRun bool // nothing is kept: Counts says what would become of the rows
	// KeepFields leaves the preferences of subscribers who are on the list as they are.
	KeepFields bool
	// MayEnd allows to end subscriptions of people whom the file calls unsubscribed, MaySuppress to add those whom it
	// calls bounced, complained or suppressed to the tenant's suppression list. Without, they are left out and counted.
	MayEnd, MaySuppress bool
	// OnContradicted, if not nil, is called by Write for each row that is left out since another row of the file says
	// that the subscriber has left, with the lines of both, in no order. An error of it ends Write.
	OnContradicted func(line, left int) error

	job    string            // id of the core.ImportJob that it is the run of; empty: none
	from   importPosition    // up to where a process before this one has come
	before core.ImportCounts // of that process

	tried *core.Subscription // in a dry run: of the last row, as it would be

	runID     string           // in the event of an import without job
	summaries map[string]int64 // see announceLater

	replacedBytes int64 // of what is kept to take the import back

	actor string // of an import into the suppression list alone; empty: there is a list
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
	if s.Options().MemberElsewhere {
		return nil, core.Conflictf("conflict", "Another service manages this list. Import there.")
	}
	return &Import{
		store: s, list: list, status: status, proof: core.ProofImport,
		source: core.Origin{Source: source}.Trim().Source, ids: s.SubscriptionIDs(listID), runID: core.NewID(),
		spool: spool{dir: filepath.Dir(s.Path())},
	}, nil
}

// Put takes a row in. Memory stays bounded: rows beyond some megabytes go into files without a name next to the
// database. It returns an error of the file system, maybe that of a row before.
func (im *Import) Put(r ImportRow) error {
	im.held++
	if im.put = append(im.put, r); len(im.put) < ImportBatch {
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

// Fields are those that the list has.
func (im *Import) Fields() core.Fields { return im.list.Fields }

// Resumed reports whether a process before this one has done a part of it.
func (im *Import) Resumed() bool { return im.from.id != "" }

// Held is how many rows were put in.
func (im *Import) Held() int64 { return im.held }

// importStep is a part of an import in the order of ids: the rows that are imported, and what became of the others.
type importStep struct {
	rows               []ImportRow
	read               int64 // rows
	kept, contradicted int64
	position           importPosition // of the last row
}

// Write imports what was put in, by ids, in operations of 500 rows, or more where no other operation waits, and
// announces it. written, if not nil, is told the number of rows so far. now is asked for each operation. It returns
// core.ErrStorage, or an error of the file system.
func (im *Import) Write(ctx context.Context, now func() core.Instant, written func(rows int64)) (err error) {
	if err := errors.Join(im.pack(), im.settle()); err != nil {
		return err
	}
	im.put, im.spare = nil, nil
	if im.from.id != "" {
		im.Counts = im.before // of the lines that were read, too: they are the same
	}
	steps, quit := make(chan importStep, ImportSteps), make(chan struct{})
	var failed error // of reading
	go func() {
		defer close(steps)
		failed = im.readSteps(func(s importStep) error {
			select {
			case steps <- s:
				return nil
			case <-quit:
				return errNoMore
			}
		})
	}()
	var n int64
	for first := range steps {
		if err != nil {
			continue
		}
		read, failure := im.add(ctx, first, steps, now())
		if err = failure; err != nil {
			close(quit)
			continue
		}
		if n += read; written != nil {
			written(n)
		}
	}
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	return im.End(ctx, now())
}

// errNoMore ends reading ahead.
var errNoMore = errors.New("no more rows needed")

// readSteps reads the rows in the order of ids, and gives them to take step by step.
func (im *Import) readSteps(take func(importStep) error) error {
	var s importStep
	var left ImportRow // the latest that says that its subscriber has left: it comes before the others of theirs
	err := im.spool.inOrder(func(r ImportRow) error {
		done := s.position.reach(r.id, im.from)
		s.read++
		switch {
		case r.Left:
			if r.id != left.id {
				left = r
			}
			if done {
				return nil
			}
		case r.id == left.id:
			if !done {
				s.contradicted++
			}
			if im.OnContradicted == nil {
				return nil
			}
			return im.OnContradicted(r.Line, left.Line)
		case done:
			return nil
		}
		if s.rows = append(s.rows, r); len(s.rows) < ImportBatch {
			return nil
		}
		full := s
		s = importStep{rows: make([]ImportRow, 0, ImportBatch), position: s.position}
		return take(full)
	})
	if err != nil || s.read == 0 {
		return err
	}
	return take(s)
}

// Close lets go of the files. It may be called at any time, and again.
func (im *Import) Close() {
	_ = im.settle()
	im.spool.close()
}

// Add imports rows, at most 500, in one operation, and sorts them by id. Repeating it changes nothing. Its only error
// is core.ErrStorage.
func (im *Import) Add(ctx context.Context, rows []ImportRow, now core.Instant) error {
	im.prepare(rows)
	_, err := im.add(ctx, importStep{rows: rows}, nil, now)
	return err
}

// add imports a step in one operation, and with it what more has ready as long as no other operation waits. read is the
// number of rows that were read for it.
func (im *Import) add(ctx context.Context, first importStep, more <-chan importStep, now core.Instant) (read int64,
	err error,
) {
	if im.DryRun {
		return first.read, im.try(ctx, first, now)
	}
	var add importing
	steps := append(make([]importStep, 0, ImportSteps), first) // also those of a first try
	err = im.store.BulkRepeatable(ctx, func(tx *db.Tx) (err error) {
		add = importing{
			Import: im, now: now, counts: im.Counts, single: im.single, replacedBytes: im.replacedBytes,
			summaries: maps.Clone(im.summaries),
		}
		steps, err = add.run(tx, steps, more)
		return err
	})
	for i := range steps {
		read += steps[i].read
	}
	if err == nil {
		im.Counts, im.single, im.replacedBytes, im.summaries = add.counts, add.single, add.replacedBytes, add.summaries
		im.Synced = im.Synced || add.sync
	}
	return read, err
}

// identify derives the ids of rows that have none.
func (im *Import) identify(rows []ImportRow) {
	for i := range rows {
		if r := &rows[i]; r.id == "" {
			r.key = r.Email.Key()
			r.id = im.ids.Of(r.key)
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
	if im.actor != "" && !im.DryRun {
		return im.auditSuppressed(ctx, now)
	}
	if err := im.announceNow(ctx, now); err != nil {
		return err
	}
	if !im.Synced {
		return nil
	}
	im.Counts.SyncID, err = im.store.SyncList(ctx, im.list, now)
	return err
}

// AddSteps is Add for several steps, which are all ready.
func (im *Import) AddSteps(ctx context.Context, now core.Instant, steps ...[]ImportRow) error {
	ready := make(chan importStep, len(steps))
	for _, rows := range steps {
		im.prepare(rows)
		ready <- importStep{rows: rows}
	}
	for len(ready) > 0 {
		if _, err := im.add(ctx, <-ready, ready, now); err != nil {
			return err
		}
	}
	return nil
}
