package campaigns

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// The number of test emails that a tenant can send per hour. The limit is high enough for work on a campaign and too
// low for sending one.
const (
	testMails       = 100
	testMailsWindow = time.Hour
)

// AddTestMail queues a transactional email to one address with the content of a job. If the address is blocked, it
// returns an Invalid error. If the tenant is over its limit, it returns core.ErrTooMany.
func (s *Store) AddTestMail(ctx context.Context, j *core.SendJob, email core.Email, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		return addTestMail(tx, j.TenantID, j.ListID, email, core.TestMail{JobID: j.ID}, now)
	})
}

// AddCampaignTests queues an email with a campaign version to each of the given addresses or, on error, to none of
// them. It also keeps the version permanently. It returns the errors of AddTestMail, on the field to.
func (s *Store) AddCampaignTests(ctx context.Context, d *Draft, to []core.Email, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := keep(tx, d.Campaign.No, d.Version.Version); err != nil {
			return err
		}
		for _, email := range to {
			err := addTestMail(tx, d.Campaign.TenantID, d.Content.List.ID, email,
				core.TestMail{CampaignID: d.Campaign.ID, Version: d.Version.Version}, now)
			if fault, ok := errors.AsType[*core.Error](err); ok && fault.Kind == core.Invalid {
				return core.Invalidf("to", "%s is on the suppression list. Remove the address.", email)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func addTestMail(tx *db.Tx, tenantID, listID string, email core.Email, of core.TestMail, now core.Instant) error {
	var barred bool
	err := tx.Get(&barred, `SELECT EXISTS (SELECT 1 FROM suppression WHERE tenant_id = ?1 AND email_key = ?2)
		OR EXISTS (SELECT 1 FROM disabled WHERE email_key = ?2 AND tenant_id IN ('', ?1))
		OR EXISTS (SELECT 1 FROM erased WHERE hash = ?3 AND tenant_id IN ('', ?1) AND kind <> 'left')`,
		tenantID, email.Key(), tenants.ErasedHash(tx.DB(), email.Key()))
	if err != nil {
		return err
	}
	if barred {
		return core.Invalidf("email", "This address is on the suppression list. Use another address.")
	}
	wait, err := tx.Throttle("test-mail:"+tenantID, testMails, testMailsWindow, now)
	if err != nil {
		return err
	}
	if wait > 0 {
		return &core.Error{
			Kind: core.TooMany, Code: "rate_limited", Message: "Too many test emails were sent. Try again later.",
			RetryAfter: int(wait/time.Second) + 1,
		}
	}
	params, err := json.Marshal(of)
	if err != nil {
		return err
	}
	return tenants.AddMail(tx, core.Mail{
		Kind: core.MailTest, TenantID: tenantID, ListID: listID, Email: email, Params: string(params),
	}, now)
}
