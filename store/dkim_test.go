package store_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// keyOf returns a new key of a tenant, which is not stored yet.
func keyOf(s *storetest.Seeder, tenantID, domain, selector string, at core.Instant) core.DKIMKey {
	s.Helper()
	k, err := core.NewDKIMKey(core.DKIMKey{TenantID: tenantID, Domain: domain, Selector: selector, Public: "p"}, at)
	s.Must(err)
	return k
}

// TestKeysAreBounded checks the limits on keys. If 20 callers create keys concurrently, 10 of them succeed within an
// hour, whatever is deleted in between. Keys refused for other reasons don't count. A tenant has at most 100 keys.
func TestKeysAreBounded(t *testing.T) {
	s := storetest.Seed(t, nil)
	tenant := s.NewTenant(func(in *core.TenantInput) { in.Domains = &[]string{"acme.example"} }).ID
	admit := func(domain, selector string, at core.Instant) error {
		return s.AdmitDKIMKey(t.Context(), keyOf(s, tenant, domain, selector, at), true)
	}
	for range 20 {
		if err := admit("else.example", "s", now0); core.KindOf(err) != core.Invalid {
			t.Fatal(err)
		}
	}
	twenty := func(do func(selector string) error) (refused []error) {
		var all sync.WaitGroup
		var mu sync.Mutex
		for i := range 20 {
			all.Go(func() {
				if err := do("r" + strconv.Itoa(i)); err != nil {
					mu.Lock()
					defer mu.Unlock()
					refused = append(refused, err)
				}
			})
		}
		all.Wait()
		return refused
	}
	for hour := range 2 {
		at := now0.Add(time.Duration(hour) * 61 * time.Minute)
		refused := twenty(func(selector string) error { return admit("acme.example", selector, at) })
		if len(refused) != 10 || core.KindOf(refused[0]) != core.TooMany {
			t.Errorf("hour %d: %d refused, %v", hour, len(refused), refused)
		}
	}
	for i := range core.MaxDKIMKeys - 3 {
		s.Must(s.AddDKIMKey(t.Context(), keyOf(s, tenant, "acme.example", "k"+strconv.Itoa(i), now0), []byte("x"), "test"))
	}
	refused := twenty(func(selector string) error {
		return s.AddDKIMKey(t.Context(), keyOf(s, tenant, "acme.example", selector, now0), []byte("x"), "test")
	})
	if len(refused) != 17 || core.KindOf(refused[0]) != core.Conflict {
		t.Errorf("%d refused at %d keys, %v", len(refused), core.MaxDKIMKeys, refused)
	}
	if err := admit("acme.example", "more", now0.Add(5*time.Hour)); core.KindOf(err) != core.Conflict {
		t.Error(err)
	}
}

// TestKeysSignForTheirDomain checks that a tenant's key signs while the tenant has the domain. When another tenant gets
// the domain, the key is deleted, and the new tenant's key can use the same selector.
func TestKeysSignForTheirDomain(t *testing.T) {
	s := storetest.Seed(t, nil)
	domains := func(names ...string) core.TenantInput { return core.TenantInput{Domains: &names} }
	a := s.NewTenant(func(in *core.TenantInput) { in.Domains = &[]string{"acme.example", "news.acme.example"} })
	b := s.NewTenant(func(in *core.TenantInput) { in.Domains = &[]string{} })
	left, other := keyOf(s, a.ID, "acme.example", "s", now0), keyOf(s, a.ID, "news.acme.example", "s", now0)
	own := keyOf(s, "", "acme.example", "own", now0)
	for _, k := range []core.DKIMKey{left, other, own} {
		s.Must(s.AddDKIMKey(t.Context(), k, []byte("x"), "test"))
	}
	signs := func(tenantID, from string) string {
		keys, err := s.DKIMSigningKeys(t.Context(), tenantID, from)
		s.Must(err)
		var ids []string
		for i := range keys {
			ids = append(ids, map[string]string{left.ID: "left", other.ID: "other", own.ID: "own"}[keys[i].ID])
		}
		return strings.Join(ids, " ")
	}
	if got := signs(a.ID, "acme.example") + "," + signs(a.ID, "news.acme.example") + "," + signs("", "acme.example"); got !=
		"left,other,own" {
		t.Error(got)
	}
	s.ChangeTenant(a.ID, domains("news.acme.example"))
	if got := signs(a.ID, "acme.example") + "," + signs(a.ID, "news.acme.example"); got != "own,other" {
		t.Errorf("without the domain: %s", got)
	}
	_, err := s.SetDKIMStatus(t.Context(), left.ID, core.DKIMInactive, "test", now0)
	s.Must(err)
	if _, err := s.SetDKIMStatus(t.Context(), left.ID, core.DKIMActive, "test", now0); core.KindOf(err) != core.Invalid {
		t.Errorf("switched on without its domain: %v", err)
	}
	second := keyOf(s, b.ID, "acme.example", "s", now0)
	if err := s.AddDKIMKey(t.Context(), second, []byte("x"), "test"); core.KindOf(err) != core.Invalid {
		t.Error(err)
	}
	d, err := core.ProposeDomain(b.ID, "acme.example", now0)
	s.Must(err)
	s.Must(s.ProposeSenderDomain(t.Context(), d, "test"))
	s.Must(s.EndDomainCheck(t.Context(), d.ID, core.DomainFound, "", "test", now0))
	s.Must(s.AddDKIMKey(t.Context(), second, []byte("x"), "test"))
	if _, err := s.DKIMKey(t.Context(), left.ID); core.KindOf(err) != core.NotFound {
		t.Errorf("the key that was left behind: %v", err)
	}
	if n := s.Audited("dkim.delete"); n != 1 {
		t.Errorf("%d entries of its end", n)
	}
	s.Must(s.DKIMKey(t.Context(), other.ID))
	s.ChangeTenant(b.ID, domains())
	s.ChangeTenant(a.ID, domains("acme.example", "news.acme.example"))
	if _, err := s.DKIMKey(t.Context(), second.ID); core.KindOf(err) != core.NotFound {
		t.Errorf("an operator gave the domain back: %v", err)
	}
}
