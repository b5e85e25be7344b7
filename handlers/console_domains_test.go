package handlers

import (
	"context"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/console"
	"newsletterd/handlers/tenants"
)

// linkToRecords finds the path of a link that shows the records of a domain to people without an account.
var linkToRecords = regexp.MustCompile(`https://news\.example\.org(/records\?token=[^<"]+)`)

// zone holds the DNS records of a test by type and name, such as "TXT _dmarc.acme.example".
type zone map[string][]string

func (z zone) lookup(kind string) auth.LookupTXT {
	return func(_ context.Context, name string) ([]string, error) {
		found := z[kind+" "+strings.TrimSuffix(name, ".")]
		if found == nil {
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}
		return found, nil
	}
}

// answersKept is how long answers of name servers are cached.
const answersKept = 5 * time.Second

// asks creates the handler again, with DNS options and z as the name server.
func (e *tenantConsole) asks(z zone, dns tenants.DNSOptions) {
	p := e.handler.options.Auth
	dns.NS, dns.Host = z.lookup("NS"), z.lookup("host")
	var err error
	e.handler, err = New(Options{
		Store: e.store, Auth: p, PublicURL: "https://news.example.org", Bearer: p.Bearer,
		LookupTXT: z.lookup("TXT"), DNS: dns,
	})
	e.must(err)
}

// newDomainConsole returns a console whose tenant has proposed a domain, with its own DNS.
func newDomainConsole(t *testing.T, domain string) (e *tenantConsole, z zone, id string) {
	e = newTenantConsole(t, core.RoleTenantAdmin)
	z = zone{}
	e.asks(z, tenants.DNSOptions{SPF: []string{"a:relay.example"}})
	e.sends(e.path("settings", "domains"), url.Values{"domain": {domain}})
	found, err := e.store.SenderDomains(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 1})
	e.must(err)
	return e, z, found[0].ID
}

// The notice about a form's action appears once, not again after a reload or another check of the records.
func TestConsoleDomainIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.asks(zone{}, tenants.DNSOptions{})
		to := e.sends(e.path("settings", "domains"), url.Values{"domain": {"acme.example"}})
		const made = `role="status" id="done"`
		if got := e.shows(to, "Domain added"); !strings.Contains(got, made) {
			t.Error("no notice")
		}
		if got := e.shows(to); strings.Contains(got, made) || strings.Contains(got, "Created") {
			t.Error("it is made a second time")
		}
		page, _, _ := strings.Cut(to, "?")
		to = e.sends(page+"/check", url.Values{})
		res := e.ask(http.MethodPost, page+"/check", nil, "Hx-Request", "true", "Hx-Target", "section#records")
		part, err := io.ReadAll(res.Body)
		e.must(err)
		if got := string(part); !strings.Contains(got, `<div id="done" hx-swap-oob="delete">`) ||
			strings.Contains(got, "<html") {
			t.Errorf("the part leaves the notice: %s", textOf(got))
		}
		if got := e.shows(to, "Checked again"); strings.Contains(got, "Created") {
			t.Error("a notice of before")
		}
	})
}

