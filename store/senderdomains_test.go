package store_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"newsletterd/core"
	"newsletterd/schema"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

// proposed returns a domain proposed by a new tenant.
func proposed(s *storetest.Seeder, domain string) core.SenderDomain {
	s.Helper()
	d, err := core.ProposeDomain(s.NewTenant().ID, domain, now0)
	s.Must(err)
	s.Must(s.ProposeSenderDomain(s.Context(), d, "test"))
	return d
}

// TestAVerifiedDomainIsTheTenants checks that only a verified domain counts as the tenant's. The domain appears in the
// audit log, and is removed from the tenant when it is deleted.
func TestAVerifiedDomainIsTheTenants(t *testing.T) {
	s := storetest.Seed(t, nil)
	d := proposed(s, "Bücher.example")
	again, err := core.ProposeDomain(d.TenantID, "xn--bcher-kva.example", now0)
	s.Must(err)
	if err := s.ProposeSenderDomain(t.Context(), again, "test"); core.KindOf(err) != core.Conflict {
		t.Errorf("proposed twice: %v", err)
	}
	domains := func() string {
		tenant, err := s.Tenant(t.Context(), d.TenantID)
		s.Must(err)
		if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("%q, %v", found, err)
		}
		return strings.Join(tenant.Domains, " ")
	}
	d, err = s.EndDomainCheck(t.Context(), d.ID, core.DomainMisplaced, d.Domain, "test", now0+1)
	if err != nil || d.Verified() || d.Check != core.DomainMisplaced || d.FoundAt != d.Domain || domains() != "" {
		t.Errorf("%+v, %v, %q", d, err, domains())
	}
	d, err = s.EndDomainCheck(t.Context(), d.ID, core.DomainFound, "", "test", now0+2)
	if err != nil || d.VerifiedBy != core.VerifiedByDNS || domains() != "xn--bcher-kva.example" {
		t.Errorf("%+v, %v, %q", d, err, domains())
	}
	if known, err := s.HasDomain(t.Context(), d.Domain); err != nil || !known {
		t.Errorf("the cache has no %s: %v", d.Domain, err)
	}
	d, err = s.EndDomainCheck(t.Context(), d.ID, core.DomainMissing, "", "test", now0+3)
	if err != nil || !d.Verified() || domains() == "" {
		t.Errorf("a record that is gone ended the domain: %+v, %v", d, err)
	}
	s.Must(s.DeleteSenderDomain(t.Context(), d.ID, "test", now0+4))
	if known, err := s.HasDomain(t.Context(), d.Domain); domains() != "" || known || err != nil {
		t.Errorf("%q, %v, %v", domains(), known, err)
	}
	entries, _, err := s.Audit(t.Context(), core.AuditFilter{Object: d.ID}, core.Page{Limit: 9})
	s.Must(err)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	if !slices.Equal(actions, []string{"domain.delete", "domain.verify", "domain.propose"}) ||
		!strings.Contains(string(entries[1].Changes), `"verified_by":{"before":null,"after":"dns"}`) {
		t.Errorf("%v: %s", actions, entries[1].Changes)
	}
	if _, err := s.EndDomainCheck(t.Context(), d.ID, core.DomainFound, "", "test", now0); !errors.Is(
		err,
		core.ErrNotFound,
	) {
		t.Errorf("a domain that went during the look: %v", err)
	}
}

