package store_test

import (
	"context"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/schema"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// robot adds a client. The first keeper creates it, and the others rotate its secret.
func (a *approvals) robot(keepers ...string) core.Client {
	a.Helper()
	client, _, err := core.NewClient(core.ClientInput{
		Name: new("Robot"), TenantID: &a.tenant.ID, ClientType: new(core.ClientConfidential),
	}, true, a.Now)
	a.Must(err)
	a.Must(a.AddClient(a.Context(), client, keepers[0]))
	for _, by := range keepers[1:] {
		a.Must(a.UpdateClient(a.Context(), client.ID, by, func(c *core.Client) error {
			_, err := c.RotateSecret(0, true, a.Now)
			return err
		}))
	}
	return client
}

// through returns a context in which a user acts through the client c.
func (a *approvals) through(c *core.Client) context.Context {
	return context.WithValue(a.Context(), db.ClientKey{}, c.ID)
}

func (a *approvals) approveIn(ctx context.Context, c *core.Campaign, by string) error {
	a.Helper()
	d := a.draft(c)
	_, err := a.ApproveCampaign(ctx, campaigns.CampaignSending{
		CampaignEdit: campaigns.CampaignEdit{ID: c.ID, Actor: by, Now: a.Now, Seen: d.Digest},
		Version:      d.Version.Version, Fields: &d.Fields, Copy: &d.Content.Copy,
	})
	return err
}

// Changes made with a user's token at a client count as made by the user, the keepers of the client, and the keepers of
// the client that created it. None of them counts as a second person, nor does anyone who approves through one of their
// clients.
func TestActsThroughAClientAreItsKeepersToo(t *testing.T) {
	a := newApprovals(t)
	first := a.robot("user:eve")
	second := a.robot(core.ClientActor(first.ID), "user:gil")
	other := a.robot("user:cy")
	edit := func(ctx context.Context, by string) core.Campaign {
		c := a.NewCampaign(a.list)
		c, err := a.EditCampaign(ctx, campaigns.CampaignEdit{ID: c.ID, Actor: by, Now: a.Now},
			func(f *core.CampaignFields) error { f.Subject = "Hello"; return nil })
		a.Must(err)
		return c
	}
	for _, tt := range []struct {
		name          string
		writes, gives *core.Client
		writer, by    string
		refused       bool
	}{
		{"who keeps the client of the writer", &first, nil, "user:alice", "user:eve", true},
		{"who keeps the client that created it", &second, nil, "user:alice", "user:eve", true},
		{"who changed its secret", &second, nil, "user:alice", "user:gil", true},
		{"the user who wrote", &first, nil, "user:alice", "user:alice", true},
		{"another user", &first, nil, "user:alice", "user:bob", false},
		{"through a client of the writer", nil, &first, "user:eve", "user:alice", true},
		{"through a client of a client of the writer", nil, &second, "user:eve", "user:alice", true},
		{"through the client of the writer", &other, &other, "user:alice", "user:bob", true},
		{"through someone else's client", nil, &other, "user:eve", "user:alice", false},
		{"through one kept by another writer's client", &first, &second, "user:alice", "user:bob", true},
	} {
		ctx := func(c *core.Client) context.Context {
			if c == nil {
				return t.Context()
			}
			return a.through(c)
		}
		c := edit(ctx(tt.writes), tt.writer)
		if err := a.approveIn(ctx(tt.gives), &c, tt.by); core.KindOf(err) == core.Forbidden != tt.refused ||
			!tt.refused && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// The client is recorded when a version is restored, a campaign is created, or a layout is changed.
func TestTheClientOfAWriterIsKept(t *testing.T) {
	a := newApprovals(t)
	robot := a.robot("user:eve")
	c, f := core.Campaign{}, core.CampaignFields{
		Name: "May", Subject: "May", ListIDs: []string{a.list.ID}, Tracking: core.TrackingOff,
		Content: core.CampaignContent{Kind: core.ContentMarkdown, Source: "Hello"},
	}
	c, err := a.AddCampaign(a.through(&robot), core.NewCampaign(a.tenant.ID, &f, "user:alice", a.Now), &f)
	a.Must(err)
	if err := a.approveIn(t.Context(), &c, "user:eve"); core.KindOf(err) != core.Forbidden {
		t.Errorf("begun through a client: %v", err)
	}
	a.Must(a.approveIn(t.Context(), &c, "user:bob"))
	a.Now += 1000
	edit := func() campaigns.CampaignEdit { return campaigns.CampaignEdit{ID: c.ID, Actor: "user:fay", Now: a.Now} }
	a.Must(a.EditCampaign(t.Context(), edit(), func(f *core.CampaignFields) error { f.Subject = "June"; return nil }))
	a.Must(a.RestoreVersion(t.Context(), edit(), 1))
	if err := a.approveIn(t.Context(), &c, "user:eve"); core.KindOf(err) != core.Forbidden {
		t.Errorf("restored: %v", err)
	}
	a.Must(a.UpdateTemplate(a.through(&robot), a.frame.ID, "user:alice", func(t *core.Template) error {
		return t.Change(core.TemplateInput{BodyText: new("Buy\n{{content}}")}, a.Now)
	}))
	for by, refused := range map[string]bool{"user:eve": true, "user:alice": true, "user:bob": false} {
		if err := a.tenant.Accepts(new(a.draft(&a.words).Campaign), by); err != nil != refused {
			t.Errorf("%s, of a layout: %v", by, err)
		}
	}
	entries, _, err := a.Audit(t.Context(), core.AuditFilter{Object: a.frame.ID, Action: "template.update"},
		core.Page{Limit: 1})
	a.Must(err)
	a.Must(a.NameAudited(t.Context(), entries))
	if len(entries) != 1 || entries[0].ClientID != robot.ID || entries[0].ClientName != "Robot" {
		t.Errorf("%+v", entries)
	}
}

// An approval through a client of the writer, given while one person was enough, becomes invalid when the tenant starts
// to require a second person.
func TestAnApprovalThroughAClientStaysTheWriters(t *testing.T) {
	a := newApprovals(t)
	robot := a.robot("user:eve")
	a.ChangeTenant(a.tenant.ID, core.TenantInput{Approval: new(core.ApprovalNone)})
	c := a.NewCampaign(a.list)
	c, err := a.EditCampaign(t.Context(), campaigns.CampaignEdit{ID: c.ID, Actor: "user:eve", Now: a.Now},
		func(f *core.CampaignFields) error { f.Subject = "Hello"; return nil })
	a.Must(err)
	a.Must(a.approveIn(a.through(&robot), &c, "user:alice"))
	now := mustCampaign(a, c.ID)
	if err := a.tenant.Accepts(&now, now.ApprovedBy); err == nil {
		t.Error("it counts as a second person's")
	}
}

// A user who has renamed an attachment after the campaign was created counts as a writer, because recipients see the
// name. A changed alt text or an unchanged name doesn't count.
func TestWhoNamesAnAttachmentIsAWriter(t *testing.T) {
	a := newApprovals(t)
	a.setMedia(&a.paper, core.MediaInput{Name: new(a.paper.Name)})
	if err := a.tenant.Accepts(new(a.draft(&a.looks).Campaign), "user:fay"); err != nil {
		t.Fatal(err)
	}
	rename := func(ctx context.Context, by, name string) {
		t.Helper()
		a.Must(a.UpdateMedia(ctx, a.paper.ID, by, a.Now, func(m *core.Media) error {
			return m.Change(core.MediaInput{Name: &name}, a.Now)
		}))
	}
	robot := a.robot("user:eve")
	rename(t.Context(), "user:fay", "Free money.pdf")
	rename(a.through(&robot), "user:alice", "Prices.pdf")
	for _, by := range []string{"user:fay", "user:alice", "user:eve", "user:bob"} {
		refused := by != "user:bob" // the last user, who approves
		if err := a.approveIn(t.Context(), &a.looks, by); core.KindOf(err) == core.Forbidden != refused ||
			!refused && err != nil {
			t.Errorf("%s: %v", by, err)
		}
	}
}

// A user who changes the secret, addresses or rights of a client, or the address or secret of an endpoint, becomes its
// keeper like its creator, also through a client. Renaming or disabling it doesn't count. The migration derives the
// same from the audit log.
func TestWhoKeepsAClientOrAnEndpoint(t *testing.T) {
	a := newApprovals(t)
	robot := a.robot("user:ann")
	change := func(by string, in core.ClientInput) {
		t.Helper()
		a.Must(a.UpdateClient(t.Context(), robot.ID, by, func(c *core.Client) error {
			_, err := c.Change(in, true, a.Now)
			return err
		}))
	}
	change("user:name", core.ClientInput{Name: new("Shop")})
	change("user:off", core.ClientInput{Disabled: new(true)})
	change("user:on", core.ClientInput{Disabled: new(false)})
	change("user:uri", core.ClientInput{RedirectURIs: &[]string{"https://eve.example/cb"}})
	change("user:scope", core.ClientInput{Scopes: &[]string{core.ScopeSend}})
	change("user:grant", core.ClientInput{GrantTypes: &[]string{"client_credentials"}})
	a.Must(a.UpdateClient(t.Context(), robot.ID, "user:secret", func(c *core.Client) error {
		_, err := c.RotateSecret(0, true, a.Now)
		return err
	}))
	e := a.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/")})
	endpoint := func(ctx context.Context, by string, in tenants.EndpointChange) {
		t.Helper()
		a.Must(a.UpdateEndpoint(ctx, e.ID, in, by, a.Now))
	}
	endpoint(t.Context(), "user:name", tenants.EndpointChange{EndpointInput: core.EndpointInput{Name: new("CRM")}})
	endpoint(t.Context(), "user:off", tenants.EndpointChange{Disabled: new(true)})
	endpoint(t.Context(), "user:on", tenants.EndpointChange{Disabled: new(false)})
	endpoint(t.Context(), "user:url", tenants.EndpointChange{EndpointInput: core.EndpointInput{URL: new("https://eve.test/")}})
	endpoint(a.through(&robot), "user:key", tenants.EndpointChange{NewKey: []byte(strings.Repeat("k", 32))})
	check := func() {
		t.Helper()
		for by, kept := range map[string][2]int{
			"name": {}, "off": {}, "on": {}, "ann": {1, 1}, "uri": {1, 1}, "scope": {1, 1}, "grant": {1, 1}, "secret": {1, 1},
			"url": {0, 1}, "key": {0, 1},
		} {
			m, err := a.KeptBy(t.Context(), by)
			if err != nil || len(m.Clients) != kept[0] || len(m.Endpoints) != kept[1] {
				t.Errorf("%s: %q, %v", by, m.Names(), err)
			}
		}
	}
	check()
	found, err := a.Client(t.Context(), robot.ID)
	a.Must(err)
	if len(found.Keepers) != 5 {
		t.Errorf("%q", found.Keepers)
	}
	a.SQL("DELETE FROM keeper WHERE actor NOT LIKE 'client:%'")
	for _, by := range []string{"name", "off", "on", "ann", "uri", "scope", "grant", "secret", "url", "key"} {
		a.SQL("INSERT INTO user (id, email, email_key, name, created_at, updated_at) VALUES (?1, ?1, ?1, '', 1, 1)", by)
	}
	for _, m := range schema.Migrations() {
		if m.Number == 101 {
			_, fill, _ := strings.Cut(m.SQL, "INSERT OR IGNORE INTO keeper")
			fill, _, _ = strings.Cut(fill, ";")
			a.SQL("INSERT OR IGNORE INTO keeper" + fill)
		}
	}
	check()
	a.Must(a.DeleteEndpoint(t.Context(), e.ID, "user:ann", a.Now))
	if n := a.Count("SELECT count(*) FROM keeper WHERE record = ?", e.ID); n > 0 {
		t.Errorf("keepers of what is gone: %d", n)
	}
}