// The page of a domain shows what is found in the place of each record, and what to do about it.
func TestConsoleDomainRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, z, id := newDomainConsole(t, "news.acme.co.uk")
		page := e.path("settings", "domains", id)
		e.shows(page, "Not verified", "You can't send from this domain until it's verified", "Where to add the records",
			`id="r0-short">_newsletterd.news<`, `id="r0-name">_newsletterd.news.acme.co.uk<`, "v=spf1 a:relay.example ~all",
			`id="r3-short">_dmarc.news<`, `data-poll="10"`, "Add the DKIM record together with the verification record",
			"v=DKIM1; k=rsa; p=")
		for name, tt := range map[string]struct {
			records zone
			want    []string
		}{
			"DNS at who": {
				zone{"NS acme.co.uk": {"ada.ns.cloudflare.com", "bob.ns.cloudflare.com"}},
				[]string{
					"DNS at Cloudflare",
					"Go to your domain > DNS > Records > Add record. For a CNAME, turn off the proxy (“DNS only”)",
					"bob.ns.cloudflare.com",
				},
			},
			"a zone of its own": {
				zone{"NS news.acme.co.uk": {"ns1.ui-dns.com"}}, []string{
					"DNS at IONOS",
					`id="r0-short">_newsletterd<`, `id="r2-short">@<`,
				},
			},
			"the whole name was pasted": {
				zone{"TXT _dmarc.news.acme.co.uk.acme.co.uk": {"v=DMARC1; p=none"}},
				[]string{"Wrong name", "Found at _dmarc.news.acme.co.uk.acme.co.uk"},
			},
			"SPF of others": {
				zone{"TXT news.acme.co.uk": {"x", "v=spf1 include:_spf.google.com -all"}},
				[]string{
					"Needs a change", ">v=spf1 include:_spf.google.com a:relay.example -all<",
					"You already have a record for other senders",
				},
			},
			"two SPF": {
				zone{"TXT news.acme.co.uk": {"v=spf1 mx -all", "v=spf1 include:_spf.google.com ~all"}},
				[]string{
					"Several records", ">v=spf1 mx include:_spf.google.com a:relay.example ~all<",
					"delete the others",
				},
			},
			"SPF with a word that is none": {
				zone{"TXT news.acme.co.uk": {"v=spf1 inclde:x.example a:relay.example -all"}},
				[]string{"Needs a change", ">v=spf1 a:relay.example -all<"},
			},
			"a policy of no kind": {
				zone{"TXT _dmarc.news.acme.co.uk": {"v=DMARC1; p=nothing"}}, []string{
					"DMARC policy Wrong value",
					">v=DMARC1; p=nothing<",
				},
			},
			"SPF at a pasted name": {
				zone{"TXT news.acme.co.uk.acme.co.uk": {"v=spf1 a:relay.example ~all"}},
				[]string{"Found at news.acme.co.uk.acme.co.uk"},
			},
			"a policy above": {zone{"TXT _dmarc.acme.co.uk": {"v=DMARC1; p=none"}}, []string{"DMARC policy Found"}},
			"a strict policy above": {
				zone{"TXT _dmarc.acme.co.uk": {"v=DMARC1; p=reject"}},
				[]string{
					"DMARC policy Don't send yet",
					"Don't send yet. Your domain's DMARC policy asks receiving servers to reject emails without a " +
						"signature or treat them as spam", "Turn on DKIM signing before you send",
				},
			},
			"a strict policy, for others": {
				zone{"TXT _dmarc.acme.co.uk": {"v=DMARC1; p=reject; sp=none"}}, []string{"DMARC policy Found"},
			},
			"a strict policy, with SPF": {
				zone{
					"TXT _dmarc.news.acme.co.uk": {"v=DMARC1; p=quarantine"}, "TXT news.acme.co.uk": {"v=spf1 a:relay.example ~all"},
				}, []string{"DMARC policy Found"},
			},
			"a strict policy, with another's SPF": {
				zone{
					"TXT _dmarc.news.acme.co.uk": {"v=DMARC1; P = Quarantine ;sp=none"}, "TXT news.acme.co.uk": {"v=spf1 mx -all"},
				}, []string{"DMARC policy Don't send yet"},
			},
			"a policy that is none": {
				zone{"TXT _dmarc.news.acme.co.uk": {"p=none; v=DMARC1"}},
				[]string{"DMARC policy Wrong value", ">p=none; v=DMARC1<"},
			},
			"a policy next to one that is none": {
				zone{"TXT _dmarc.news.acme.co.uk": {"v=DMARC1; p=none", "p=none; v=DMARC1"}},
				[]string{"DMARC policy Found"},
			},
			"two policies": {
				zone{"TXT _dmarc.news.acme.co.uk": {"v=DMARC1; p=none", "v=DMARC1; p=reject"}},
				[]string{"Keep one and delete the others"},
			},
			"another proof": {
				zone{"TXT _newsletterd.news.acme.co.uk": {"newsletterd-verification=other"}}, []string{
					"Wrong value",
					"Change it to the value shown",
				},
			},
		} {
			clear(z)
			for key, texts := range tt.records {
				z[key] = texts
			}
			time.Sleep(answersKept)
			got := e.shows(page)
			for _, want := range tt.want {
				if !strings.Contains(html.UnescapeString(got), want) && !strings.Contains(textOf(got), want) {
					t.Errorf("%s: no %q in %s", name, want, textOf(got))
				}
			}
		}
	})
}

