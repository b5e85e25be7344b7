package main

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
	"newsletterd/mail/report"
	"newsletterd/store/campaigns"
	"newsletterd/store/identity"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
)

// TestFiguresOfPages measures pages of 50 for every list in the admin API, the first one and a distant one, page 10,000
// of the subscribers, and searches. There are 1,000 tenants; one has NEWSLETTERD_FIGURES subscribers and 1,000 of
// everything else.
func TestFiguresOfPages(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench-pages")
	}
	const page, target = 50, 20 * time.Millisecond
	f := figurestest.New(t)
	f.Build()
	f.Prepare(func(s *storetest.Seeder) { f.Tenant, f.List = manyRecords(s, figurestest.AtMost(f, 1000, 20)) })
	f.Import(f.List, "reader", f.N)
	f.Sync(f.N) // it needs the machine for itself
	f.Leavers()
	f.Prepare(func(s *storetest.Seeder) { manyMailings(s, figurestest.AtMost(f, 1000, 20)) })
	f.Prepare(func(s *storetest.Seeder) {
		provider, err := auth.New(f.Context(), s.Store, auth.Config{Issuer: f.URL + "/api"}, s.Time())
		f.Must(err)
		hash, err := provider.NewPassword(f.Context(), "password", daemontest.Password)
		f.Must(err)
		s.NewUser("console@acme.example", hash, func(u *core.User) { u.Roles = []core.Role{{Role: core.RoleOperator}} })
	})
	f.Serve()
	f.Operator(core.ScopeAdmin + " " + core.ScopeSend + " " + core.ScopeListRead)
	ask := func(path, more string) (cursor string, took time.Duration) {
		began := time.Now()
		r := f.Get(path + more).OK()
		took = time.Since(began)
		_, rest, _ := strings.Cut(r.Header.Get("Link"), "cursor=")
		return rest[:max(strings.IndexAny(rest, "&>"), 0)], took
	}
	measure := func(path, cursor string) (p50, p95 time.Duration) {
		took := make([]time.Duration, 100)
		for i := range took {
			_, took[i] = ask(path, fmt.Sprintf("limit=%d&cursor=%s", page, cursor))
		}
		slices.Sort(took)
		return took[50], took[95]
	}
	list, tenant := "list_id="+f.List+"&", "tenant_id="+f.Tenant+"&"
	subscribers := "/api/admin/subscribers?" + list
	for _, path := range []string{
		subscribers, "/api/admin/subscribers?", "/api/admin/subscribers?" + tenant,
		subscribers + "status=active&", subscribers + "status=pending&", subscribers + "status=bounced&",
		subscribers + "email_prefix=reader1&", subscribers + "email_prefix=zz&", "/api/admin/subscribers?email_prefix=zz&",
		subscribers + "field=first_name&value=no+one&", subscribers + "email=reader0000001%40example.org&",
		"/api/newsletter/subscriptions?" + list, "/api/admin/tenants?", "/api/admin/newsletter-lists?",
		"/api/admin/oauth-clients?", "/api/admin/users?", "/api/admin/team?" + tenant, "/api/admin/invitations?",
		"/api/admin/webhook-clients?", "/api/admin/webhook-endpoints?", "/api/admin/templates?" + tenant,
		"/api/admin/suppressions?" + tenant, "/api/admin/suppressions?", "/api/admin/imports?" + tenant,
		"/api/admin/sender-domains?", "/api/admin/dkim-keys?", "/api/admin/mail-providers?", "/api/admin/outbox?",
		"/api/admin/mails?", "/api/admin/syncs?", "/api/admin/imports?",
		"/api/admin/audit?", "/api/admin/audit?" + tenant, "/api/admin/audit?action=nothing&", "/api/send-jobs?",
		"/api/campaigns?", "/api/campaigns?" + tenant, "/api/campaigns?" + list, "/api/campaigns?state=draft&",
		"/api/campaigns?q=no+such+word&", "/api/media?" + tenant, "/api/media?" + tenant + "q=no+such+word&",
		"/api/send-jobs?" + list, "/api/send-jobs/history?email=reader0000001%40example.org&",
	} {
		what := strings.TrimRight(strings.NewReplacer(list, "list_id&", tenant, "tenant_id&").Replace(path), "?&")
		p50, p95 := measure(path, "")
		deep, rows := "", 0
		for next := ""; rows < 10_000*page; rows += 1000 {
			if next, _ = ask(path, "limit=1000&cursor="+next); next == "" {
				break
			}
			deep = next
		}
		line := fmt.Sprintf("first page p50 %v, p95 %v", p50.Round(10*time.Microsecond), p95.Round(10*time.Microsecond))
		if deep != "" {
			p50, p95 := measure(path, deep)
			line += fmt.Sprintf("; page %d p50 %v, p95 %v", rows/page, p50.Round(10*time.Microsecond),
				p95.Round(10*time.Microsecond))
			if p95 > target {
				line += " OVER"
			}
		}
		if p95 > target {
			line += " OVER"
		}
		f.Line(what, "%s", line)
	}
	var job string
	f.Job(f.N-f.N/20, func() string { job = f.Mail(f.List); return job })
	consoleFigures(f, f.JobField(job, "campaign_id"))
	f.Stop()
}

