package handlers

import (
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/identity"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

func init() {
	// event EVENT list=L: {EVENT} is the id of the newest event of the list
	steps["event"] = func(e *env, name string, args map[string]string) {
		found, err := e.store.OutboxEvents(e.t.Context(), tenants.OutboxFilter{ListID: e.value(args["list"])}, 0, 100)
		e.must(err)
		e.name(name, found[len(found)-1].EventID)
	}
	// dead-letter EVENT list=L: the newest event of the list becomes a dead letter; {EVENT} is its id
	steps["dead-letter"] = func(e *env, name string, args map[string]string) {
		ctx := e.t.Context()
		found, err := e.store.OutboxEvents(ctx, tenants.OutboxFilter{ListID: e.value(args["list"])}, 0, 100)
		e.must(err)
		last := &found[len(found)-1]
		e.name(name, last.EventID)
		e.must(e.store.FinishEvents(ctx, []tenants.EventResult{{Event: last, Dead: true, Reason: "answered 410"}},
			core.At(time.Now())))
	}
	// mirrored NAME list=L email=E: another member service manages the subscription; {NAME} is its id
	steps["mirrored"] = func(e *env, name string, args map[string]string) {
		steps["subscriber"](e, name, args)
		sub, err := e.store.Subscriber(e.t.Context(), e.value(args["list"]), core.Email(args["email"]))
		e.must(err)
		e.name(name, sub.ID)
	}
	// failed-mail KIND: the newest email of the kind fails permanently
	steps["failed-mail"] = func(e *env, kind string, _ map[string]string) {
		ctx := e.t.Context()
		found, err := e.store.QueuedMails(ctx, tenants.MailFilter{Kind: kind}, 0, 100)
		e.must(err)
		id := found[len(found)-1].ID
		e.must(e.store.FinishMails(ctx, []tenants.MailResult{{ID: id, Reason: "550 refused"}}, core.At(time.Now())))
	}
	// passkey NAME user=U: {NAME} is the id of a passkey of the user
	steps["passkey"] = func(e *env, name string, args map[string]string) {
		u, err := e.store.User(e.t.Context(), e.value(args["user"]))
		e.must(err)
		now := core.At(time.Now())
		k := core.Passkey{
			ID: core.NewID(), UserID: u.ID, RPID: "news.example.org", Name: name, Credential: []byte(name),
			PublicKey: []byte("k"), CreatedAt: now,
		}
		answer := identity.Answer{Hash: core.HashToken(name), ExpiresAt: now.Add(time.Hour)}
		e.must(e.store.AddPasskey(e.t.Context(), k, u.Epoch, answer, core.MailStyle{}, now))
		e.name(name, k.ID)
	}
	// token NAME user=U: {NAME} is the id of a token of the user
	steps["token"] = func(e *env, name string, args map[string]string) {
		now := core.At(time.Now())
		f := core.Family{
			ID: core.NewID(), Kind: "password", UserID: e.value(args["user"]), ClientID: "newsletterd", Scope: "openid",
			CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		}
		e.must(e.store.AddFamily(e.t.Context(), f))
		e.name(name, f.ID)
	}
}

// TestSystemStatus checks that the response has the form in the documents and the values that the command prints.
func TestSystemStatus(t *testing.T) {
	e := newEnvOn(t, storetest.Open(t))
	e.step("user op operator")
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("subscription s list=weekly email=ada@example.org")
	got, _ := e.play(exchange{request: "GET /api/admin/status as op"})
	for _, want := range []string{`"snapshot": {`, `"outbox": {`, `"waiting": 1`, `"name": "weekly"`, `"restored_jobs": 0`, `"daemon_runs": true`} {
		if !strings.HasPrefix(got, "200\n") || !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