// TestADomainIsOneTenants checks that other tenants can't verify a tenant's verified domain or a subdomain of it. Their
// proposals stay. An operator can assign a subdomain to another tenant, but not the domain itself.
func TestADomainIsOneTenants(t *testing.T) {
	s := storetest.Seed(t, nil)
	first, same, below := proposed(s, "acme.example"), proposed(s, "acme.example"), proposed(s, "news.acme.example")
	other, above := proposed(s, "notacme.example"), proposed(s, "example.org")
	find := func(d core.SenderDomain) core.SenderDomain {
		d, err := s.EndDomainCheck(t.Context(), d.ID, core.DomainFound, "", "test", now0)
		s.Must(err)
		return d
	}
	if d := find(first); !d.Verified() {
		t.Errorf("%+v", d)
	}
	for _, d := range []core.SenderDomain{same, below} {
		if d = find(d); d.Verified() || d.Check != core.DomainTaken {
			t.Errorf("%+v", d)
		}
	}
	if d := find(other); !d.Verified() {
		t.Errorf("%+v", d)
	}
	if _, err := s.VerifySenderDomain(t.Context(), same.ID, "test", now0); !errors.Is(err, core.ErrDomainTaken) {
		t.Errorf("by an operator's word: %v", err)
	}
	if d, err := s.VerifySenderDomain(t.Context(), below.ID, "test", now0); err != nil ||
		d.VerifiedBy != core.VerifiedByOperator {
		t.Errorf("%+v, %v", d, err)
	}
	// the tenant of the parent domain can verify it, even if an operator assigned subdomains to others
	s.ChangeTenant(first.TenantID, core.TenantInput{Domains: &[]string{"acme.example", "deep.example.org"}})
	if d := find(above); !d.Verified() {
		t.Errorf("%+v", d)
	}
	s.Must(s.DeleteTenant(t.Context(), first.TenantID, "test", now0))
	if d := find(same); !d.Verified() {
		t.Errorf("after the other tenant was deleted: %+v", d)
	}
}

// TestTwoTenantsVerifyADomainAtOnce checks that only one of two tenants gets a domain.
func TestTwoTenantsVerifyADomainAtOnce(t *testing.T) {
	s := storetest.Seed(t, nil)
	var found [8]core.SenderDomain
	for i := range found {
		found[i] = proposed(s, "acme.example")
	}
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() {
			var err error
			if found[i], err = s.EndDomainCheck(t.Context(), found[i].ID, core.DomainFound, "", "test", now0); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	verified, taken := 0, 0
	for _, d := range found {
		if d.Verified() {
			verified++
		}
		if d.Check == core.DomainTaken {
			taken++
		}
	}
	if verified != 1 || taken != 7 {
		t.Errorf("%d have it, %d are told that another has", verified, taken)
	}
}

// TestAnOperatorsDomains checks that domains set by an operator count as verified, that domains left out lose that, and
// that another tenant's domains are refused.
func TestAnOperatorsDomains(t *testing.T) {
	s := storetest.Seed(t, nil)
	d := proposed(s, "acme.example")
	s.ChangeTenant(d.TenantID, core.TenantInput{Domains: &[]string{"acme.example", "acme.org"}})
	rows := func() (names []string) {
		ds, err := s.SenderDomains(t.Context(), []string{d.TenantID}, false, core.Page{Limit: 9})
		s.Must(err)
		for _, d := range ds {
			names = append(names, d.Domain+" "+d.VerifiedBy)
		}
		if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("%q, %v", found, err)
		}
		return names
	}
	if got := rows(); !slices.Equal(got, []string{"acme.example operator", "acme.org operator"}) {
		t.Errorf("%q", got)
	}
	other := s.NewTenant()
	_, err := s.UpdateTenant(t.Context(), other.ID, "test", func(t *core.Tenant) error {
		return t.Change(core.TenantInput{Domains: &[]string{"acme.org"}}, true, now0)
	})
	if !errors.Is(err, core.ErrDomainTaken) {
		t.Errorf("%v", err)
	}
	s.ChangeTenant(d.TenantID, core.TenantInput{Domains: &[]string{"acme.org"}})
	if got := rows(); !slices.Equal(got, []string{"acme.org operator"}) {
		t.Errorf("%q", got)
	}
}