// From the verification to a ready domain and to a second key: both the user who added the domain and a person with the
// link see each record as soon as it is published, while the page is open.
func TestConsoleDomainBecomesReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, z, id := newDomainConsole(t, "acme.example")
		page := e.path("settings", "domains", id)
		d, err := e.store.SenderDomain(t.Context(), id)
		e.must(err)
		later := func() { time.Sleep(answersKept) }

		_, made := e.page("POST", page+"/forward", url.Values{})
		link := linkToRecords.FindStringSubmatch(html.UnescapeString(made))
		if link == nil {
			t.Fatal(textOf(made))
		}
		stranger := func(want int, texts ...string) {
			t.Helper()
			cookies := e.cookies
			e.cookies = map[string]string{}
			status, got := e.page("GET", link[1], nil)
			e.cookies = cookies
			for _, text := range texts {
				if status != want || !strings.Contains(html.UnescapeString(got), text) {
					t.Errorf("%d, no %q in %s", status, text, textOf(got))
				}
			}
			if strings.Contains(got, e.tenant.ID) || strings.Contains(got, `method="post"`) {
				t.Error("the page tells more than the records")
			}
		}
		keys, err := e.store.DKIMKeys(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 9})
		e.must(err)
		if len(keys) != 1 || keys[0].Status != core.DKIMInactive {
			t.Fatalf("%+v", keys)
		}
		stranger(http.StatusOK, "Missing", d.Record().Value, keys[0].Public) // all records in one visit
		z["TXT "+keys[0].RecordName()] = []string{keys[0].RecordValue()}
		later()
		if got := e.shows(page, "Not verified", "Add the DKIM record together with the verification record"); strings.Contains(got, `value="start"`) {
			t.Error("a key can sign before the domain is proved")
		}
		e.refuses(page+"/keys", url.Values{"act": {"start"}, "key": {keys[0].ID}}, http.StatusBadRequest)
		if signing, err := e.store.DKIMSigningKeys(t.Context(), e.tenant.ID, "acme.example"); err != nil ||
			len(signing) > 0 {
			t.Errorf("%d keys sign before the domain is proved, %v", len(signing), err)
		}
		delete(z, "TXT "+keys[0].RecordName())

		z["TXT _newsletterd.acme.example"] = []string{d.Record().Value}
		later()
		stranger(http.StatusOK, "Found")
		if d, _ = e.store.SenderDomain(t.Context(), id); d.Verified() {
			t.Error("to look at the link changes the domain")
		}
		e.sends(page+"/check", url.Values{})
		e.shows(page, "Next, turn on DKIM signing", "Signing starts automatically once the DKIM record is")
		z["TXT "+keys[0].RecordName()] = []string{"v=DKIM1; k=rsa; p=b3RoZXI="}
		later()
		got := e.shows(page, "A record with this name has a different value. Change it to the value shown")
		if strings.Contains(got, `value="start"`) {
			t.Error("a key can sign whose record is another's")
		}
		z["TXT "+keys[0].RecordName()] = []string{keys[0].RecordValue()}
		later()
		e.shows(page, "The record is published, but the key isn't active yet.", `value="start"`)
		if d, _ := e.store.SenderDomain(t.Context(), id); e.signed(d) {
			t.Error("it is signed before the key signs")
		}
		e.sends(page+"/keys", url.Values{"act": {"start"}, "key": {keys[0].ID}})
		if d, _ := e.store.SenderDomain(t.Context(), id); !e.signed(d) {
			t.Error("it is not signed though a key signs")
		}
		z["TXT acme.example"], z["TXT _dmarc.acme.example"] = []string{"v=spf1 A:relay.example ~all"},
			[]string{"v=DMARC1; p=none"}
		later()
		if got := e.shows(page, "Emails from this domain are signed with DKIM", "Ready"); strings.Contains(got,
			"data-poll") {
			t.Error("a domain that is ready is looked at again and again")
		}

		e.sends(page+"/links", url.Values{"host": {"https://links.acme.example/x"}})
		if got := e.now().PublicURL; got != "https://links.acme.example" {
			t.Error(got)
		}
		e.shows(page, `id="r4-value">news.example.org<`, "CNAME")
		z["host news.example.org"], z["host links.acme.example"] = []string{"192.0.2.1"}, []string{"192.0.2.9"}
		later()
		e.shows(page, "This name points to another server.")
		z["host links.acme.example"] = []string{"192.0.2.9", "192.0.2.1"}
		later()
		e.shows(page, "Setup complete. Emails from this domain are signed with DKIM")

		e.sends(page+"/keys", url.Values{"act": {"make"}})
		keys, err = e.store.DKIMKeys(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 9})
		e.must(err)
		if len(keys) != 2 || keys[0].Selector == keys[1].Selector {
			t.Fatalf("%+v", keys)
		}
		old, next := keys[0], keys[1]
		if old.Status == core.DKIMInactive {
			old, next = next, old
		}
		z["TXT "+next.RecordName()] = []string{next.RecordValue()}
		later()
		e.sends(page+"/keys", url.Values{"act": {"start"}, "key": {next.ID}})
		if old, _ = e.store.DKIMKey(t.Context(), old.ID); old.Status != core.DKIMInactive {
			t.Error("both keys sign")
		}
		e.refuses(page+"/keys", url.Values{"act": {"delete"}, "key": {old.ID}}, http.StatusBadRequest,
			"Check the box to confirm")
		e.sends(page+"/keys", url.Values{"act": {"delete"}, "key": {old.ID}, "sure": {"1"}})

		time.Sleep(auth.RecordsTTL)
		stranger(http.StatusBadRequest, "This link has expired. Ask the person who sent it for a new one")
		link[1] = "/records?token=x"
		stranger(http.StatusBadRequest, "This link has expired. Ask the person who sent it for a new one")
	})
}

