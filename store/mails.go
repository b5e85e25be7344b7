package store

import (
	"context"
	"time"

	"newsletterd/core"
)

// The states of a row in mail.
const (
	mailQueued  = 0
	mailSent    = 1
	mailFailed  = 2
	mailLeftOut = 3 // over a limit, or there was nothing to say: kept so that every request does the same work
)

// How many confirmation mails an address gets in 24 hours, and of how many "subscribed already" a list's.
const (
	mailWindow           = 24 * time.Hour
	confirmsPerListEmail = 3
	confirmsPerEmail     = 10
	alreadyPerListEmail  = 1
)

// addMail queues a mail for its DueAt (0: at once) and wakes the mailer after the commit.
func (tx *Tx) addMail(m core.Mail, now core.Instant) error {
	return tx.writeMail(m, mailQueued, now)
}

// writeMail adds a row in a given state.
func (tx *Tx) writeMail(m core.Mail, state int, now core.Instant) error {
	if m.Params == "" {
		m.Params = "{}"
	}
	if state == mailQueued {
		tx.kick(TopicMail)
	}
	_, err := tx.exec(`INSERT INTO mail (kind, tenant_id, list_id, email, email_key, token_id, params, state, due_at, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.Kind, m.TenantID, m.ListID, string(m.Email), m.Email.Key(), m.TokenID, m.Params, state, int64(max(m.DueAt, now)), int64(now))
	return err
}

// DueMails reads what the mailer may send now, oldest first. The one process that sends remembers what it holds,
// so a claim needs no write; what it holds is read again until its result is recorded.
func (s *Store) DueMails(ctx context.Context, now core.Instant, limit int) ([]core.Mail, error) {
	var m []core.Mail
	err := s.all(ctx, &m, `SELECT id, kind, tenant_id, list_id, email, token_id, params, tries, due_at, created_at FROM mail
		WHERE state = 0 AND due_at <= ? ORDER BY due_at, id LIMIT ?`, int64(now), limit)
	return m, err
}

// NextMail is when the next queued mail behind now is due; 0: there is none.
func (s *Store) NextMail(ctx context.Context, now core.Instant) (core.Instant, error) {
	var at core.Instant
	err := s.get(ctx, &at, "SELECT coalesce(min(due_at), 0) FROM mail WHERE state = 0 AND due_at > ?", int64(now))
	return at, err
}

// MailResult is what became of one try to send a mail.
type MailResult struct {
	ID      int64
	Sent    bool
	RetryAt core.Instant // not sent and not 0: queued again for then
	Reason  string       // of a failure, without addresses or tokens
}

// FinishMails records results.
func (s *Store) FinishMails(ctx context.Context, results []MailResult, now core.Instant) error {
	return s.update(ctx, func(tx *Tx) error {
		for _, r := range results {
			if err := tx.finishMail(r, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (tx *Tx) finishMail(r MailResult, now core.Instant) error {
	if !r.Sent && r.RetryAt != 0 {
		_, err := tx.exec("UPDATE mail SET tries = tries + 1, due_at = ?, reason = ? WHERE id = ?", int64(r.RetryAt), r.Reason, r.ID)
		return err
	}
	state := mailSent
	if !r.Sent {
		state = mailFailed
	}
	_, err := tx.exec("UPDATE mail SET tries = tries + 1, state = ?, finished_at = ?, reason = ? WHERE id = ?", state, int64(now), r.Reason, r.ID)
	return err
}
