package db

import "time"

// Keeper collects data for a room during the operations of a transaction, and writes that data in the same transaction.
// Only the writer calls it, so it needs no lock.
type Keeper interface {
	// Begin is called before each operation and drops what the previous one collected.
	Begin()
	// End writes the collected data that belongs to this operation alone. If it returns an error, the operation
	// fails.
	End(tx *Tx) error
	// Done is called after an operation has succeeded, and accepts what it has collected.
	Done()
	// Commit is called before the transaction commits and writes what the successful operations have collected.
	Commit(tx *Tx, now time.Time) error
	// Committed is called after the data has been committed.
	Committed()
	// Undone is called after a rollback of one operation or, if all is true, of the transaction. It drops the data
	// that is not in the database.
	Undone(all bool)
}

// Keep registers a room's keeper for all transactions; see Tx.Kept. It must be called before the file is opened.
func (s *DB) Keep(room string, k Keeper) {
	s.keepers = append(s.keepers, keeperOf{k, room})
}

type keeperOf struct {
	Keeper
	room string
}

// Kept returns the keeper of a room, or nil if it has none.
func (tx *Tx) Kept(room string) Keeper {
	for i := range tx.Store.keepers {
		if k := &tx.Store.keepers[i]; k.room == room {
			return k.Keeper
		}
	}
	return nil
}

// end calls End on every keeper.
func (tx *Tx) end() error {
	for _, k := range tx.Store.keepers {
		if err := k.End(tx); err != nil {
			return err
		}
	}
	return nil
}

// keep calls Commit on every keeper.
func (w *writer) keep(now time.Time) error {
	w.tx.upkeep = true
	defer func() { w.tx.upkeep = false }()
	for _, k := range w.store.keepers {
		if err := k.Commit(&w.tx, now); err != nil {
			return err
		}
	}
	return nil
}