// signed reports whether, according to the API, a key signs for a sender domain.
func (e *tenantConsole) signed(d core.SenderDomain) bool {
	e.Helper()
	views, err := e.store.SenderDomainViews(e.Context(), d)
	e.must(err)
	return views[0].Signed
}

// In the checklist, the sender domain is checked off only after emails are signed. A domain without a key shows how to
// add one, next to its records.
func TestConsoleDomainIsTickedOnceSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, z, id := newDomainConsole(t, "acme.example")
		d, err := e.store.SenderDomain(t.Context(), id)
		e.must(err)
		keys, err := e.store.DKIMKeys(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 9})
		e.must(err)
		e.must(e.store.DeleteDKIMKey(t.Context(), keys[0].ID, "test", e.seed.Time()))
		page := e.path("settings", "domains", id)
		z["TXT "+d.Record().Name] = []string{d.Record().Value}
		e.sends(page+"/check", url.Values{})
		_, err = e.store.UpdateTenant(t.Context(), e.tenant.ID, "", func(t *core.Tenant) error {
			t.MailFrom = "news@acme.example"
			return nil
		})
		e.must(err)
		const done = `Add DNS records for your domain</a><span class="hidden-visually"> (done)`
		if got := e.shows(console.Path+"/"+e.tenant.ID, "Verified. Next, turn on DKIM signing", page); strings.Contains(got,
			done) {
			t.Error("it is ticked before mails are signed")
		}
		e.shows(page, `id="no-key"`, `value="make"`)
		e.sends(page+"/keys", url.Values{"act": {"make"}})
		e.shows(page, "Signing starts automatically once the DKIM record is found")
		keys, err = e.store.DKIMKeys(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 9})
		e.must(err)
		z["TXT "+keys[0].RecordName()] = []string{keys[0].RecordValue()}
		time.Sleep(time.Minute)
		e.sends(page+"/check", url.Values{})
		if got := e.shows(console.Path + "/" + e.tenant.ID); !strings.Contains(got, done) {
			t.Errorf("it is not ticked though mails are signed: %s", textOf(got))
		}
	})
}

// All pages show the same state of a domain that an operator has vouched for. When all records are published, the page
// says what is left to do. A check on request doesn't use cached answers.
func TestConsoleDomainOnTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, z, id := newDomainConsole(t, "acme.example")
		d, err := e.store.VerifySenderDomain(t.Context(), id, "operator", e.seed.Time())
		e.must(err)
		page := e.path("settings", "domains", id)
		if got := e.shows(e.path("settings", "domains"),
			"warn\">Records missing"); strings.Contains(got, "good\">Verified") {
			t.Error("it is proved")
		}
		e.shows(page, "Add the missing records so fewer emails land in spam.",
			"You can send from this domain without this record.", "Proves that the domain is yours",
			"Signing starts automatically once the DKIM record is found", "<summary>Advanced</summary><form")
		first, _, _ := strings.Cut(e.shows(e.path("settings", "domains")), "<h2>Add domain")
		if !strings.Contains(first, `href="`+page+`"`) {
			t.Error("the form is above the domain")
		}
		keys, err := e.store.DKIMKeys(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 9})
		e.must(err)
		e.shows(page, "Records missing")
		z["TXT "+keys[0].RecordName()] = []string{keys[0].RecordValue()}
		z["TXT acme.example"] = []string{"v=spf1 a:relay.example ~all"}
		z["TXT _dmarc.acme.example"] = []string{"v=DMARC1; p=none"}
		e.shows(page, "Records missing") // still the cached state
		time.Sleep(time.Second)
		e.sends(page+"/check", url.Values{})
		e.shows(page, "Ready", "You can send from this domain without this record.",
			">Active<") // activated automatically
		time.Sleep(time.Second)
		e.sends(page+"/keys", url.Values{"act": {"rest"}, "key": {keys[0].ID}})
		e.sends(page+"/check", url.Values{}) // a check doesn't activate a key that a person has deactivated
		got := e.shows(page, "1 step left", "All records found. To finish, choose “Activate key” next to the DKIM record",
			"You can send from this domain without this record.")
		if strings.Contains(got, "Records missing") {
			t.Error("records are missing")
		}
		z["TXT "+d.Record().Name] = []string{d.Record().Value}
		e.sends(page+"/check", url.Values{})
		if got := e.shows(page, "1 step left"); strings.Contains(got, "Add the records to verify it") {
			t.Error("it was proved")
		}
		e.shows(e.path("settings", "domains"), `good">Verified`)
		e.sends(page+"/keys", url.Values{"act": {"start"}, "key": {keys[0].ID}})
		e.shows(page, "Ready", "Setup complete. Emails from this domain are signed with DKIM")
	})
}

