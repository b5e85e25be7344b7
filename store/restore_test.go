package store_test

import (
	"errors"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// A restored list has its subscribers again, except those who unsubscribed, were erased or were blocked while it was
// deleted. Canceled jobs stay canceled.
func TestRestoreAList(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ctx := t.Context()
	for _, email := range []core.Email{"ann@example.org", "left@example.org", "erased@example.org", "off@example.org"} {
		n.Active(n.ListID, email)
	}
	n.Deliver()
	job := n.NewJob(n.ListID)
	n.Must(n.DeleteList(ctx, n.ListID, "test", now0+1000))

	if sub := n.Leave(n.ListID, "left@example.org"); sub.Status != core.SubscriptionUnsubscribed {
		t.Fatalf("a subscriber of a deleted list is %q after they unsubscribed", sub.Status)
	}
	n.Must(n.ErasePerson(ctx, core.Person{Email: "erased@example.org"}, "test", now0+2000))
	n.Must(n.Disable(ctx, members.DisableRequest{Email: "off@example.org"}, now0+2000))

	found, err := n.DeletedLists(ctx, nil, true, now0+3000, core.Page{Limit: 10})
	if err != nil || len(found) != 1 || found[0].ID != n.ListID || found[0].DeletedAt != now0+1000 ||
		found[0].Until != found[0].DeletedAt.Add(core.RestorableFor) {
		t.Fatalf("deleted lists: %+v, %v", found, err)
	}
	r, err := n.RestoreList(ctx, n.ListID, "test", now0+4000)
	if err != nil || len(r.LeftOut) != 0 {
		t.Fatalf("restored: %+v, %v", r, err)
	}
	n.Plan(n.ListID) // the send service gets the changes that it missed
	for email, want := range map[core.Email]string{
		"ann@example.org": core.SubscriptionActive, "left@example.org": core.SubscriptionUnsubscribed,
		"off@example.org": core.SubscriptionUnsubscribed,
	} {
		if got := n.MemberStatus(n.ListID, email); got != want {
			t.Errorf("%s is %q, want %q", email, got, want)
		}
	}
	if _, err := n.Subscription(ctx, n.ListID, "erased@example.org"); !errors.Is(err, core.ErrSubscriptionNotFound) {
		t.Errorf("an erased subscription is back: %v", err)
	}
	if got := n.Reload(job).Status; got != core.JobCancelled {
		t.Errorf("the job is %q", got)
	}
	if l, err := n.CountedList(ctx, n.ListID); err != nil || l.Counts.Active != 1 || l.Counts.Unsubscribed != 2 {
		t.Errorf("counts %+v, %v", l, err)
	}
	if n.Audited("list.restore") != 1 {
		t.Error("no entry in the audit log")
	}
	if _, err := n.RestoreList(ctx, n.ListID, "test", now0+5000); !errors.Is(err, core.ErrListNotFound) {
		t.Errorf("restored twice: %v", err)
	}
}

// Records can't be restored when housekeeping may remove them.
func TestRestoreEndsAfter30Days(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ctx := t.Context()
	l, err := n.List(ctx, n.ListID)
	n.Must(err, n.DeleteList(ctx, n.ListID, "test", now0))
	late := now0.Add(core.RestorableFor) + 1
	if _, err := n.RestoreList(ctx, n.ListID, "test", late); !errors.Is(err, core.ErrListNotFound) {
		t.Errorf("list: %v", err)
	}
	n.Must(n.DeleteTenant(ctx, l.TenantID, "test", now0))
	if _, err := n.RestoreList(ctx, n.ListID, "test", now0+1); !errors.Is(err, core.ErrListNotFound) {
		t.Errorf("the list of a deleted tenant: %v", err)
	}
	if _, err := n.RestoreTenant(ctx, l.TenantID, "test", late); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("tenant: %v", err)
	}
	found, err := n.DeletedTenants(ctx, late, core.Page{Limit: 10})
	if err != nil || len(found) != 0 {
		t.Errorf("offered: %+v, %v", found, err)
	}
}

