package db

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"newsletterd/core"
)

// errRerun is returned when an operation without a savepoint has failed. The batch runs again, with savepoints.
var errRerun = errors.New("retry")

// transact runs the operations of the batch and commits them. If it returns an error, none of them took effect.
func (w *writer) transact() error {
	ops := w.batch
	bare := 0 // number of operations at the front that may run twice; callers cannot see the order
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

// join inserts the interactive operations that have arrived since the batch was taken, starting at index at. They
// neither wait for its commit nor need a commit of their own. They come before the late operation, which stays the last
// of its transaction. join returns how many of them may run without a savepoint, if all operations before them did.
func (w *writer) join(at int) (bare int) {
	n, late := len(w.batch), slices.Clone(w.batch[at:])
	w.fill(nil, nil, nil)
	w.take(n)
	joined := w.batch[n:]
	for i, o := range joined {
		if o.repeatable {
			joined[i], joined[bare] = joined[bare], o
			bare++
		}
	}
	copy(w.batch[at:], joined)
	copy(w.batch[at+len(joined):], late)
	return bare
}

// attempt runs one transaction. The first bare operations run without savepoints.
func (w *writer) attempt(bare int) error {
	if err := w.begin(); err != nil {
		return err
	}
	err := w.watch() // inside the transaction, where it takes no lock of its own
	if err == nil {
		err = w.markBase()
	}
	ok := 0
	run := func(o *op, bare, alone bool) {
		w.tx.alone = alone
		switch {
		case alone: // the transaction serves as the savepoint
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
	alone, late := len(w.batch) == 1, false
	for i := 0; err == nil; i++ {
		// An operation that failed alone has left its changes in the transaction.
		if ok > 0 && !late && (i == len(w.batch) || w.batch[i].done == nil) {
			if more := w.join(i); bare == i {
				bare += more
			}
		}
		if i == len(w.batch) {
			break
		}
		late = w.batch[i].done == nil
		run(w.batch[i], i < bare, alone && i == 0)
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

// ofStorage marks err as a failure of the whole transaction rather than of a single operation.
func ofStorage(err error) error {
	if errors.Is(err, core.ErrUnavailable) {
		return err
	}
	return core.ErrStorage.With(err)
}

// begin takes the write lock. It retries at short intervals because SQLite's own back-off starves next to a busy
// writer.
func (w *writer) begin() error {
	if err := retryBusy(w.tries, w.lock); err != nil {
		return ofStorage(err)
	}
	return nil
}

// lock makes one attempt to start the transaction, for begin.
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

// rollback rolls the transaction back. It may fail if a failing disk has already ended the transaction, which does no
// harm.
func (w *writer) rollback() {
	_, err := w.tx.Exec("ROLLBACK")
	w.stuck = err != nil
	w.undone(true)
}

// undone notifies every keeper that an operation was rolled back or, if all is true, the whole transaction.
func (w *writer) undone(all bool) {
	for _, k := range w.store.keepers {
		k.Undone(all)
	}
}

// retryBusy calls fn until it no longer fails because another process holds the lock, for at most limit.
func retryBusy(limit time.Duration, fn func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(busyStep) {
		if err := fn(); !isBusy(err) || time.Now().After(deadline) {
			return err
		}
	}
}

// IsFull reports whether err means that the disk, or the process's quota on it, is full. This includes an I/O error:
// SQLite returns one if it can't enlarge the -shm file on a full disk.
func IsFull(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) &&
		(se.Code()&0xff == sqlite3.SQLITE_FULL || se.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}

func isBusy(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_BUSY
}

// callSaved runs an operation inside a savepoint. It returns only errors of the transaction as a whole.
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

// call runs an operation and turns a panic in it into an error, so that the other operations continue.
func (w *writer) call(o *op) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in an operation: %v\n%s", r, debug.Stack())
		}
		if err == nil { // even if the operation ignored the error
			err = w.tx.broken
		}
		w.tx.inside, w.tx.broken = false, nil
	}()
	w.tx.topics, w.tx.left, w.tx.audited, w.tx.inside = 0, nil, nil, true
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
