package people

import (
	"context"
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// whyLimit is the maximum number of emails of each kind that Why returns. It returns the newest ones.
const whyLimit = 20

const whySubscriptions = `SELECT l.tenant_id, s.list_id, l.name AS list_name, s.status, s.changed_at, coalesce(b.block, '') AS
	block FROM json_each(?1) AS p CROSS JOIN subscription AS s ON s.list_id = p.value->>0 AND s.id = p.value->>1
	CROSS JOIN list AS l ON l.id = s.list_id AND l.deleted_at = 0
	LEFT JOIN subscriber AS b ON b.list_id = s.list_id AND b.id = s.id
	WHERE ?2 OR l.tenant_id IN (SELECT value FROM json_each(?3)) ORDER BY l.name, l.id LIMIT 200`

const whyMails = `SELECT id, kind, tenant_id, list_id, CASE state WHEN ` + tenants.SQLMailQueued + ` THEN 'waiting' WHEN ` +
	tenants.SQLMailSent + ` THEN 'sent' ELSE 'failed' END AS state, tries, created_at, iif(state = ` + tenants.SQLMailQueued + `, due_at, 0) AS
	due_at, finished_at, reason FROM mail INDEXED BY mail_email WHERE email_key = ?1 AND state != ` + tenants.SQLMailLeftOut + ` AND (?2 OR list_id <> '' AND
	tenant_id IN (SELECT value FROM json_each(?3))) ORDER BY id DESC LIMIT +?4`

// Why returns the reasons why an address may not have received an email: its subscriptions, its blocks, and the last
// emails to it with the receiving server's replies. It covers the tenants in among or, if all is true, every tenant. It
// includes emails about an account only if all is true. Its only error is core.ErrStorage.
func (s *Store) Why(ctx context.Context, email core.Email, among []string, all bool) (w core.Why, err error) {
	w = core.Why{
		Email: email, Subscriptions: []core.WhySubscription{}, Blocks: []core.Suppressed{}, Mails: []core.WhyMail{},
	}
	tenant := ""
	if !all && len(among) == 1 {
		tenant = among[0]
	}
	if w.Blocks, err = s.Suppressions(ctx, email, tenant); err != nil {
		return w, err
	}
	w.Blocks = slices.DeleteFunc(w.Blocks, func(b core.Suppressed) bool {
		return !all && b.TenantID != core.TenantNone && !slices.Contains(among, b.TenantID)
	})
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		pairs, err := tenants.IDsAmong(s.DB, r, email.Key(), "")
		if err == nil {
			err = r.All(&w.Subscriptions, whySubscriptions, pairs, all, db.JsonOf(among))
		}
		if err == nil {
			err = r.All(&w.Mails, whyMails, email.Key(), all, db.JsonOf(among), whyLimit)
		}
		return err
	})
	if err == nil {
		w.Campaigns, err = s.History(ctx, email, among, all, core.Page{Limit: whyLimit})
	}
	return w, err
}
