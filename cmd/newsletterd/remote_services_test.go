package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/members"
)

// remoteServices are a member service and a send service, each in its own daemon.
type remoteServices struct {
	*webtest.Client
	member, send *running
	list         core.List
	client       string // the member service's client at the send service
}

// newRemoteServices connects two daemons as described in docs/webhooks.md.
func newRemoteServices(t *testing.T) *remoteServices {
	t.Helper()
	a := &remoteServices{Client: &webtest.Client{TB: t}}
	memberAddr, sendAddr := daemontest.FreeAddr(t), daemontest.FreeAddr(t)
	memberFile, sendFile := filepath.Join(t.TempDir(), "member.db"), filepath.Join(t.TempDir(), "send.db")
	tenant, err := core.NewTenant(core.TenantInput{Name: new("Acme")}, now())
	a.Must(err)
	a.list, err = core.NewList(core.ListInput{TenantID: &tenant.ID, Name: new("News")}, now())
	a.Must(err)
	reports, reportsSecret, err := core.NewClient(core.ClientInput{
		TenantID: &tenant.ID, Name: new("Send service"), ClientType: new(core.ClientConfidential),
		Scopes: &[]string{core.ScopeEventsWrite},
	}, true, now())
	a.Must(err)
	secret := auth.NewSecret()
	for _, file := range []string{memberFile, sendFile} {
		s, err := store.Open(t.Context(), db.Options{Path: file, Migrate: true})
		a.Must(err)
		a.Must(s.AddTenant(t.Context(), tenant, "test"))
		a.Must(s.AddList(t.Context(), a.list, "test"))
		if file == memberFile {
			a.Must(s.AddClient(t.Context(), reports, "test"))
		} else {
			key, err := auth.ParseSecret(secret)
			a.Must(err)
			w, err := s.AddWebhookClient(t.Context(), tenant.ID, "Member service", key, "test", now())
			a.Must(err)
			a.client = w.ID
		}
		a.Must(s.Close())
	}
	a.send = start(t, func(c *config.Config) {
		c.Server.Listen, c.Database.Path = sendAddr, sendFile
		c.Send.MemberURL, c.Send.MemberClient, c.Send.MemberSecret = "http://"+memberAddr, reports.ID,
			config.Secret(reportsSecret)
	})
	a.member = start(t, func(c *config.Config) {
		c.Server.Listen, c.Database.Path = memberAddr, memberFile
		c.Webhooks.SendURL, c.Webhooks.SendClient, c.Webhooks.SendSecret = "http://"+sendAddr, a.client,
			config.Secret(secret)
	})
	return a
}

func (a *remoteServices) join(email core.Email) {
	a.Helper()
	api := a.member.cfg.Origin() + "/api/newsletter/"
	token := a.Send("POST", api+"subscribe", map[string]any{
		"list_id": a.list.ID, "email": email, "preferences": map[string]any{"n": 1},
	}).OK().Field("confirm_token")
	a.Get(api + "confirm?token=" + token).OK()
}

// knows waits until the send service has a status for an address.
func (a *remoteServices) knows(email core.Email, word core.Status) core.Subscriber {
	a.Helper()
	var sub core.Subscriber
	daemontest.Await(a, "the send service", func() (known bool) {
		var err error
		sub, err = a.send.store.Subscriber(a.Context(), a.list.ID, email)
		return err == nil && sub.Status() == word
	})
	return sub
}

// hears waits until the member service has a status for an address.
func (a *remoteServices) hears(email core.Email, status string) {
	a.Helper()
	daemontest.Await(a, "the member service", func() bool {
		sub, err := a.member.store.Subscription(a.Context(), a.list.ID, email)
		return err == nil && sub.Status == status
	})
}