// consoleFigures measures console pages for an operator who is signed in. sent is a campaign that everyone on the large
// list has received.
func consoleFigures(f *figurestest.Figures, sent string) {
	const target = 50 * time.Millisecond
	jar, err := cookiejar.New(nil)
	f.Must(err)
	browser := &webtest.Client{TB: f, URL: f.URL, HTTP: &http.Client{Jar: jar}}
	browser.Send("POST", "/login", url.Values{
		"email":    {"console@acme.example"},
		"password": {daemontest.Password},
	}).OK()
	own := "/console/" + f.Tenant
	list := own + "/lists/" + f.List
	first := func(path string) string {
		var rows []struct{ ID string }
		f.Get(path + "&limit=1").OK().JSON(&rows)
		return rows[0].ID
	}
	draft := first("/api/campaigns?state=draft&tenant_id=" + f.Tenant)
	person := first("/api/admin/subscribers?list_id=" + f.List)
	names := strings.NewReplacer(f.Tenant, "TENANT", f.List, "LIST", sent, "SENT", draft, "DRAFT", person, "PERSON")
	for _, path := range []string{
		own, own + "/campaigns", own + "/campaigns/" + sent, own + "/campaigns/" + draft, own + "/new-campaign",
		own + "/people", own + "/people?list=" + f.List, own + "/people?q=reader0000001", own + "/people/" + person,
		own + "/lists", list, list + "/left", list + "/hygiene", list + "/hygiene?months=3", list + "/form",
		list + "/questions",
		list + "/mails", own + "/imports", own + "/suppressions", own + "/search?q=reader0000001",
		own + "/looks", own + "/looks/themes", own + "/looks/templates", own + "/settings", own + "/settings/team",
		own + "/settings/audit", own + "/settings/domains", own + "/settings/relay", own + "/settings/endpoints",
		own + "/settings/clients", "/console", "/operator", "/operator/queues",
		"/operator/mailings", "/operator/users", "/operator/tenants", "/own/models", "/own/library", "/own/devices",
		"/own/agents",
	} {
		took := make([]time.Duration, 100)
		for i := range took {
			began := time.Now()
			browser.Get(path).OK()
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		line := fmt.Sprintf("p50 %v, p95 %v", took[50].Round(10*time.Microsecond), took[95].Round(10*time.Microsecond))
		if took[95] > target {
			line += " OVER"
		}
		f.Line(names.Replace(path), "%s", line)
	}
}

// manyRecords creates n tenants with a list each, and n records of each noun. They belong to the first tenant, or to
// one tenant each if a tenant can have only a few.
func manyRecords(s *storetest.Seeder, n int) (tenant, list string) {
	for i := range n {
		id := s.NewTenant().ID
		l := s.NewList(func(in *core.ListInput) { in.TenantID = &id })
		d := core.SenderDomain{
			ID: core.NewID(), TenantID: id, Domain: fmt.Sprintf("d%d.example.org", i), Token: "token", CreatedAt: s.Time(),
			UpdatedAt: s.Time(),
		}
		s.Must(s.ProposeSenderDomain(s.Context(), d, "test"))
		s.Must(s.VerifySenderDomain(s.Context(), d.ID, "test", s.Time()))
		s.Must(s.AddDKIMKey(s.Context(), core.DKIMKey{
			ID: core.NewID(), TenantID: id, Domain: d.Domain, Selector: "s", Algorithm: "rsa", Status: "active",
			Public: "p", CreatedAt: s.Time(), UpdatedAt: s.Time(),
		}, []byte("private"), "test"))
		p := core.Provider{Name: "provider-" + id[len(id)-12:], TenantID: id, Kind: report.KindGeneric}
		s.Must(s.AddProvider(s.Context(), p, "secret", "test", s.Time()))
		s.NewWebhookClient(id)
		token := map[string][]byte{identity.TokenInvitation: core.HashToken(core.NewToken())}
		s.Must(s.AddInvitation(s.Context(), core.InvitationInput{
			TenantID: id, Role: core.RoleEditor, Email: core.Email(fmt.Sprintf("new%d@example.org", i)),
		}, identity.UserToken{ID: core.NewID(), Hashes: token}, "test", s.Time()))
		s.Must(s.CancelImport(s.Context(), s.NewImportJob(l.ID, "email\n").ID, "test", s.Time()))
		s.Must(s.FailSync(s.Context(), s.Plan(l.ID).ID, "test", s.Time()))
	}
	tenant, list = s.TenantID, s.ListID
	for i := range n {
		s.NewClient(core.ClientInput{TenantID: &tenant})
		s.NewUser(core.Email(fmt.Sprintf("member%d@example.org", i)), "", func(u *core.User) {
			u.Roles = []core.Role{{Role: core.RoleEditor, TenantID: tenant}}
		})
		s.NewTemplate(core.TemplateInput{Name: new(fmt.Sprintf("template %d", i)), BodyText: new("Hello")})
		s.NewCampaign(core.List{ID: list, TenantID: tenant})
		s.NewMedia(fmt.Sprintf("picture%d.png", i), []string{fmt.Sprint("picture ", i)})
		s.NewJob(list, func(r *campaigns.JobRequest) { r.ScheduledAt = s.Time().Add(1000 * time.Hour) })
		s.Must(s.Suppress(s.Context(), members.DisableRequest{
			Email: core.Email(fmt.Sprintf("off%d@example.org", i)), TenantID: tenant, Reason: "asked", OccurredAt: s.Time(),
		}, "test", s.Time()))
	}
	return tenant, list
}

// manyMailings creates a tenant with a list of 100 and n sent campaigns, n events that wait for an unreachable
// receiver, and an endpoint in each of n other tenants.
func manyMailings(s *storetest.Seeder, n int) {
	s.TenantID = s.NewTenant().ID
	l := s.NewList()
	s.Readers(l, 100, func(k int) core.Email { return core.Email(fmt.Sprintf("reader%07d@example.org", k)) })
	for range n {
		s.Finish(s.NewJob(l.ID))
	}
	s.NewEndpoint(core.EndpointInput{URL: new("https://127.0.0.1:1/")})
	for i := range n {
		s.Active(l.ID, core.Email(fmt.Sprintf("event%d@example.org", i)))
	}
	for range n {
		s.TenantID = s.NewTenant().ID
		s.NewEndpoint(core.EndpointInput{URL: new("https://127.0.0.1:1/")})
	}
}