// TestADomainThatIsUsedStays checks that a domain can't be removed while mail_from or an unfinished job uses it.
func TestADomainThatIsUsedStays(t *testing.T) {
	s := storetest.SeedList(t, now0)
	ds, err := s.SenderDomains(t.Context(), nil, true, core.Page{Limit: 9})
	if err != nil || len(ds) != 1 || ds[0].Domain != "example.org" {
		t.Fatal(ds, err)
	}
	s.ChangeTenant(s.TenantID, core.TenantInput{MailFrom: new("news@example.org")})
	s.Readers(core.List{ID: s.ListID, TenantID: s.TenantID}, 1)
	job := s.NewJob(s.ListID)
	remove := func() error { return s.DeleteSenderDomain(t.Context(), ds[0].ID, "test", now0) }
	if err := remove(); !errors.Is(err, tenants.ErrDomainInUse) {
		t.Errorf("the domain of mail_from: %v", err)
	}
	s.ChangeTenant(s.TenantID, core.TenantInput{MailFrom: new("")})
	if err := remove(); !errors.Is(err, tenants.ErrDomainInUse) {
		t.Errorf("the domain of a job: %v", err)
	}
	s.Must(s.CancelSendJob(t.Context(), job.ID, now0))
	if err := remove(); err != nil {
		t.Error(err)
	}
}

// TestChecksOfDomainsAreCounted checks that a tenant can have its domains checked 20 times a minute.
func TestChecksOfDomainsAreCounted(t *testing.T) {
	s := storetest.Seed(t, nil)
	d := proposed(s, "acme.example")
	for i := range 21 {
		_, err := s.BeginDomainCheck(t.Context(), d.ID, now0)
		if (i == 20) != errors.Is(err, core.ErrTooMany) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if _, err := s.BeginDomainCheck(t.Context(), d.ID, now0+60_001); err != nil {
		t.Error(err)
	}
}

// TestDomainsOfATenantAreBounded checks that proposed domains count toward the limit.
func TestDomainsOfATenantAreBounded(t *testing.T) {
	s := storetest.Seed(t, nil)
	d := proposed(s, "acme.example")
	s.SQL("WITH RECURSIVE i (n) AS (VALUES (2) UNION ALL SELECT n + 1 FROM i WHERE n < 100) INSERT INTO sender_domain "+
		"(id, tenant_id, domain, token, created_at, updated_at) SELECT n, ?, n, '', 1, 1 FROM i", d.TenantID)
	one, err := core.ProposeDomain(d.TenantID, "acme.org", now0)
	s.Must(err)
	if err := s.ProposeSenderDomain(t.Context(), one, "test"); core.KindOf(err) != core.Conflict {
		t.Errorf("%v", err)
	}
}

// TestWhatStandsIsVerified runs the migration on tenants with existing domains, of which two are the same.
func TestWhatStandsIsVerified(t *testing.T) {
	s := storetest.Seed(t, nil)
	for i, domains := range []string{`["a.example","b.example"]`, `[]`, `["b.example"]`, `["c.example"]`} {
		id := s.NewTenant().ID
		s.SQL("UPDATE tenant SET domains = ?, deleted_at = ? WHERE id = ?", domains, i/3, id)
	}
	for _, m := range schema.Migrations() {
		if m.Number == 45 {
			_, fill, _ := strings.Cut(m.SQL, "-- What stands")
			s.SQL("-- What stands" + fill)
		}
	}
	ds, err := s.SenderDomains(t.Context(), nil, true, core.Page{Limit: 9})
	if err != nil || len(ds) != 3 {
		t.Fatalf("%+v, %v", ds, err)
	}
	tokens := map[string]bool{}
	for _, d := range ds {
		id, ok := core.ParseID(d.ID)
		if !ok || id != d.ID || d.ID[14] != '7' || !d.Verified() || d.VerifiedBy != core.VerifiedBefore {
			t.Errorf("%+v", d)
		}
		tokens[d.Token] = len(d.Token) == 32
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 || len(tokens) != 3 {
		t.Errorf("%q, %v, tokens %v", found, err, tokens)
	}
}
