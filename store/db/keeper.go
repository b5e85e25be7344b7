package db

import "time"

// Keeper is what a room keeps in memory of the operations of a transaction, until it is written with them. Only the
// writer calls it, so it needs no lock.
type Keeper interface {
	// Begin forgets what the operation before has gathered: another one begins.
	Begin()
	// End writes what the operation has gathered and what belongs to it alone. Its error fails the operation.
	End(tx *Tx) error
	// Done takes what the operation has gathered: it has succeeded.
	Done()
	// Commit writes what the operations have gathered that have succeeded: the transaction is about to be committed.
	Commit(tx *Tx, now time.Time) error
	// Committed says that all of it is in the database.
	Committed()
	// Undone forgets what is not in the database: an operation was rolled back alone, or (all) the transaction.
	Undone(all bool)
}

// Keep has a room's keeper take part in all transactions; see Tx.Kept. It must be called before the file is opened.
func (s *DB) Keep(room string, k Keeper) {
	s.keepers = append(s.keepers, keeperOf{k, room})
}

type keeperOf struct {
	Keeper
	room string
}

// Kept returns the keeper of a room; nil: it has none.
func (tx *Tx) Kept(room string) Keeper {
	for i := range tx.Store.keepers {
		if k := &tx.Store.keepers[i]; k.room == room {
			return k.Keeper
		}
	}
	return nil
}

// end has every keeper write what the operation has gathered.
func (tx *Tx) end() error {
	for _, k := range tx.Store.keepers {
		if err := k.End(tx); err != nil {
			return err
		}
	}
	return nil
}

// keep has every keeper write what the transaction has gathered.
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
