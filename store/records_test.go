package store_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// TestRecordsComeBackAsTheyWereKept stores a tenant, a list and a client, and reads, changes and deletes them.
func TestRecordsComeBackAsTheyWereKept(t *testing.T) {
	s, ctx := storetest.Open(t), t.Context()
	tenant, err := core.NewTenant(core.TenantInput{
		Name: new("Acme"), Domains: &[]string{"News.Example.com"},
		MailFrom: new("a@news.example.com"),
	}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	list, err := core.NewList(core.ListInput{
		TenantID: &tenant.ID, Name: new("Weekly"), Language: new("de"), ConsentText: new("Yes."),
		ConfirmRedirectURL: new("https://acme.example/thanks"),
		Fields: &[]core.Field{{
			Name: "city", Label: "City", Type: "choice",
			Options: core.Strings{"Bath", "Brno"},
		}},
		MailTexts: &core.MailTexts{Confirm: &core.MailText{Subject: "Bitte, {{email}}"}},
	}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	client, secret, err := core.NewClient(core.ClientInput{
		TenantID: &tenant.ID, Name: new("App"),
		ClientType: new("confidential"),
	}, false, 1000)
	if err != nil || len(secret) != 43 {
		t.Fatal(secret, err)
	}
	if err := s.AddList(ctx, list, "command"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("list of an unknown tenant: %v", err)
	}
	for _, err := range []error{
		s.AddTenant(ctx, tenant, "command"), s.AddList(ctx, list, "command"), s.AddClient(ctx, client, "command"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Tenant(ctx, tenant.ID); err != nil || got.MailFrom != tenant.MailFrom || !slices.Equal(got.Domains,
		[]string{"news.example.com"}) {
		t.Errorf("tenant %+v %v", got, err)
	}
	if got, err := s.List(ctx, list.ID); err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("list %+v %v, want %+v", got, err, list)
	}
	if got, err := s.Client(ctx, client.ID); err != nil || !slices.Equal(got.SecretHash,
		core.HashToken(secret)) || !slices.Equal(got.Scopes, client.Scopes) {
		t.Errorf("client %+v %v", got, err)
	}
	if l, err := s.UpdateList(ctx, list.ID, "command",
		func(l *core.List) error { return l.Change(core.ListInput{Status: new("inactive")}, 2000) }); err != nil ||
		l.Active() || l.UpdatedAt != 2000 {
		t.Errorf("updated %+v %v", l, err)
	}
	if err := s.DeleteTenant(ctx, tenant.ID, "command", 3000); err != nil {
		t.Fatal(err)
	}
	_, err1 := s.Tenant(ctx, tenant.ID)
	_, err2 := s.List(ctx, list.ID)
	_, err3 := s.Client(ctx, client.ID)
	if !errors.Is(err1, core.ErrNotFound) || !errors.Is(err2, core.ErrListNotFound) || !errors.Is(err3,
		core.ErrNotFound) {
		t.Errorf("after the delete: %v, %v, %v", err1, err2, err3)
	}
	if err := s.DeleteTenant(ctx, tenant.ID, "command", 3000); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("second delete: %v", err)
	}
}

// TestPagesOfRecords reads tenants in pages, for callers that see all of them or some.
func TestPagesOfRecords(t *testing.T) {
	s, ctx := storetest.Open(t), t.Context()
	var ids []string
	for range 5 {
		tenant, _ := core.NewTenant(core.TenantInput{Name: new("T")}, 1000)
		if err := s.AddTenant(ctx, tenant, "command"); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, tenant.ID)
	}
	slices.Sort(ids)
	for _, tt := range []struct {
		ids  []string
		all  bool
		page core.Page
		want []string
	}{
		{nil, true, core.Page{Limit: 2}, ids[:2]},
		{nil, true, core.Page{After: ids[1], Limit: 2}, ids[2:4]},
		{ids[3:], false, core.Page{Limit: 9}, ids[3:]},
		{nil, false, core.Page{Limit: 9}, nil},
	} {
		ts, err := s.Tenants(ctx, tt.ids, tt.all, tt.page)
		var got []string
		for _, x := range ts {
			got = append(got, x.ID)
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%v %v: %v %v", tt.ids, tt.page, got, err)
		}
	}
}
