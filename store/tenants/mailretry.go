package tenants

import (
	"context"
	"strconv"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// MailFilter selects transactional emails. Empty fields are ignored.
type MailFilter struct {
	TenantID, Kind string
	State          string // core.MailWaiting or core.MailFailed
}

// changeLinkTTL is the lifetime of the link in an email of kind change.
const changeLinkTTL = 24 * time.Hour

// ErrDeadLink is returned when the link in an email has expired, so there is nothing to send.
var ErrDeadLink = core.Conflictf("conflict",
	"The link in this email has expired. The person has to request a new email.")

// QueuedMails returns a page of the emails that are queued or failed, sorted by id. The only error is core.ErrStorage.
func (s *Store) QueuedMails(ctx context.Context, f MailFilter, afterID int64, limit int) (m []core.QueuedMail,
	err error,
) {
	err = s.All(ctx, &m, `SELECT id, kind, tenant_id, list_id, email, token_id, params, tries, due_at, created_at,
		finished_at, reason, iif(state = `+SQLMailFailed+`, 'failed', 'waiting') AS state FROM mail
		WHERE id > ?1 AND state IN (`+SQLMailQueued+`, `+SQLMailFailed+`) AND (?2 = '' OR tenant_id = ?2)
		AND (?3 = '' OR kind = ?3) AND (?4 = '' OR (state = `+SQLMailFailed+`) = (?4 = 'failed')) ORDER BY id
		LIMIT +?5`,
		afterID, f.TenantID, f.Kind, f.State, limit)
	return m, err
}

// requeue is the start of a statement that makes emails due now. If an email is older than the retry period, its next
// rejection is final.
const requeue = "UPDATE mail SET state = " + SQLMailQueued + ", tries = 0, due_at = ?1, finished_at = 0 WHERE "

// linkLives is the SQL condition that an email has no link or its link is still valid.
const linkLives = `(token_id = '' OR kind = 'change' AND created_at > ?2
	OR EXISTS (SELECT 1 FROM user_token AS t WHERE t.id = token_id AND t.used_at = 0 AND t.expires_at > ?1)
	OR EXISTS (SELECT 1 FROM confirm_token AS t WHERE t.id = token_id)
	OR EXISTS (SELECT 1 FROM invitation AS t WHERE t.id = token_id AND t.expires_at > ?1))`

// RetryMail makes a queued or failed email due now. If the email was sent or never existed, it returns
// core.ErrNotFound. If its link has expired, it returns ErrDeadLink.
func (s *Store) RetryMail(ctx context.Context, id int64, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var tenantID string
		if err := tx.Get(&tenantID, "SELECT tenant_id FROM mail WHERE id = ? AND state IN ("+SQLMailQueued+", "+
			SQLMailFailed+")", id); err != nil {
			return err
		}
		tx.Kick(db.TopicMail)
		if err := tx.Watch("mail", strconv.FormatInt(id, 10)); err != nil {
			return err
		}
		n, err := tx.Exec(requeue+"id = ?3 AND "+linkLives, int64(now), int64(now.Add(-changeLinkTTL)), id)
		if err == nil && n == 0 {
			err = ErrDeadLink
		}
		if err != nil {
			return err
		}
		return tx.Audit(now, actor, "mail.retry", tenantID, strconv.FormatInt(id, 10))
	})
}

// RetryFailedMails makes failed emails that match f due now, and returns their number. It takes up to limit emails,
// oldest first. It skips emails whose link has expired. The only error is core.ErrStorage.
func (s *Store) RetryFailedMails(ctx context.Context, f MailFilter, limit int, actor string, now core.Instant) (n int64,
	err error,
) {
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		tx.Kick(db.TopicMail)
		var ids []int64
		err = tx.All(&ids, "SELECT id FROM mail INDEXED BY mail_failed WHERE state = "+SQLMailFailed+
			" AND (?3 = '' OR tenant_id = ?3) AND (?4 = '' OR kind = ?4) AND "+linkLives+" ORDER BY id LIMIT +?5",
			int64(now), int64(now.Add(-changeLinkTTL)), f.TenantID, f.Kind, limit)
		if err == nil {
			n, err = tx.ExecEach(ids, requeue+"id = ?2", int64(now))
		}
		if err != nil || n == 0 {
			return err
		}
		tx.Tell("retried", nil, n)
		return tx.Audit(now, actor, "mail.retry", f.TenantID, "failed mails")
	})
	return n, err
}

// LastRefusal returns the reason why the newest failed transactional email failed. If there is none, it returns
// core.ErrNotFound.
func (s *Store) LastRefusal(ctx context.Context) (reason string, err error) {
	err = s.Get(ctx, &reason, "SELECT reason FROM mail INDEXED BY mail_failed WHERE state = "+SQLMailFailed+
		" ORDER BY id DESC LIMIT 1")
	return reason, err
}
