package store

import (
	"encoding/json"
	"errors"

	"newsletterd/core"
)

// candidate is a subscriber of a list who may be mailed.
type candidate struct {
	ID       string `db:"id"`
	EmailKey string `db:"email_key"`
}

// candidatesOfList are those whom recipientsOfList makes recipients. The fourth number and the fifth are not used.
const candidatesOfList = `SELECT s.id, s.email_key FROM subscriber AS s ` + barred + `
	WHERE s.list_id = ?1 AND s.id > ?2 AND s.id <= ?3 AND s.word = 'active' AND s.block = '' AND p.kind IS NULL AND
	d.reason IS NULL ORDER BY s.id`

// reachedAmong finds subscribers of a list among the recipients of a job whom that list reaches, from one seq to
// another, and returns which they are, counted from 0.
const reachedAmong = `SELECT j.place FROM (SELECT ?1 AS no, ?2 AS low, ?3 AS high, value AS subscriber_id, key AS place
	FROM json_each(?4)) AS j CROSS JOIN recipient AS r ON ` + isRecipient

// expandLists is expand for a job that goes to several lists, one after the other. Who is a recipient by an earlier list
// already does not become one again: that is looked up among the rows, which are written with the position.
func (tx *Tx) expandLists(j *core.SendJob, after, mark string, step int64) (more bool, err error) {
	parts, err := jobParts(tx, j)
	if err != nil {
		return false, err
	}
	place, upper := lastBegun(parts), lastID
	list := parts[place].ListID
	err = tx.get(&upper, "SELECT id FROM subscriber WHERE list_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?", list,
		after, step-1)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return false, err
	}
	more = err == nil
	var found []candidate
	if err := tx.all(&found, candidatesOfList, list, after, upper, nil, nil, j.TenantID); err != nil {
		return false, err
	}
	if found, err = tx.notReached(found, j.No, parts[:place]); err != nil {
		return false, err
	}
	if j.RetryOf != "" {
		old, err := tx.sendJob(j.RetryOf)
		if err != nil {
			return false, err
		}
		of, err := jobParts(tx, &old)
		if err != nil {
			return false, err
		}
		if found, err = tx.notReached(found, old.No, of[:min(place, lastBegun(of)+1)]); err != nil {
			return false, err
		}
	}
	if err := tx.addRecipients(j, found); err != nil {
		return false, err
	}
	n := int64(len(found))
	if !more && place+1 < len(parts) {
		if err := tx.beginList(j, int64(place)+1, n); err != nil {
			return false, err
		}
		more, mark, upper = true, restOfList, ""
	}
	return more, tx.one("UPDATE send_job SET recipients = recipients + ?, expanded_to = ?, expanded = ? WHERE no = ?",
		n, mark+upper, !more, j.No)
}

// notReached drops the candidates who are recipients of a job by one of some lists.
func (tx *Tx) notReached(found []candidate, jobNo int64, parts []jobPart) ([]candidate, error) {
	for _, p := range parts {
		if len(found) == 0 || p.To <= p.After {
			continue
		}
		ids := make([]string, len(found))
		of := tx.store.subscriptionIDs(p.ListID)
		for i := range found {
			ids[i] = of.of(found[i].EmailKey)
		}
		var reached []int
		if err := tx.all(&reached, reachedAmong, jobNo, p.After+1, p.To, jsonOf(ids)); err != nil {
			return nil, err
		}
		if len(reached) == 0 {
			continue
		}
		drop := make([]bool, len(found))
		for _, i := range reached {
			drop[i] = true
		}
		left := found[:0]
		for i, c := range found {
			if !drop[i] {
				left = append(left, c)
			}
		}
		found = left
	}
	return found, nil
}

// addRecipients makes candidates the next recipients of a job.
func (tx *Tx) addRecipients(j *core.SendJob, found []candidate) error {
	if len(found) == 0 {
		return nil
	}
	rows := make([][2]string, len(found))
	for i, c := range found {
		rows[i] = [2]string{c.ID, c.EmailKey}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO recipient (job_no, seq, subscriber_id, email_key)
		SELECT ?1, ?2 + 1 + key, value->>0, value->>1 FROM json_each(?3)`, j.No, j.Recipients, string(text))
	return err
}
