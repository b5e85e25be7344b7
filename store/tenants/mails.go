package tenants

import (
	"context"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// The states of a row in mail.
const (
	MailQueued = 0
	mailSent   = 1
	mailFailed = 2
	// over a limit, or there was nothing to say: the first ones are kept, so that requests do the same work
	MailLeftOut = 3
)

// The same states in the text of statements, whose plans depend on them.
const (
	SQLMailQueued  = "0"
	SQLMailSent    = "1"
	SQLMailFailed  = "2"
	SQLMailLeftOut = "3"
)

// How many confirmation mails an address gets in 24 hours, how many "subscribed already" of a list, and how many undo
// links.
const (
	MailPeriod           = 24 * time.Hour
	ConfirmsPerListEmail = 3
	ConfirmsPerEmail     = 10
	AlreadyPerListEmail  = 1
	UndosPerListEmail    = 3 // the way back after an unsubscribe, as confirmations
	UndosPerEmail        = 10
)

// MailDelay is how much later than the answer to anyone's request the mail goes out that may follow from it: work
// during the answer would make it slower, and so say whether there is a mail.
const MailDelay = 500 * time.Millisecond

var insertMail = db.InsertInto("mail",
	"kind, tenant_id, list_id, email, email_key, token_id, params, state, due_at, created_at")

// AddMail queues a mail for its DueAt (0: at once) and wakes the mailer, after the commit or when it is due.
func AddMail(tx *db.Tx, m core.Mail, now core.Instant) error {
	return WriteMail(tx, m, MailQueued, now)
}

// WriteMail adds a row in a given state.
func WriteMail(tx *db.Tx, m core.Mail, state int, now core.Instant) error {
	if m.Params == "" {
		m.Params = "{}"
	}
	topic := db.TopicMail
	if m.DueAt > now {
		topic = db.TopicMailSoon
	}
	tx.Kick(topic) // for a row that is left out, too: who is answered must not hear a mailer at work
	_, err := tx.Exec(insertMail,
		m.Kind, m.TenantID, m.ListID, string(m.Email), m.Email.Key(), m.TokenID, m.Params, state, int64(max(m.DueAt,
			now)), int64(now))
	return err
}

// LeaveOut does the work of writeMail for a mail to a subscriber that does not go out. It adds a row until mailPeriod
// has as many of the kind, list and address as get through at most, and one: repeated requests don't make the table
// grow.
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

// DueMails reads what the mailer may send now, oldest first. The one process that sends remembers what it holds, so a
// claim needs no write; what it holds is read again until its result is recorded. Its only error is core.ErrStorage.
func (s *Store) DueMails(ctx context.Context, now core.Instant, limit int) ([]core.Mail, error) {
	var m []core.Mail
	err := s.All(ctx, &m,
		`SELECT id, kind, tenant_id, list_id, email, token_id, params, tries, due_at, created_at FROM mail
		INDEXED BY mail_due WHERE state = `+SQLMailQueued+` AND due_at <= ? ORDER BY due_at, id LIMIT +?`,
		int64(now), limit)
	return m, err
}

// NewMails reads those after an id, in the order in which they were queued. DueMails finds everything; so what is held
// is not read again each time that something comes. Its only error is core.ErrStorage.
func (s *Store) NewMails(ctx context.Context, now core.Instant, after int64, limit int) ([]core.Mail, error) {
	var m []core.Mail
	err := s.All(ctx, &m,
		`SELECT id, kind, tenant_id, list_id, email, token_id, params, tries, due_at, created_at FROM mail
		WHERE id > ? AND +state = `+SQLMailQueued+` AND +due_at <= ? ORDER BY id LIMIT +?`, after, int64(now), limit)
	return m, err
}

// withRelays are the tenants whose mails go by relays of their own.
const withRelays = "SELECT id FROM tenant INDEXED BY tenant_with_relays WHERE relays != '[]' AND deleted_at = 0"

// mailSender is the tenant whose relays a queued mail may use: none for a mail about an account
// (core.Mail.AboutAccount), whose token opens the account to anyone who reads the mail on its way.
const mailSender = "iif(list_id = '' AND kind != 'test', '', tenant_id)"

// DueMailsOf is DueMails of one tenant with relays of its own; empty: of all others. Its only error is core.ErrStorage.
func (s *Store) DueMailsOf(ctx context.Context, owner string, now core.Instant, limit int) (m []core.Mail, err error) {
	err = s.All(ctx, &m,
		`SELECT id, kind, tenant_id, list_id, email, token_id, params, tries, due_at, created_at FROM mail
		INDEXED BY mail_due WHERE state = `+SQLMailQueued+` AND due_at <= ?1 AND iif(?2 = '', `+mailSender+` NOT
		IN (`+withRelays+`),
		`+mailSender+` = ?2) ORDER BY due_at, id LIMIT +?3`,
		int64(now), owner, limit)
	return m, err
}

// NewMailsOf is NewMails of one tenant with relays of its own; empty: of all others. Its only error is core.ErrStorage.
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

// MailOwners are the tenants with relays of their own that have mail due. Its only error is core.ErrStorage.
func (s *Store) MailOwners(ctx context.Context, now core.Instant) (ids []string, err error) {
	err = s.All(ctx, &ids, "SELECT DISTINCT "+mailSender+` FROM mail INDEXED BY mail_due WHERE state = `+SQLMailQueued+`
		AND due_at <= ? AND `+mailSender+` IN (`+withRelays+`)`, int64(now))
	return ids, err
}

// NextMail is when the next queued mail after now is due; 0: there is none. Its only error is core.ErrStorage.
func (s *Store) NextMail(ctx context.Context, now core.Instant) (core.Instant, error) {
	var at core.Instant
	err := s.Get(ctx, &at, "SELECT coalesce(min(due_at), 0) FROM mail INDEXED BY mail_due WHERE state = "+
		SQLMailQueued+" AND due_at > ?", int64(now))
	return at, err
}

// MailResult is what became of one try to send a mail.
type MailResult struct {
	ID      int64
	Sent    bool
	LeftOut bool         // not sent: there is no cause for it any more
	RetryAt core.Instant // not sent and not 0: queued again for then
	Reason  string       // of a failure, without addresses or tokens
}

// FinishMails records results. Its only error is core.ErrStorage.
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

// SentMailsAtOnce is how many mails one statement notes as sent.
const SentMailsAtOnce = 32

var sentMails = "UPDATE mail SET tries = tries + 1, state = " + SQLMailSent +
	", finished_at = ?, reason = '' WHERE id IN (?" + strings.Repeat(", ?", SentMailsAtOnce-1) + ")"

// mailsSent marks mails in one statement, which costs more than a row. The places that are left over repeat the last
// one.
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

// RequestsApart is how many requests of mailPeriod for one list and address get rows of their own, whatever is known of
// the address: those that a mail may go out for, and one. What comes then takes the place of the last one without a
// mail.
const RequestsApart = ConfirmsPerListEmail + 1

// PadTo runs statements that change nothing until the operation has run n: the time of the answer says nothing about
// the case that it took.
func PadTo(tx *db.Tx, n int) error {
	for tx.Ran() < n {
		if _, err := tx.Exec("UPDATE user_token SET used_at = used_at WHERE id = ''"); err != nil {
			return err
		}
	}
	return nil
}
