package tenants

import (
	"context"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

var senderDomainTable = db.TableOf[core.SenderDomain]("sender_domain", nil, []string{
	"tenant_id", "domain", "token", "created_at",
})

var (
	selectSenderDomains = "SELECT " + senderDomainTable.Columns + " FROM sender_domain WHERE "
	selectSenderDomain  = selectSenderDomains + "id = ?"
	senderDomainList    = ListByTenant(senderDomainTable.Columns, "sender_domain", "sender_domain_tenant", "true", false)
	senderDomainOf      = selectSenderDomains + "tenant_id = ? AND domain = ?"
	verifiedFor         = "SELECT DISTINCT domain FROM sender_domain WHERE domain IN (SELECT value FROM json_each(?)) AND " +
		"tenant_id <> ? AND verified_at > 0"
)

// domainChecks is the number of TXT record checks per tenant and minute.
const domainChecks = 20

// SenderDomains returns a page of sender domains, sorted by id. It covers the given tenants or, if all is set, every
// tenant. The only error is core.ErrStorage.
func (s *Store) SenderDomains(ctx context.Context, tenants []string, all bool, page core.Page) (
	ds []core.SenderDomain, err error,
) {
	err = s.AllOf(ctx, &ds, &senderDomainList, tenants, all, page.After, page.Limit)
	return ds, err
}

// SenderDomain returns a sender domain. If it doesn't exist, SenderDomain returns core.ErrNotFound.
func (s *Store) SenderDomain(ctx context.Context, id string) (d core.SenderDomain, err error) {
	err = s.Get(ctx, &d, selectSenderDomain, id)
	return d, err
}

// ProposeSenderDomain adds a domain that is not verified yet. If the tenant doesn't exist, it returns
// core.ErrNotFound. If the tenant already has the domain, or the maximum number of domains, it returns a Conflict.
func (s *Store) ProposeSenderDomain(ctx context.Context, d core.SenderDomain, actor string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("sender_domain", d.ID); err != nil {
			return err
		}
		if _, err := ReadTenant(tx, d.TenantID); err != nil {
			return err
		}
		n, err := tx.Number("SELECT count(*) FROM sender_domain WHERE tenant_id = ?", d.TenantID)
		if err != nil {
			return err
		}
		if n >= core.MaxDomains {
			return core.Conflictf("conflict", "A tenant can have at most %d domains. Delete one first.",
				core.MaxDomains)
		}
		if _, err := db.InsertRow(tx, &senderDomainTable, &d); err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		return tx.Audit(d.CreatedAt, actor, "domain.propose", d.TenantID, d.ID)
	})
}

// BeginDomainCheck returns a domain whose TXT record is about to be checked. If it doesn't exist, BeginDomainCheck
// returns core.ErrNotFound. If the tenant has requested too many checks in this minute, it returns core.ErrTooMany.
func (s *Store) BeginDomainCheck(ctx context.Context, id string, now core.Instant) (d core.SenderDomain, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Get(&d, selectSenderDomain, id); err != nil {
			return err
		}
		wait, err := tx.Throttle("domain checks "+d.TenantID, domainChecks, time.Minute, now)
		if err == nil && wait > 0 {
			err = &core.Error{
				Kind: core.TooMany, Code: "rate_limited", RetryAfter: int(wait/time.Second) + 1,
				Message: "Too many domain checks. Wait a minute: new DNS records take a while to appear.",
			}
		}
		return err
	})
	return d, err
}

// EndDomainCheck records the result of a check of the TXT record and returns the domain. If the record was found, a
// proposed domain becomes verified. If another tenant has verified the domain, the check's result is core.DomainTaken
// instead. If the domain no longer exists, EndDomainCheck returns core.ErrNotFound.
func (s *Store) EndDomainCheck(ctx context.Context, id, result, foundAt, actor string, now core.Instant) (
	d core.SenderDomain, err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("sender_domain", id); err != nil {
			return err
		}
		if err := tx.Get(&d, selectSenderDomain, id); err != nil {
			return err
		}
		d.CheckedAt, d.Check, d.FoundAt = now, result, foundAt
		verifies := result == core.DomainFound && !d.Verified()
		if verifies {
			taken, err := takenDomains(tx, d.TenantID, core.DomainsAbove(d.Domain)...)
			if err != nil {
				return err
			}
			if len(taken) > 0 {
				verifies, d.Check = false, core.DomainTaken
			}
		}
		if !verifies {
			return db.UpdateRow(tx, &senderDomainTable, &d, id)
		}
		return verify(tx, &d, core.VerifiedByDNS, actor, now)
	})
	return d, err
}

// VerifySenderDomain marks a domain as verified because a server administrator vouches for it, and returns the domain.
// The domain can be a subdomain of another tenant's domain. If the domain doesn't exist, VerifySenderDomain returns
// core.ErrNotFound. It also returns core.ErrDomainTaken.
func (s *Store) VerifySenderDomain(ctx context.Context, id, actor string, now core.Instant) (d core.SenderDomain,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("sender_domain", id); err != nil {
			return err
		}
		if err := tx.Get(&d, selectSenderDomain, id); err != nil || d.Verified() {
			return err
		}
		taken, err := takenDomains(tx, d.TenantID, d.Domain)
		switch {
		case err != nil:
			return err
		case len(taken) > 0:
			return core.ErrDomainTaken
		}
		return verify(tx, &d, core.VerifiedByOperator, actor, now)
	})
	return d, err
}

