package db

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"newsletterd/core"
)

// errRerun says that an operation without a savepoint has failed: the batch is to run once more, with savepoints.
var errRerun = errors.New("once more")

// transact runs the operations of the batch and commits. An error means that none of them took effect.
func (w *writer) transact() error {
	ops := w.batch
	bare := 0 // operations at the front that may run twice; no one can tell in which order those of a batch ran
	for i, o := range ops {
		if o.repeatable {
			ops[i], ops[bare] = ops[bare], o
			bare++
		}
	}
	err := w.attempt(bare)
	if errors.Is(err, errRerun) {
		err = w.attempt(0)
	}
	return err
}

// joinBulk takes the interactive operations that have come while one took its time, so that they neither wait for its
// commit nor need one of their own. A late one is the last of its transaction.
func (w *writer) joinBulk() (joined []*op) {
	bulk := false
	for _, o := range w.batch {
		if o.done == nil {
			return nil
		}
		bulk = bulk || o.bulk
	}
	if !bulk {
		return nil
	}
	n := len(w.batch)
	w.fill(nil, nil)
	w.take(n)
	return w.batch[n:]
}

// attempt is one transaction, the first operations of it without savepoints.
func (w *writer) attempt(bare int) error {
	if err := w.begin(); err != nil {
		return err
	}
	err := w.watch() // in the transaction, where it takes no lock of its own
	if err == nil {
		err = w.markBase()
	}
	ok := 0
	run := func(o *op, bare, alone bool) {
		w.tx.alone = alone
		switch {
		case alone: // the transaction is its savepoint
			o.err = w.call(o)
		case bare:
			if o.err = w.call(o); o.err != nil {
				err = errRerun
			}
		default:
			err = w.callSaved(o)
		}
		if o.err == nil {
			for _, k := range w.store.keepers {
				k.Done()
			}
			ok++
		}
	}
	for i := 0; i < len(w.batch) && err == nil; i++ {
		run(w.batch[i], i < bare, len(w.batch) == 1)
	}
	if err == nil && ok > 0 { // one that failed alone has left its changes there
		for _, o := range w.joinBulk() {
			if err == nil {
				run(o, false, false)
			}
		}
	}
	if err == nil && ok > 0 {
		err = w.keep(time.Now())
	}
	if err == nil && ok > 0 {
		if err = w.store.checkFile(); err == nil {
			_, err = w.tx.Exec("COMMIT")
		}
		if err == nil {
			w.checkpoint.based, w.checkpoint.touch = true, false
			w.store.changes.Add(1)
			w.changedAt = time.Now()
			w.committed()
			return nil
		}
	}
	w.rollback()
	if err != nil && !errors.Is(err, errRerun) {
		err = ofStorage(err)
	}
	return err
}

// ofStorage is an error of a transaction as a whole: no operation of it is to blame.
func ofStorage(err error) error {
	if errors.Is(err, core.ErrUnavailable) {
		return err
	}
	return core.ErrStorage.With(err)
}

// begin takes the write lock. SQLite's own back-off starves against a busy writer, hence short tries of our own.
func (w *writer) begin() error {
	if err := retryBusy(w.tries, w.lock); err != nil {
		return ofStorage(err)
	}
	return nil
}

// lock is one try of begin.
func (w *writer) lock() error {
	if w.stuck {
		w.rollback()
	}
	s, err := w.tx.Stmt("BEGIN IMMEDIATE")
	if err == nil {
		_, err = s.Exec()
	}
	w.stuck = w.stuck && err != nil
	return Translate(err)
}

// rollback ends a transaction that is not to be kept. A failing disk may have ended it already; then this fails, and
// that is fine.
func (w *writer) rollback() {
	_, err := w.tx.Exec("ROLLBACK")
	w.stuck = err != nil
	w.undone(true)
}

// undone has every keeper forget what was rolled back.
func (w *writer) undone(all bool) {
	for _, k := range w.store.keepers {
		k.Undone(all)
	}
}

// retryBusy calls fn until another process lets it through, for at most limit.
func retryBusy(limit time.Duration, fn func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(busyStep) {
		if err := fn(); !isBusy(err) || time.Now().After(deadline) {
			return err
		}
	}
}

// IsFull reports whether an error of the database says that the disk, or what a process may use of it, is full.
func IsFull(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_FULL
}

func isBusy(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_BUSY
}

// callSaved runs an operation inside a savepoint. The error that it returns is one of the transaction as a whole.
func (w *writer) callSaved(o *op) error {
	if _, err := w.tx.Exec("SAVEPOINT op"); err != nil {
		return err
	}
	o.err = w.call(o)
	if o.err != nil {
		if _, err := w.tx.Exec("ROLLBACK TO op"); err != nil {
			return core.ErrStorage.With(errors.Join(o.err, err))
		}
		w.undone(false)
	}
	_, err := w.tx.Exec("RELEASE op")
	return err
}

// call runs an operation and turns a panic in it into its error: the others go on.
func (w *writer) call(o *op) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in an operation: %v\n%s", r, debug.Stack())
		}
		if err == nil { // whatever the operation makes of it
			err = w.tx.broken
		}
		w.tx.inside, w.tx.broken = false, nil
	}()
	w.tx.topics, w.tx.left, w.tx.audited, w.tx.inside = 0, false, nil, true
	w.tx.ran, w.tx.watched, w.tx.origin, w.tx.client = 0, watched{}, o.origin, o.client
	for _, k := range w.store.keepers {
		k.Begin()
	}
	if err = o.fn(&w.tx); err == nil {
		err = w.tx.end()
	}
	o.topics, o.left, o.audited = w.tx.topics, w.tx.left, w.tx.audited
	return err
}