// If SPF need not change, pages say so. Two SPF records are still an error.
func TestConsoleDomainWithoutSPF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, z, id := newDomainConsole(t, "acme.example")
		page := e.path("settings", "domains", id)
		z["TXT acme.example"] = []string{"v=spf1 include:old.example ~all"}
		const unchanged = "You don't need to change your SPF record"
		e.asks(z, tenants.DNSOptions{BounceDomain: "bounces.example"})
		if got := e.shows(page, unchanged); strings.Contains(got, "old.example") {
			t.Error("a record that need not change is shown")
		}
		_, made := e.page("POST", page+"/forward", url.Values{})
		link := linkToRecords.FindStringSubmatch(html.UnescapeString(made))
		for _, text := range []string{
			`href="mailto:?subject=DNS%20records%20for%20acme.example&amp;body=`,
			"%20https%3a%2f%2fnews.example.org%2frecords%3ftoken%3d", "Earlier links stay valid until they expire",
		} {
			if !strings.Contains(made, text) {
				t.Errorf("no %q in %s", text, made)
			}
		}
		if _, got := e.page("GET", link[1], nil); !strings.Contains(html.UnescapeString(got), unchanged) {
			t.Error(textOf(got))
		}
		e.asks(z, tenants.DNSOptions{BounceDomain: ""})
		e.shows(page, "Your domain needs an SPF record")
		z["TXT acme.example"] = append(z["TXT acme.example"], "v=spf1 include:new.example ~all")
		e.asks(z, tenants.DNSOptions{BounceDomain: "bounces.example"})
		got := e.shows(page, "Several records", ">v=spf1 include:old.example include:new.example ~all<")
		if strings.Contains(html.UnescapeString(got), unchanged) {
			t.Error("it is said to need no change")
		}
	})
}

// Cached answers of name servers are shared by concurrent requests, and none of these changes an answer.
func TestDomainRecordsKeepAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, z, id := newDomainConsole(t, "acme.example")
		const kept = "NS acme.example"
		z[kept] = []string{"ns2.dns.example", "ns1.dns.example"}
		e.shows(e.path("settings", "domains", id), "ns1.dns.example")
		if z[kept][0] != "ns2.dns.example" {
			t.Errorf("the answer was changed: %q", z[kept])
		}
	})
}

// A link can't be used to cause many DNS queries, even if no name server answers.
func TestDomainRecordsAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _, id := newDomainConsole(t, "acme.example")
		var asked atomic.Int64
		lookup := func(context.Context, string) ([]string, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			return nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
		}
		p := e.handler.options.Auth
		var err error
		e.handler, err = New(Options{
			Store: e.store, Auth: p, PublicURL: "https://news.example.org", Bearer: p.Bearer, LookupTXT: lookup,
			DNS: tenants.DNSOptions{NS: lookup, Host: lookup},
		})
		e.must(err)
		page := e.path("settings", "domains", id)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { e.page("GET", page, nil) })
		}
		all.Wait()
		e.shows(page, "couldn't be looked up")
		if n := asked.Load(); n != 5 { // verification, key, SPF, DMARC, and name servers of the zone
			t.Errorf("%d questions", n)
		}
	})
}
