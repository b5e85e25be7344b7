package main

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
	"newsletterd/store/tenants"
	"newsletterd/worker"
)

// TestDeadLettersByCommand checks that an event that a receiver refuses permanently becomes a dead letter. The command
// shows it with the reason and sends it again.
func TestDeadLettersByCommand(t *testing.T) {
	daemontest.Parallel(t)
	l := daemontest.NewReceiver(t)
	l.Say(http.StatusUnprocessableEntity)
	c := start(t, func(cfg *config.Config) { cfg.Webhooks.SendURL = l.URL })
	list := c.seed.NewList().ID
	c.seed.Active(list, "a@example.org")
	c.seed.Active(list, "b@example.org")
	l.Wait(t, 2)
	var dead []struct {
		ID        int64
		State     string
		LastError string `json:"last_error"`
	}
	for len(dead) < 2 { // the response arrives before it is recorded
		c.command(0, &dead, "admin", "outbox", "list", "--state", "dead")
	}
	if dead[0].State != "dead" || dead[0].LastError != "HTTP 422" {
		t.Errorf("%+v", dead)
	}
	// A script takes the ID from the list in this form.
	c.command(0, &dead[1], "admin", "outbox", "show", "--id", strconv.FormatInt(dead[1].ID, 10))
	l.Say(http.StatusOK)
	var n struct{ Retried int }
	if c.command(0, &n, "admin", "outbox", "retry", "--dead"); n.Retried != 2 {
		t.Errorf("%+v", n)
	}
	l.Wait(t, 2)
	if got := l.Count("/webhooks/subscriptions " + core.EventActivated); got != 2 {
		t.Errorf("%d came", got)
	}
}

// TestBouncesAreListed checks that an address that bounced on only one list is also listed without --list.
func TestBouncesAreListed(t *testing.T) {
	daemontest.Parallel(t)
	c := start(t, func(*config.Config) {})
	weekly := c.seed.NewList()
	tenant, list := weekly.TenantID, weekly.ID
	bounced := core.Event{
		ID: core.NewID(), Type: core.EventPreferences, TenantID: tenant, ListID: list, OccurredAt: now(),
		Subscriber: core.EventSubscriber{
			ID: core.NewID(), Email: "bob@example.org",
			Status: string(core.StatusBounced),
		},
	}
	if err := c.store.ApplyEvent(t.Context(), tenants.Nonce{ClientID: "c", Nonce: core.NewID()}, bounced,
		now()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"--kind", "bounced"}, {"--tenant", tenant}, {"--list", list}} {
		var rows []core.Suppressed
		if c.command(0, &rows, append([]string{"admin", "suppression", "list"}, args...)...); len(rows) != 1 ||
			rows[0].Email != "bob@example.org" {
			t.Errorf("%v: %+v", args, rows)
		}
	}
	var none []core.Suppressed
	other := c.seed.NewTenant().ID
	for _, args := range [][]string{{"--kind", "disabled"}, {"--tenant", other}} {
		if c.command(0, &none, append([]string{"admin", "suppression", "list"}, args...)...); len(none) != 0 {
			t.Errorf("%v: %+v", args, none)
		}
	}
}

