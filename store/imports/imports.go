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
	// ImportBatch is the number of rows in one step. An operation has one or more steps.
	ImportBatch = 500
	// ImportSteps is the maximum number of steps in one operation. An operation has more than one only while no other
	// operation waits.
	ImportSteps = 8
	// MaxSingle is the maximum number of an import's changes that are announced individually. More changes need a full
	// sync.
	MaxSingle = 1000
	// syncAfter is the delay between an import's last batch and the planning of its full sync. It matters if the
	// process was killed, so that the import never reports its end.
	syncAfter = 5 * time.Second
)

// ImportRow is one row of an imported file.
type ImportRow struct {
	Email       core.Email
	Preferences core.Preferences // empty if the file has none
	Left        bool             // not a subscriber according to the file; overrides other rows of the person
	Departure                    // state in which to import the person if Left is set
	// When and where the person consented in another system, for the ledger; empty if unknown
	Evidence string
	Tags     string // names of tags to add, separated by TagSeparator; empty if Left is set
	Line     int    // line in the file, for Import.OnContradicted
	id, key  string
}

func newImportRow(id, email, preferences string, left bool) ImportRow {
	e := core.Email(email)
	return ImportRow{Email: e, Preferences: core.Preferences(preferences), Left: left, id: id, key: e.Key()}
}

// Import is a running import, created by NewImport. It must be used by one goroutine. One way to use it is to call Put
// for every row, then Write and Close. The rows are then sorted, so that each database page is written only once. The
// other way is to call Add for rows as they arrive.
type Import struct {
	store  *Store
	list   *core.ListWithTenant
	status string
	proof  string // proof stored with subscriptions that become active
	source string
	ids    *db.SubscriptionIDs
	spool  spool
	put    []ImportRow // rows that are not in the spool yet
	spare  []ImportRow // memory for reuse
	packed chan error  // result of adding the rows in spare to the spool; nil if none are in progress
	single int         // number of changes announced one by one
	Synced bool        // whether some changes are announced by a full sync
	held   int64       // number of rows passed to Put
	Counts core.ImportCounts
	DryRun bool // whether nothing is stored, and Counts has the expected results
	// KeepFields keeps the preferences of existing subscribers unchanged.
	KeepFields bool
	// MayEnd allows the import to unsubscribe people whom the file lists as unsubscribed. MaySuppress allows it to add
	// addresses that bounced, marked emails as spam or are suppressed to the tenant's suppression list. Without these
	// permissions, the rows are skipped and counted.
	MayEnd, MaySuppress bool
	// OnContradicted, if not nil, is called by Write for each row that is skipped because, according to another row,
	// the subscriber unsubscribed. It gets the numbers of both lines. The order of the calls is undefined. If it
	// returns an error, Write ends.
	OnContradicted func(line, left int) error

	// By is the actor in the audit log for tags that the import creates.
	By string

	job    string            // id of the core.ImportJob; empty if there is none
	from   importPosition    // position at which an earlier process stopped
	before core.ImportCounts // counts of that process

	tried *core.Subscription  // in a dry run, the subscription that the last row would create or change
	named map[string]core.Tag // in a dry run, all tags, including those that the import would create

	runID     string           // id in the event of an import without a job
	summaries map[string]int64 // see announceLater

	replacedBytes int64 // size of the fields kept for an undo

	actor string // actor of an import into the suppression list; empty if the import has a list
}

// NewImport starts an import into a list. status is the status of new subscriptions: active or pending. Each pending
// one gets a confirmation email. source is stored in the consent ledger. If there is no such list, it returns
// core.ErrListNotFound. If another member service manages the list, it returns a Conflict. For another status, it
// returns an Invalid error.
func (s *Store) NewImport(ctx context.Context, listID, status, source string) (*Import, error) {
	if status != core.SubscriptionActive && status != core.SubscriptionPending {
		return nil, core.Invalidf("status", "status must be active or pending.")
	}
	list, err := s.ListWithTenant(ctx, listID)
	if err != nil {
		return nil, err
	}
	if s.Options().MemberElsewhere {
		return nil, core.Conflictf("conflict", "Another service manages this list. Import the subscribers there.")
	}
	return &Import{
		store: s, list: list, status: status, proof: core.ProofImport,
		source: core.Origin{Source: source}.Trim().Source, ids: s.SubscriptionIDs(listID), runID: core.NewID(),
		spool: spool{dir: s.spoolDir()},
	}, nil
}

