package tenants

import (
	"context"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// The states of a row in the table mail.
const (
	MailQueued = 0
	mailSent   = 1
	mailFailed = 2
	// not sent because of a limit, or because there is no longer a reason to; some rows are kept so that all requests
	// do the same work
	MailLeftOut = 3
)

// The same states as SQL literals. Query plans depend on literal states.
const (
	SQLMailQueued  = "0"
	SQLMailSent    = "1"
	SQLMailFailed  = "2"
	SQLMailLeftOut = "3"
)

// The maximum number of emails to one address within MailPeriod, by kind: confirmation, "already subscribed" notice of
// a list, and undo link.
const (
	MailPeriod           = 24 * time.Hour
	ConfirmsPerListEmail = 3
	ConfirmsPerEmail     = 10
	AlreadyPerListEmail  = 1
	UndosPerListEmail    = 3 // undo links after an unsubscribe, limited like confirmations
	UndosPerEmail        = 10
)

// MailDelay is the delay between the response to a public request and the email that the request may cause. Sending the
// email during the response would make the response slower and so reveal the email.
const MailDelay = 500 * time.Millisecond

var insertMail = db.InsertInto("mail",
	"kind, tenant_id, list_id, email, email_key, token_id, params, state, due_at, created_at")

// AddMail queues an email until its DueAt (0 means now). The mailer wakes after the commit or, if that is later, when
// the email is due.
func AddMail(tx *db.Tx, m core.Mail, now core.Instant) error {
	return WriteMail(tx, m, MailQueued, now)
}

// LeaveOutConfirmations cancels the confirmation emails of a list to an address that are queued and not being sent yet.
func LeaveOutConfirmations(tx *db.Tx, listID, emailKey string, now core.Instant) error {
	_, err := tx.Exec("UPDATE mail SET state = "+SQLMailLeftOut+`, finished_at = ? WHERE email_key = ? AND kind = ?
		AND list_id = ? AND state != `+SQLMailLeftOut+" AND +state = "+SQLMailQueued, int64(now), emailKey,
		core.MailConfirm, listID)
	return err
}

// WriteMail adds an email in the given state.
func WriteMail(tx *db.Tx, m core.Mail, state int, now core.Instant) error {
	if m.Params == "" {
		m.Params = "{}"
	}
	topic := db.TopicMail
	if m.DueAt > now {
		topic = db.TopicMailSoon
	}
	tx.Kick(topic) // even for emails that are left out, so that the mailer's work reveals nothing to the caller
	_, err := tx.Exec(insertMail,
		m.Kind, m.TenantID, m.ListID, string(m.Email), m.Email.Key(), m.TokenID, m.Params, state, int64(max(m.DueAt,
			now)), int64(now))
	return err
}

// LeaveOut does the same work as WriteMail for a subscriber email that will not be sent. For each list, address and
// MailPeriod, it adds at most one more row than the limit on emails of that kind. Repeated requests therefore don't
// make the table grow.
func LeaveOut(tx *db.Tx, m core.Mail, now core.Instant) error {
	tx.Kick(db.TopicMailSoon)
	_, err := tx.Exec(`INSERT INTO mail (kind, tenant_id, list_id, email, email_key, state, due_at, created_at)
		SELECT ?1, ?2, ?3, ?4, ?5, `+SQLMailLeftOut+`, ?6, ?7
		WHERE (SELECT count(*) FROM mail WHERE email_key = ?5 AND kind = ?1 AND created_at > ?8 AND list_id = ?3 AND
		state != `+SQLMailLeftOut+`) +
			(SELECT count(*) FROM mail WHERE email_key = ?5 AND list_id = ?3 AND created_at > ?8 AND kind = ?1 AND state
			= `+SQLMailLeftOut+`) < ?9`,
		m.Kind, m.TenantID, m.ListID, string(m.Email), m.Email.Key(), int64(max(m.DueAt,
			now)), int64(now), int64(now.Add(-MailPeriod)), RequestsApart)
	return err
}

// DueMails returns the emails that may be sent now, oldest first. The only sending process remembers which emails it
// holds, so claiming them needs no write. Emails that it holds are returned again until their result is recorded. The
// only error is core.ErrStorage.
func (s *Store) DueMails(ctx context.Context, now core.Instant, limit int) ([]core.Mail, error) {
	var m []core.Mail
	err := s.All(ctx, &m,
		`SELECT id, kind, tenant_id, list_id, email, token_id, params, tries, due_at, created_at FROM mail
		INDEXED BY mail_due WHERE state = `+SQLMailQueued+` AND due_at <= ? ORDER BY due_at, id LIMIT +?`,
		int64(now), limit)
	return m, err
}

// NewMails returns the due emails with ids after the given one, in queue order. Unlike DueMails, it doesn't reread
// emails that the process already holds. The only error is core.ErrStorage.
func (s *Store) NewMails(ctx context.Context, now core.Instant, after int64, limit int) ([]core.Mail, error) {
	var m []core.Mail
	err := s.All(ctx, &m,
		`SELECT id, kind, tenant_id, list_id, email, token_id, params, tries, due_at, created_at FROM mail
		WHERE id > ? AND +state = `+SQLMailQueued+` AND +due_at <= ? ORDER BY id LIMIT +?`, after, int64(now), limit)
	return m, err
}

// withRelays is a query for the tenants that have their own relays.
const withRelays = "SELECT id FROM tenant INDEXED BY tenant_with_relays WHERE relays != '[]' AND deleted_at = 0"

// mailSender is the SQL expression for the tenant whose relays may send a queued email. It is empty for emails about an
// account (core.Mail.AboutAccount). A relay that reads such an email could use its token to take over the account.
const mailSender = "iif(list_id = '' AND kind != 'test', '', tenant_id)"

// DueMailsOf is like DueMails, for the emails of owner, a tenant with its own relays. If owner is empty, it returns all
// other emails. The only error is core.ErrStorage.
func (s *Store) DueMailsOf(ctx context.Context, owner string, now core.Instant, limit int) (m []core.Mail, err error) {
	err = s.All(ctx, &m,
		`SELECT id, kind, tenant_id, list_id, email, token_id, params, tries, due_at, created_at FROM mail
		INDEXED BY mail_due WHERE state = `+SQLMailQueued+` AND due_at <= ?1 AND iif(?2 = '', `+mailSender+` NOT
		IN (`+withRelays+`),
		`+mailSender+` = ?2) ORDER BY due_at, id LIMIT +?3`,
		int64(now), owner, limit)
	return m, err
}

// NewMailsOf is like NewMails, for the emails of owner, a tenant with its own relays. If owner is empty, it returns all
// other emails. The only error is core.ErrStorage.
func (s *Store) NewMailsOf(ctx context.Context, owner string, now core.Instant, after int64, limit int) (m []core.Mail,
	err error,
) {
	err = s.All(ctx, &m,
		`SELECT id, kind, tenant_id, list_id, email, token_id, params, tries, due_at, created_at FROM mail
		WHERE id > ?1 AND +state = `+SQLMailQueued+` AND +due_at <= ?2 AND iif(?3 = '', `+mailSender+` NOT IN
		(`+withRelays+`), `+mailSender+` = ?3) ORDER BY id LIMIT +?4`,
		after, int64(now), owner, limit)
	return m, err
}

// MailOwners returns the tenants that have their own relays and due emails. If no tenant has relays, it reads no
// emails. The only error is core.ErrStorage.
func (s *Store) MailOwners(ctx context.Context, now core.Instant) (ids []string, err error) {
	err = s.All(ctx, &ids, "SELECT DISTINCT "+mailSender+" FROM ("+withRelays+` LIMIT 1) CROSS JOIN mail
		INDEXED BY mail_due WHERE state = `+SQLMailQueued+` AND due_at <= ? AND `+mailSender+` IN (`+withRelays+`)`,
		int64(now))
	return ids, err
}

// NextMail returns when the next queued email after now is due, or 0 if there is none. The only error is
// core.ErrStorage.
func (s *Store) NextMail(ctx context.Context, now core.Instant) (core.Instant, error) {
	var at core.Instant
	err := s.Get(ctx, &at, "SELECT coalesce(min(due_at), 0) FROM mail INDEXED BY mail_due WHERE state = "+
		SQLMailQueued+" AND due_at > ?", int64(now))
	return at, err
}

// MailResult is the result of one attempt to send an email.
type MailResult struct {
	ID      int64
	Sent    bool
	LeftOut bool         // not sent, because there is no longer a reason to
	RetryAt core.Instant // time of the next attempt, if not sent; 0 means never
	Reason  string       // reason for a failure, without addresses or tokens
}

// FinishMails records the results of attempts. The only error is core.ErrStorage.
func (s *Store) FinishMails(ctx context.Context, results []MailResult, now core.Instant) error {
	return s.UpdateRepeatable(ctx, func(tx *db.Tx) error {
		sent := make([]any, 0, SentMailsAtOnce)
		for i, r := range results {
			if r.Sent && r.Reason == "" {
				sent = append(sent, r.ID)
			} else if err := finishMail(tx, r, now); err != nil {
				return err
			}
			if len(sent) == cap(sent) || len(sent) > 0 && i == len(results)-1 {
				if err := mailsSent(tx, sent, now); err != nil {
					return err
				}
				sent = sent[:0]
			}
		}
		return nil
	})
}

// SentMailsAtOnce is the number of emails that one statement marks as sent.
const SentMailsAtOnce = 32

var sentMails = "UPDATE mail SET tries = tries + 1, state = " + SQLMailSent +
	", finished_at = ?, reason = '' WHERE id IN (?" + strings.Repeat(", ?", SentMailsAtOnce-1) + ")"

// mailsSent marks many emails as sent in one statement, because each statement costs more than each row. Unused
// parameters repeat the last id.
func mailsSent(tx *db.Tx, ids []any, now core.Instant) error {
	args := make([]any, 1, 1+SentMailsAtOnce)
	args[0] = int64(now)
	args = append(args, ids...)
	for len(args) < cap(args) {
		args = append(args, ids[len(ids)-1])
	}
	_, err := tx.Exec(sentMails, args...)
	return err
}

func finishMail(tx *db.Tx, r MailResult, now core.Instant) error {
	if !r.Sent && r.RetryAt != 0 {
		_, err := tx.Exec("UPDATE mail SET tries = tries + 1, due_at = ?, reason = ? WHERE id = ?", int64(r.RetryAt),
			r.Reason, r.ID)
		return err
	}
	state := mailSent
	switch {
	case r.LeftOut:
		state = MailLeftOut
	case !r.Sent:
		state = mailFailed
	}
	_, err := tx.Exec("UPDATE mail SET tries = tries + 1, state = ?, finished_at = ?, reason = ? WHERE id = ?", state,
		int64(now), r.Reason, r.ID)
	return err
}

// RequestsApart is the number of requests per list, address and MailPeriod that get separate rows. It is the limit on
// emails plus one. It doesn't depend on what is known about the address. Later requests send no email and replace the
// last row.
const RequestsApart = ConfirmsPerListEmail + 1

// PadTo runs statements that change nothing until the operation has run n statements. The response time then doesn't
// reveal which case the operation handled.
func PadTo(tx *db.Tx, n int) error {
	for tx.Ran() < n {
		if _, err := tx.Exec("UPDATE user_token SET used_at = used_at WHERE id = ''"); err != nil {
			return err
		}
	}
	return nil
}