// verify adds a domain to its tenant's verified domains.
func verify(tx *db.Tx, d *core.SenderDomain, by, actor string, now core.Instant) error {
	t, err := ReadTenant(tx, d.TenantID)
	if err != nil {
		return err
	}
	if len(t.Domains) >= core.MaxDomains {
		return core.Conflictf("conflict", "A tenant can have at most %d domains. Delete one first.", core.MaxDomains)
	}
	d.VerifiedBy, d.VerifiedAt, d.UpdatedAt = by, now, now
	if err := db.UpdateRow(tx, &senderDomainTable, d, d.ID); err != nil {
		return err
	}
	if err := setDomains(tx, &t, append(t.Domains, d.Domain), now); err != nil {
		return err
	}
	if err := endKeys(tx, t.ID, d.Domain, actor, now); err != nil {
		return err
	}
	return tx.Audit(now, actor, "domain.verify", d.TenantID, d.ID)
}

// setDomains writes a tenant's domains.
func setDomains(tx *db.Tx, t *core.Tenant, domains core.Strings, now core.Instant) error {
	tx.Kick(db.TopicRecords)
	return tx.One("UPDATE tenant SET domains = ?, updated_at = ? WHERE id = ?", domains.Column(), now, t.ID)
}

// takenDomains returns the domains that are verified for another tenant.
func takenDomains(tx *db.Tx, tenantID string, domains ...string) (taken []string, err error) {
	err = tx.All(&taken, verifiedFor, db.JsonOf(domains), tenantID)
	return taken, err
}

// ErrDomainInUse is returned when a domain can't be deleted because emails are sent from it.
var ErrDomainInUse = core.Conflictf("domain_in_use",
	"This domain is in use as a sender. Change mail_from, then wait for its send jobs to end, or cancel them.")

// DeleteSenderDomain removes a sender domain and its entry in Tenant.Domains. If the domain doesn't exist, it returns
// core.ErrNotFound. If the tenant's mail_from or an unfinished send job uses the domain, it returns ErrDomainInUse.
func (s *Store) DeleteSenderDomain(ctx context.Context, id, actor string, now core.Instant) error {
	return s.ChangeRecord(ctx, "sender_domain", id, "domain.delete", actor, now, func(tx *db.Tx) error {
		var d core.SenderDomain
		if err := tx.Get(&d, selectSenderDomain, id); err != nil {
			return err
		}
		t, err := ReadTenant(tx, d.TenantID)
		if err != nil {
			return err
		}
		if at := slices.Index(t.Domains, d.Domain); at >= 0 {
			used, err := domainUsed(tx, &t, d.Domain)
			switch {
			case err != nil:
				return err
			case used:
				return ErrDomainInUse
			}
			if err := setDomains(tx, &t, slices.Delete(t.Domains, at, at+1), now); err != nil {
				return err
			}
		}
		return tx.One("DELETE FROM sender_domain WHERE id = ?", id)
	})
}

// domainUsed reports whether the tenant's mail_from or an unfinished send job uses a domain.
func domainUsed(tx *db.Tx, t *core.Tenant, domain string) (bool, error) {
	var senders []string
	err := tx.All(&senders, `SELECT DISTINCT f.mail_from FROM send_job AS j INDEXED BY send_job_tenant CROSS JOIN
		frozen_content AS f ON f.copy_id =
		j.copy_id WHERE j.tenant_id = ? AND j.status IN ('pending', 'running')`, t.ID)
	return slices.ContainsFunc(append(senders, t.MailFrom), func(a string) bool {
		return core.Email(a).Domain() == domain
	}), err
}

// keepDomains updates the sender domains of a tenant after a server administrator has changed Tenant.Domains. Added
// domains count as verified. Its error is core.ErrDomainTaken with the name of the field.
func keepDomains(tx *db.Tx, t *core.Tenant, was core.Strings, actor string, now core.Instant) error {
	for _, domain := range was {
		if slices.Contains(t.Domains, domain) {
			continue
		}
		if _, err := tx.Exec("DELETE FROM sender_domain WHERE tenant_id = ? AND domain = ?", t.ID, domain); err != nil {
			return err
		}
	}
	added := slices.DeleteFunc(slices.Clone(t.Domains), func(d string) bool { return slices.Contains(was, d) })
	if len(added) == 0 {
		return nil
	}
	taken, err := takenDomains(tx, t.ID, added...)
	switch {
	case err != nil:
		return err
	case len(taken) > 0:
		e := core.Conflictf(core.ErrDomainTaken.Code,
			"%s is already verified for another tenant. Contact the server administrator.", taken[0])
		return e.On("domains")
	}
	for _, domain := range added {
		d, err := core.NewSenderDomain(t.ID, domain, now)
		if err != nil {
			return err
		}
		var proposed []core.SenderDomain
		if err := tx.All(&proposed, senderDomainOf, t.ID, domain); err != nil {
			return err
		}
		if len(proposed) > 0 {
			d = proposed[0]
		}
		d.VerifiedBy, d.VerifiedAt, d.UpdatedAt = core.VerifiedByOperator, now, now
		if len(proposed) > 0 {
			err = db.UpdateRow(tx, &senderDomainTable, &d, d.ID)
		} else {
			_, err = db.InsertRow(tx, &senderDomainTable, &d)
		}
		if err == nil {
			err = endKeys(tx, t.ID, domain, actor, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
