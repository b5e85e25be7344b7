package store

import (
	"context"
	"time"

	"newsletterd/core"
)

// How many test mails a tenant gets in an hour: enough for anyone who writes a letter, too few for sending one.
const (
	testMails       = 100
	testMailsWindow = time.Hour
)

// AddTestMail queues a mail with the content of a job to one address, among the transactional ones. An address that
// mails must not go to is Invalid; over the limit of the tenant it is core.ErrTooMany.
func (s *Store) AddTestMail(ctx context.Context, j *core.SendJob, email core.Email, now core.Instant) error {
	return s.update(ctx, func(tx *Tx) error {
		var barred bool
		err := tx.get(&barred, `SELECT EXISTS (SELECT 1 FROM suppression WHERE tenant_id = ?1 AND email_key = ?2)
			OR EXISTS (SELECT 1 FROM disabled WHERE email_key = ?2 AND tenant_id IN ('', ?1))
			OR EXISTS (SELECT 1 FROM erased WHERE hash = ?3 AND tenant_id IN ('', ?1) AND kind <> 'left')`,
			j.TenantID, email.Key(), s.erasedHash(email.Key()))
		if err != nil {
			return err
		}
		if barred {
			return core.Invalidf("email", "No mail may go to this address.")
		}
		wait, err := tx.throttle("test-mail:"+j.TenantID, testMails, testMailsWindow, now)
		if err != nil {
			return err
		}
		if wait > 0 {
			return &core.Error{
				Kind: core.TooMany, Code: "rate_limited", Message: "Too many test mails were asked for; try again " +
					"later.",
				RetryAfter: int(wait/time.Second) + 1,
			}
		}
		return tx.addMail(core.Mail{
			Kind: core.MailTest, TenantID: j.TenantID, ListID: j.ListID, Email: email,
			Params: `{"job_id":"` + j.ID + `"}`,
		}, now)
	})
}