// A restored tenant gets back the records deleted with it. Clients and endpoints are disabled, and domains and
// addresses that another tenant has taken are left out.
func TestRestoreATenant(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ctx := t.Context()
	slug := "news"
	tenant := n.NewTenant(func(in *core.TenantInput) {
		in.Domains = &[]string{"kept.example", "taken.example"}
		in.MailFrom, in.PublicURL = new("news@taken.example"), new("https://www.kept.example")
	})
	list := n.NewList(func(in *core.ListInput) { in.TenantID, in.Slug = &tenant.ID, &slug })
	gone := n.NewList(func(in *core.ListInput) { in.TenantID = &tenant.ID })
	client, _ := n.NewClient(core.ClientInput{TenantID: &tenant.ID})
	n.TenantID = tenant.ID
	endpoint := n.NewEndpoint(core.EndpointInput{
		URL:    new("https://crm.example/in"),
		Events: &[]string{core.EventUnsubscribed},
	})
	for _, domain := range tenant.Domains {
		k, err := core.NewDKIMKey(core.DKIMKey{TenantID: tenant.ID, Domain: domain, Selector: "s1"}, now0)
		n.Must(err)
		k.Public = "p"
		n.Must(n.AddDKIMKey(ctx, k, []byte("private"), "test"))
	}
	n.Active(list.ID, "ann@example.org")
	n.Must(n.DeleteList(ctx, gone.ID, "test", now0+500))
	n.SQL("INSERT INTO keeper (record, actor) VALUES ('" + endpoint.ID + "', 'user:eve')")
	n.Must(n.DeleteTenant(ctx, tenant.ID, "test", now0+1000))
	if n.Count("SELECT count(*) FROM webhook_endpoint WHERE tenant_id = ?", tenant.ID) != 0 {
		t.Error("events go to an endpoint of a deleted tenant")
	}

	n.At(now0 + 2000).NewTenant(func(in *core.TenantInput) {
		in.Domains, in.PublicURL = &[]string{"taken.example"}, new("https://www.kept.example")
	})
	r, err := n.RestoreTenant(ctx, tenant.ID, "test", now0+3000)
	if err != nil {
		t.Fatal(err)
	}
	want := []core.LeftOut{
		{Kind: core.LeftOutDomain, Name: "taken.example"},
		{Kind: core.LeftOutMailFrom, Name: "news@taken.example"},
		{Kind: core.LeftOutDKIMKey, Name: "s1._domainkey.taken.example"},
		{Kind: core.LeftOutPublicURL, Name: "https://www.kept.example"},
	}
	if !slices.Equal(r.LeftOut, want) || r.Lists != 1 || r.Clients != 1 || r.Endpoints != 1 {
		t.Errorf("restored %+v, want left out %+v", r, want)
	}
	if n.Count("SELECT count(*) FROM keeper WHERE record = ? AND actor = 'user:eve'", endpoint.ID) != 1 {
		t.Error("nobody knows any more who changed the endpoint")
	}
	back, err := n.Tenant(ctx, tenant.ID)
	if err != nil || !slices.Equal(back.Domains, []string{"kept.example"}) || back.MailFrom != "" || back.PublicURL != "" {
		t.Errorf("the tenant is %+v, %v", back, err)
	}
	if d := n.Count("SELECT count(*) FROM sender_domain WHERE tenant_id = ? AND domain = 'kept.example' AND verified_at > 0",
		tenant.ID); d != 1 {
		t.Errorf("%d verified domains", d)
	}
	if c, err := n.Client(ctx, client.ID); err != nil || c.DisabledAt != now0+3000 {
		t.Errorf("client %+v, %v", c, err)
	}
	e, err := n.Endpoint(ctx, endpoint.ID)
	if err != nil || e.DisabledAt != now0+3000 || e.URL != endpoint.URL || !slices.Equal(e.Events, endpoint.Events) {
		t.Errorf("endpoint %+v, %v", e, err)
	}
	if keys, err := n.EndpointKeys(ctx, endpoint.ID, now0+3000); err != nil || len(keys.Keys) != 1 {
		t.Errorf("keys of the endpoint: %v, %v", keys, err)
	}
	if n.MemberStatus(list.ID, "ann@example.org") != core.SubscriptionActive {
		t.Error("the list has lost its subscriber")
	}
	if _, err := n.List(ctx, gone.ID); !errors.Is(err, core.ErrListNotFound) {
		t.Errorf("a list that was deleted before is back: %v", err)
	}
	if problems, err := n.Check(ctx); err != nil || len(problems) > 0 {
		t.Errorf("check: %v, %v", problems, err)
	}
	n.Clean(people.Retention{})
}

// Two lists on the same host never have the same slug.
func TestRestoreWithoutATakenSlug(t *testing.T) {
	n := storetest.SeedList(t, now0)
	slug := func(in *core.ListInput) { in.Slug = new("news") }
	first := n.NewList(slug)
	n.Must(n.DeleteList(t.Context(), first.ID, "test", now0))
	n.NewList(slug)
	r, err := n.RestoreList(t.Context(), first.ID, "test", now0+1)
	if want := []core.LeftOut{{Kind: core.LeftOutSlug, Name: "news"}}; err != nil || !slices.Equal(r.LeftOut, want) {
		t.Errorf("%+v, %v", r, err)
	}
	if l, err := n.List(t.Context(), first.ID); err != nil || l.Slug != "" {
		t.Errorf("%+v, %v", l, err)
	}
}

// Unsubscribing from all lists of a tenant includes its deleted lists.
func TestUnsubscribeAllWithADeletedList(t *testing.T) {
	n := storetest.SeedList(t, now0)
	second := n.NewList()
	n.Active(n.ListID, "ann@example.org")
	n.Active(second.ID, "ann@example.org")
	n.Must(n.DeleteList(t.Context(), second.ID, "test", now0+1))
	left, err := n.UnsubscribeAll(t.Context(), second.TenantID,
		members.UnsubscribeRequest{Email: "ann@example.org", Proof: core.ProofMailed}, now0+2)
	if err != nil || len(left) != 2 {
		t.Errorf("left %d lists, %v", len(left), err)
	}
}