// TestTwoDaemonsAgree checks that a member service and a send service in two daemons learn of each other's changes.
func TestTwoDaemonsAgree(t *testing.T) {
	daemontest.Parallel(t)
	a := newRemoteServices(t)
	for _, email := range []core.Email{"ann@example.org", "bob@example.org", "cee@example.org", "dan@example.org"} {
		a.join(email)
		a.knows(email, core.StatusActive)
	}

	const ann core.Email = "ann@example.org" // unsubscribes with the link in the send service's email
	id := a.send.store.SubscriptionID(a.list.ID, ann.Key())
	token, err := a.send.keys.Sealer.SealUnsubscribe(auth.UnsubscribeToken{
		Kind: auth.UnsubscribeMailed, ListID: a.list.ID,
		SubscriptionID: id, Email: ann, IssuedAt: now(),
	})
	a.Must(err)
	out := a.Send("POST", a.send.cfg.Origin()+"/api/newsletter/unsubscribe?token="+token,
		url.Values{"List-Unsubscribe": {"One-Click"}}).OK()
	if sub, err := a.send.store.Subscriber(a.Context(), a.list.ID, ann); err != nil || sub.Mailable() ||
		out.Field("status") != core.SubscriptionUnsubscribed {
		a.Errorf("after the answer %v: %+v, %v", out, sub, err)
	}
	a.hears("ann@example.org", core.SubscriptionUnsubscribed)

	a.Must(a.send.store.ApplyReports(t.Context(),
		[]core.ProviderReport{{Provider: "p", Key: []byte("1"), Event: core.ProviderEvent{
			Type: "complaint", MessageID: "m", TenantID: a.list.TenantID, Email: "bob@example.org", OccurredAt: now(),
		}}}, now()))
	a.hears("bob@example.org", core.SubscriptionUnsubscribed)
	a.knows("bob@example.org", core.StatusComplaint)

	rows, err := a.member.store.ErasePerson(t.Context(), core.Person{Email: "cee@example.org"}, "test", now())
	a.Must(err)
	if sub := a.knows("cee@example.org", core.StatusUnsubscribed); rows == 0 || sub.Preferences != core.NoPreferences {
		t.Errorf("erased %d rows; the send service has %+v", rows, sub)
	}

	// The send service accepts no subscriptions to the list, and its pages redirect to those of the member service.
	staying := webtest.Client{TB: t, HTTP: webtest.Staying()}
	token, err = a.send.keys.Sealer.SealUnsubscribe(auth.UnsubscribeToken{
		Kind: auth.UnsubscribeMailed, ListID: a.list.ID, SubscriptionID: a.list.ID, Email: "dan@example.org",
		IssuedAt: now(),
	})
	a.Must(err)
	for path, want := range map[string]string{
		"/l/" + a.list.ID:                "/l/" + a.list.ID,
		"/preferences?list=" + a.list.ID: "/preferences?list=" + a.list.ID,
		"/preferences?token=" + token:    "/preferences?list=" + a.list.ID,
	} {
		r := staying.Get(a.send.cfg.Origin() + path)
		if got := r.Header.Get("Location"); got != a.member.cfg.Origin()+want {
			a.Errorf("%s leads to %q (%d)", path, got, r.StatusCode)
		}
	}
	_, _, err = a.send.store.Subscribe(a.Context(),
		members.SubscribeRequest{ListID: a.list.ID, Email: "fay@example.org"}, now())
	_, importErr := a.send.store.NewImport(a.Context(), a.list.ID, core.SubscriptionActive, "test")
	if !errors.Is(err, core.ErrListInactive) || core.KindOf(importErr) != core.Conflict {
		a.Errorf("%v, %v", err, importErr)
	}

	// The send service replaces the secret; the old one stays valid until the member service has the new one.
	key, err := auth.ParseSecret(auth.NewSecret())
	a.Must(err)
	a.Must(a.send.store.RotateWebhookSecret(t.Context(), a.client, key, "test", now()))
	a.join("eve@example.org")
	a.knows("eve@example.org", core.StatusActive)

	// A full sync contains the active subscribers and ends none of their subscriptions.
	_, err = a.member.store.RequestSync(t.Context(), a.list.ID, now())
	a.Must(err)
	daemontest.Await(t, "the end of the full sync", func() bool {
		open, err := a.member.store.OpenSyncs(t.Context(), 1)
		return len(open) == 0 && err == nil
	})
	a.knows("dan@example.org", core.StatusActive)
	a.knows("ann@example.org", core.StatusUnsubscribed)
	daemontest.Await(t, "the outbox to be empty", func() bool {
		state, err := a.member.store.OutboxState(t.Context())
		return state.Waiting+state.Dead == 0 && err == nil
	})
}

// TestSecretsChangeWithoutALoss repeatedly replaces the secret with which the daemon posts to itself, while events are
// sent. No event is lost.
func TestSecretsChangeWithoutALoss(t *testing.T) {
	daemontest.Parallel(t)
	d := start(t, nil)
	list := d.seed.NewList()
	ctx, stop := context.WithCancel(t.Context())
	changed := make(chan int, 1)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			key, err := auth.ParseSecret(auth.NewSecret())
			switch {
			case err != nil:
			case n%2 == 0:
				err = d.store.RotateWebhookSecret(t.Context(), core.LoopClientID, key, "test", now())
			default:
				err = d.store.EndWebhookRotation(t.Context(), core.LoopClientID, "test", now())
			}
			if err != nil {
				t.Error(err)
				break
			}
		}
		changed <- n
	}()
	const people = 200
	emails := make([]core.Email, people)
	for i := range emails {
		emails[i] = core.Email(fmt.Sprintf("p%d@example.org", i))
		_, row, err := d.store.Subscribe(t.Context(), members.SubscribeRequest{ListID: list.ID, Email: emails[i]}, now())
		if err != nil {
			t.Fatal(err)
		}
		token, err := d.store.ConfirmToken(t.Context(), row, core.ProofMailed)
		if err == nil {
			_, err = d.store.Confirm(t.Context(), token, core.Origin{}, now())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if n := <-changed; n < 2 {
		t.Errorf("the secret was replaced, or its successor alone good, %d times", n)
	}
	daemontest.Await(t, "the outbox to be empty", func() bool {
		state, err := d.store.OutboxState(t.Context())
		if state.Dead > 0 || err != nil {
			t.Fatalf("%+v %v", state, err)
		}
		return state.Waiting == 0
	})
	for _, email := range emails {
		if sub, err := d.store.Subscriber(t.Context(), list.ID, email); err != nil || sub.MemberStatus != core.StatusActive {
			t.Errorf("%s: %+v, %v", email, sub, err)
		}
	}
}
