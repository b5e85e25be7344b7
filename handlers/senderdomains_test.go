package handlers

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

func init() {
	// sender-domain NAME tenant=TENANT domain=DOMAIN verified: a proposed domain; {NAME} is its id.
	steps["sender-domain"] = func(e *env, name string, args map[string]string) {
		d, err := core.ProposeDomain(e.value(args["tenant"]), args["domain"], 1)
		e.must(err)
		e.must(e.store.ProposeSenderDomain(e.t.Context(), d, "command"))
		if _, verified := args["verified"]; verified {
			_, err = e.store.VerifySenderDomain(e.t.Context(), d.ID, "command", 1)
			e.must(err)
		}
		e.name(name, d.ID)
	}
	// checked TENANT: it has used all checks of TXT records allowed in this minute
	steps["checked"] = func(e *env, name string, _ map[string]string) {
		ds, err := e.store.SenderDomains(e.t.Context(), []string{e.value(name)}, false, core.Page{Limit: 1})
		e.must(err)
		for range 20 {
			_, err := e.store.BeginDomainCheck(e.t.Context(), ds[0].ID, 1<<42)
			e.must(err)
		}
	}
	setups = append(setups, func(e *env, o *Options) { o.LookupTXT = e.lookupTXT })
}

// lookupTXT is a zone in which every proposed domain has its record, unless its first label says otherwise. Only the
// selectors stands and other have DKIM keys.
func (e *env) lookupTXT(ctx context.Context, name string) ([]string, error) {
	fault := &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	switch selector, _, signing := strings.Cut(name, "._domainkey."); {
	case signing && selector == "stands":
		return []string{"v=spf1 -all", "v=DKIM1; k=rsa; p=cHVi bGlj"}, nil
	case signing && selector == "other":
		return []string{"v=DKIM1; k=rsa; p=b3RoZXI="}, nil
	case signing && selector == "late":
		return nil, &net.DNSError{Name: name, IsTimeout: true}
	case signing:
		return nil, fault
	}
	domain, isProof := strings.CutPrefix(strings.TrimSuffix(name, "."), "_newsletterd.")
	if isProof && strings.HasPrefix(domain, "doubled.acme.org") {
		domain, isProof = "doubled.acme.org", domain == "doubled.acme.org.acme.org"
	}
	switch label, _, _ := strings.Cut(domain, "."); {
	case label == "servfail":
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	case label == "timeout":
		return nil, &net.DNSError{Err: "i/o timeout", Name: name, IsTimeout: true}
	case label == "slow":
		e.counts["looks"]++
		time.Sleep(time.Second)
		return nil, nil
	case label == "other":
		return []string{"newsletterd-verification=another"}, nil
	case isProof == (label == "bare"), label == "missing":
		return nil, fault
	}
	ds, err := e.store.SenderDomains(ctx, nil, true, core.Page{Limit: 1000})
	var texts []string
	for i := range ds {
		if ds[i].Domain == domain {
			texts = append(texts, ds[i].Record().Value)
		}
	}
	return texts, err
}

// Concurrent checks of a domain share one lookup of its records.
func TestChecksAtOnceShareALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := unservedEnv(t, storetest.Open(t))
		e.step("tenant acme")
		e.step("user ann tenant_admin=acme")
		e.step("sender-domain slow tenant=acme domain=slow.example.org")
		var all sync.WaitGroup
		check := func() {
			r := httptest.NewRequest("POST", e.expand("/api/admin/sender-domains/{slow}/check"), nil)
			r.Header.Set("Authorization", "Bearer "+e.value("ann"))
			w := httptest.NewRecorder()
			e.handler.ServeHTTP(w, r)
			if w.Code != 200 || !strings.Contains(w.Body.String(), `"check":"other_value"`) {
				t.Error(w.Code, w.Body)
			}
		}
		for range 8 {
			all.Go(check)
		}
		all.Wait()
		at := e.counts["looks"]
		check()
		if again := e.counts["looks"]; at == 0 || again != 2*at {
			t.Errorf("%d lookups by eight, %d with another one after them", at, again)
		}
	})
}

// If an administrator requests 20 keys concurrently, 10 are created.
func TestKeysAskedForAtOnce(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme domains=acme.example")
	e.step("user ann tenant_admin=acme")
	e.step("dkim first tenant=acme domain=acme.example")
	var all sync.WaitGroup
	var made, refused atomic.Int32
	for i := range 20 {
		all.Go(func() {
			r := httptest.NewRequest("POST", "/api/admin/dkim-keys", strings.NewReader(
				fmt.Sprintf(`{"domain": "acme.example", "selector": "k%d", "algorithm": "ed25519"}`, i)))
			r.Header.Set("Authorization", "Bearer "+e.value("ann"))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			e.handler.ServeHTTP(w, r)
			switch w.Code {
			case 201:
				made.Add(1)
			case 429:
				refused.Add(1)
			default:
				t.Error(w.Code, w.Body)
			}
		})
	}
	all.Wait()
	if made.Load() != 10 || refused.Load() != 10 {
		t.Errorf("%d made, %d refused", made.Load(), refused.Load())
	}
}
