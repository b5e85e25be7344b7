package polls

import (
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// answerOf selects a person's answer to a poll.
const answerOf = "SELECT option, changes FROM poll_answer WHERE poll_no = ? AND list_id = ? AND subscriber_id = ?"

// Given is a person's answer to a poll: the number of an option, or 0 if there is none yet.
type Given struct {
	Option  int `db:"option"`
	Changes int `db:"changes"`
}

// AnswerOf returns a list subscriber's answer to the poll.
func (p *Poll) AnswerOf(q db.Querier, listID, subscriberID string) (g Given, err error) {
	err = q.Get(&g, answerOf, p.No, listID, subscriberID)
	if errors.Is(err, core.ErrNotFound) {
		return Given{}, nil
	}
	return g, err
}

// Answer stores a list subscriber's answer and reports whether it differs from the previous one. The poll must have the
// option. If the poll is closed, it returns core.ErrPollClosed. If the person changed the answer too often, it returns
// core.ErrAnswerFixed.
func (p *Poll) Answer(tx *db.Tx, listID, subscriberID string, option int, now core.Instant) (changed bool, err error) {
	r := core.PollResult{ClosesAt: p.ClosesAt, ClosedAt: p.ClosedAt}
	if !r.OpenAt(now) {
		return false, core.ErrPollClosed
	}
	was, err := p.AnswerOf(tx, listID, subscriberID)
	switch {
	case err != nil || was.Option == option:
		return false, err
	case was.Changes >= core.MaxAnswerChanges:
		return false, core.ErrAnswerFixed
	}
	_, err = tx.Exec(`INSERT INTO poll_answer (poll_no, list_id, subscriber_id, option, at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET option = excluded.option, at = excluded.at, changes = changes + 1`,
		p.No, listID, subscriberID, option, int64(now))
	return err == nil, err
}

// OfPerson selects a person's answers to all polls. ?1 is a JSON array of pairs of list and subscriber id.
const OfPerson = `SELECT q.campaign_id, q.question, o.text AS answer, a.at FROM json_each(?1) AS p
	CROSS JOIN poll_answer AS a INDEXED BY poll_answer_person ON a.list_id = p.value->>0 AND a.subscriber_id = p.value->>1
	CROSS JOIN poll AS q ON q.no = a.poll_no
	CROSS JOIN poll_option AS o ON o.poll_no = a.poll_no AND o.number = a.option ORDER BY a.at, a.poll_no`

const (
	// AnswersBetween selects the answers of a list's subscribers to a poll, between two ids (both inclusive).
	AnswersBetween = `SELECT concat(option, char(31), subscriber_id) AS line FROM poll_answer
		WHERE poll_no = ?1 AND list_id = ?2 AND subscriber_id >= ?3 AND subscriber_id <= ?4
		ORDER BY subscriber_id LIMIT +?5`
	// AnswersAmong selects the answers to a poll of the list's subscribers with the ids in a JSON array.
	AnswersAmong = `SELECT j.key AS place, a.option FROM json_each(?3) AS j CROSS JOIN poll_answer AS a
		ON a.poll_no = ?1 AND a.list_id = ?2 AND a.subscriber_id = j.value`
)

// Texts returns the texts of a poll's options, in order.
func (p *Poll) Texts(q db.Querier) (texts []string, err error) {
	err = q.All(&texts, "SELECT text FROM poll_option WHERE poll_no = ? ORDER BY number", p.No)
	return texts, err
}