// TestEndpointByCommand checks that a tenant's webhook endpoint receives events through the guard. An address that is
// not public must be allowed by its exact host and port, and redirects are not followed.
func TestEndpointByCommand(t *testing.T) {
	daemontest.Parallel(t)
	l := daemontest.NewReceiver(t)
	allow := strings.TrimPrefix(l.URL, "http://")
	c := start(t, func(cfg *config.Config) { cfg.Webhooks.Allow = []string{allow} })
	c.env = []string{"NEWSLETTERD_WEBHOOKS_ALLOW=" + allow}
	weekly := c.seed.NewList()
	tenant, list := weekly.TenantID, weekly.ID
	var hook, moved, test struct {
		ID     string
		Status int
		Reason string
	}
	c.command(0, &hook, "admin", "webhook-endpoint", "create", "--tenant", tenant, "--url", l.URL+"/hook")
	c.command(0, &test, "admin", "webhook-endpoint", "test", "--id", hook.ID)
	if l.Wait(t, 1); test.Status != 200 || l.Count("/hook webhook.test") != 1 {
		t.Errorf("%+v", test)
	}
	c.command(0, &moved, "admin", "webhook-endpoint", "create", "--tenant", tenant, "--url", l.URL+"/moved", "--event",
		core.EventPreferences)
	if c.command(1, &test, "admin", "webhook-endpoint", "test", "--id",
		moved.ID); test.Status != http.StatusTemporaryRedirect {
		t.Errorf("%+v", test)
	}
	localhost := strings.Replace(l.URL, "127.0.0.1", "localhost", 1)
	if said := c.command(1, nil, "admin", "webhook-endpoint", "create", "--tenant", tenant, "--url",
		localhost); !strings.Contains(said, "not public") {
		t.Error(said)
	}
	for _, args := range [][]string{{"create", "--tenant", tenant}, {"update", "--id", moved.ID}} {
		said := c.command(1, nil, append(append([]string{"admin", "webhook-endpoint"}, args...), "--url",
			"https://crm.example.org:99999/")...)
		if !strings.Contains(said, "1 to 65535") {
			t.Error(said)
		}
	}
	c.seed.Active(list, "a@example.org")
	l.Wait(t, 1)
	if got := l.Count("/hook " + core.EventActivated); got != 1 {
		t.Errorf("%d came", got)
	}
	var attempts []core.EndpointAttempt
	for len(attempts) < 2 { // newest first; the other is the test
		c.command(0, &attempts, "admin", "webhook-endpoint", "log", "--id", hook.ID)
	}
	if a := attempts[0]; a.Outcome != "delivered" || a.Status != 200 {
		t.Errorf("%+v", a)
	}
}

// TestEndpointsByHTTP checks that a test requested over HTTP passes the same guard as deliveries. It reaches only the
// non-public addresses that the operator allows, even for an endpoint created while more were allowed. Redirects are
// not followed, and the text of the response is cut.
func TestEndpointsByHTTP(t *testing.T) {
	daemontest.Parallel(t)
	l, inside := daemontest.NewReceiver(t), daemontest.NewReceiver(t)
	d := start(t, func(cfg *config.Config) { cfg.Webhooks.Allow = []string{l.Listener.Addr().String()} })
	d.operator(core.ScopeAdmin)
	tenant := d.seed.NewTenant().ID
	const path = "/api/admin/webhook-endpoints"
	create := func(url string) webtest.Reply {
		return d.Send("POST", path, map[string]any{"tenant_id": tenant, "url": url})
	}
	for _, url := range []string{
		inside.URL, "http://crm.example/", "https://localhost/", "https://169.254.169.254/latest", "https://[::1]/",
		"https://10.0.0.1/",
		"https://user:pw@crm.example/", "file:///etc/passwd",
	} {
		create(url).Wants(http.StatusBadRequest)
	}
	for _, c := range []struct {
		id     string
		status int
		reason string
	}{
		{create(l.URL + "/hook").Wants(http.StatusCreated).Field("id"), 200, ""},
		{create(l.URL + "/moved").Wants(http.StatusCreated).Field("id"), 307, "HTTP 307"},
		{d.seed.NewEndpoint(core.EndpointInput{URL: &inside.URL}).ID, 0, "the address is not public"},
	} {
		var got core.EndpointTest
		d.Send("POST", path+"/"+c.id+"/test", nil).OK().JSON(&got)
		if got.Status != c.status || got.Reason != c.reason {
			t.Errorf("%+v, want %+v", got, c)
		}
		var log []core.EndpointAttempt
		d.Get(path + "/" + c.id + "/log").OK().JSON(&log)
		if len(log) != 1 || log[0].EventID != got.EventID || log[0].Reason != c.reason {
			t.Errorf("%+v", log)
		}
	}
	if l.Count("/hook "+worker.TestEventType) != 1 || inside.Count("/ "+worker.TestEventType) != 0 {
		t.Error("the wrong ones were posted to")
	}
}