// spoolDir returns the directory for unnamed files.
func (s *Store) spoolDir() string { return filepath.Dir(s.Path()) }

// Put adds a row. To bound memory, it keeps rows beyond a few megabytes in unnamed files next to the database. Its
// error can be a file system error that an earlier row caused.
func (im *Import) Put(r ImportRow) error {
	im.held++
	if im.put = append(im.put, r); len(im.put) < ImportBatch {
		return nil
	}
	return im.pack()
}

// pack starts adding the collected rows to the spool while further rows are read.
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

// settle waits until the rows from pack are in the spool.
func (im *Import) settle() error {
	if im.packed == nil {
		return nil
	}
	err := <-im.packed
	im.packed = nil
	return err
}

// Fields returns the custom fields of the list.
func (im *Import) Fields() core.Fields { return im.list.Fields }

// Resumed reports whether an earlier process has imported part of the file.
func (im *Import) Resumed() bool { return im.from.id != "" }

// Held returns the number of rows passed to Put.
func (im *Import) Held() int64 { return im.held }

// importStep is a part of an import in the order of ids, with the rows to import and the counts of skipped rows.
type importStep struct {
	rows               []ImportRow
	read               int64 // number of rows read
	kept, contradicted int64
	position           importPosition // position of the last row
}

// Write imports the rows in the order of ids and announces the changes. An operation imports 500 rows, or more while no
// other operation waits. For each operation, Write calls now. If written is not nil, Write also calls it with the
// number of rows imported so far. Write returns core.ErrStorage or a file system error.
func (im *Import) Write(ctx context.Context, now func() core.Instant, written func(rows int64)) (err error) {
	if err := errors.Join(im.pack(), im.settle()); err != nil {
		return err
	}
	im.put, im.spare = nil, nil
	if im.from.id != "" {
		im.Counts = im.before // includes the counts of lines read, which are the same
	}
	steps, quit := make(chan importStep, ImportSteps), make(chan struct{})
	var failed error // error from reading the rows
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

// errNoMore stops reading ahead.
var errNoMore = errors.New("no more rows needed")

// readSteps reads the rows in the order of ids and passes them to take, step by step.
func (im *Import) readSteps(take func(importStep) error) error {
	var s importStep
	var left ImportRow // last row with Left; it precedes other rows of the same subscriber
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

// Close releases the temporary files. It may be called at any time and more than once.
func (im *Import) Close() {
	_ = im.settle()
	im.spool.close()
}

// Add sorts at most 500 rows by id and imports them in one operation. A repeated call changes nothing. Its only error
// is core.ErrStorage.
func (im *Import) Add(ctx context.Context, rows []ImportRow, now core.Instant) error {
	im.prepare(rows)
	_, err := im.add(ctx, importStep{rows: rows}, nil, now)
	return err
}

// add imports a step in one operation. While no other operation waits, it also imports steps from the channel more, if
// they are ready. read is the number of rows that were read for these steps.
func (im *Import) add(ctx context.Context, first importStep, more <-chan importStep, now core.Instant) (read int64,
	err error,
) {
	if im.DryRun {
		return first.read, im.try(ctx, first, now)
	}
	var add importing
	steps := append(make([]importStep, 0, ImportSteps), first) // stays the same if the operation is repeated
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

// prepare derives the ids of rows, outside the operation, and sorts the rows by id.
func (im *Import) prepare(rows []ImportRow) {
	im.identify(rows)
	byID := func(a, b ImportRow) int { return strings.Compare(a.id, b.id) }
	if !slices.IsSortedFunc(rows, byID) {
		slices.SortStableFunc(rows, byID)
	}
}

// End announces the changes that Add did not announce one by one. If another member service also feeds the list, the
// full sync does not end the subscriptions of that service. Its only error is core.ErrStorage.
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

// AddSteps is like Add, for several steps that are all ready.
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
