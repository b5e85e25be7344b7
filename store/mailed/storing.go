package mailed

import (
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

const (
	lastPage = `SELECT first_seq, length(states) AS n FROM recipient_page WHERE job_no = ?
		ORDER BY first_seq DESC LIMIT 1`
	pageWith = `SELECT first_seq, states, ids FROM recipient_page WHERE job_no = ? AND first_seq <= ?
		ORDER BY first_seq DESC LIMIT 1`
)

// Next returns the seq of the first recipient of a job who is not in a page yet.
func Next(q db.Querier, job int64) (seq int64, err error) {
	var last struct {
		First int64 `db:"first_seq"`
		N     int64 `db:"n"`
	}
	if err = q.Get(&last, lastPage, job); errors.Is(err, core.ErrNotFound) {
		return 1, nil
	}
	return last.First + last.N, err
}

// Add writes a page of a job's recipients. first is the seq of the first one. recipients has at most Size elements, in
// the order of their seqs. If an id is not a UUID, Add writes nothing and returns false.
func Add(tx *db.Tx, job, first int64, recipients []Recipient) (added bool, err error) {
	states, ids := make([]byte, len(recipients)), make([]byte, idBytes*len(recipients))
	for i, r := range recipients {
		if states[i] = r.State; len(r.ID) < len(idText) {
			states[i] = Nothing // erased
		}
		if !putID(ids[i*idBytes:], r.ID) || i > 0 && keyAt(ids, i).Less(keyAt(ids, i-1)) {
			return false, nil
		}
	}
	_, err = tx.Exec("INSERT INTO recipient_page (job_no, first_seq, first_id, states, ids) VALUES (?, ?, ?, ?, ?)",
		job, first, recipients[0].ID, states, ids)
	return err == nil, err
}

// Erase replaces the id of a recipient with left, the part of it that remains. The page then no longer shows whether
// the email was sent.
func Erase(tx *db.Tx, job, seq int64, left string) error {
	var p Page
	err := tx.Get(&p, pageWith, job, seq)
	at := seq - p.FirstSeq
	if errors.Is(err, core.ErrNotFound) || err == nil && at >= int64(len(p.States)) {
		return nil
	}
	if err != nil {
		return err
	}
	p.States[at] = Nothing
	if !putID(p.IDs[at*idBytes:(at+1)*idBytes], left) {
		return core.ErrStorage.With(errors.New("the remaining part of an erased ID is malformed"))
	}
	first := ""
	if at == 0 {
		first = left
	}
	return tx.One("UPDATE recipient_page SET states = ?, ids = ?, first_id = iif(? = 0, ?, first_id) WHERE job_no = ? "+
		"AND first_seq = ?", p.States, p.IDs, at, first, job, p.FirstSeq)
}
