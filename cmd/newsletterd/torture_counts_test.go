package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/core/coretest"
)

// countedOps returns the requests that change the counts of a list, for one subscriber's address and subscription ID.
// Each reports whether it got a response. Many of them ask for something that is not possible at that moment.
func countedOps(l *daemontest.Ledger, email, id string) []func() bool {
	const people = "/api/admin/subscribers"
	post := func(path string, body any) func() bool {
		return func() bool {
			r, err := l.Try("POST", path, body)
			if err == nil && (r.StatusCode == 403 || r.StatusCode == 422 || r.StatusCode == 400) {
				l.Errorf("POST %s: %d %s", path, r.StatusCode, r.Text)
			}
			return err == nil
		}
	}
	list := map[string]any{"list_id": l.List, "email": email}
	return []func() bool{
		post("/api/newsletter/subscribe", list),
		func() bool {
			r, err := l.Try("POST", "/api/newsletter/subscribe", list)
			_, token, ok := strings.Cut(r.Text, `"confirm_token":"`)
			if token, _, _ = strings.Cut(token, `"`); err == nil && ok {
				_, err = l.Try("GET", "/api/newsletter/confirm?token="+url.QueryEscape(token), nil)
			}
			return err == nil
		},
		post(people, map[string]any{"list_id": l.List, "email": email, "status": core.SubscriptionActive}),
		post(people, map[string]any{"list_id": l.List, "email": email}),
		post(people+"/"+id+"/unsubscribe", nil),
		post(people+"/"+id+"/erase", nil),
		post("/api/admin/suppressions", map[string]any{"email": email, "tenant_id": l.Tenant, "reason": "asked"}),
		post("/api/admin/suppressions/lift", map[string]any{"email": email, "tenant_id": l.Tenant}),
		func() bool { return l.Report(email, []string{"bounce", "complaint", "suppression"}[rand.IntN(3)]) },
		post("/api/admin/newsletter-lists/"+l.List+"/full-sync", nil),
	}
}

// TestCountsSurviveKills kills the daemon at random moments while subscribers join, unsubscribe, bounce, complain, are
// blocked and unblocked, and are erased. The counts of the list must always equal those of a scan.
func TestCountsSurviveKills(t *testing.T) {
	daemontest.Parallel(t)
	kills, each := int64(3), int64(150)
	if daemontest.AtLength() {
		kills, each = 25, 400
	}
	l := daemontest.NewLedger(t)
	l.TokenOf("op@acme.example", core.ScopeAdmin)
	s := l.Open()
	var ops [][]func() bool
	for i := range 60 {
		email := core.Email(fmt.Sprintf("r%d@example.net", i))
		ops = append(ops, countedOps(l, string(email), s.SubscriptionID(l.List, email.Key())))
	}
	l.Must(s.Close())
	var done atomic.Int64
	wrong := 0
	for round := range kills {
		ctx, end := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for v := range uint64(4) {
			random := rand.New(rand.NewPCG(uint64(round), v))
			wg.Go(func() {
				for ctx.Err() == nil {
					reader := ops[random.IntN(len(ops))]
					if reader[random.IntN(len(reader))]() {
						done.Add(1)
					}
				}
			})
		}
		until := (round+1)*each + rand.Int64N(20)
		l.Every(time.Millisecond, func() bool { return done.Load() >= until })
		l.Kill()
		end()
		wg.Wait()
		l.Serve()
		s := l.Open()
		if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
			l.Errorf("round %d: %q %v", round, found, err)
			wrong++
		}
		l.Must(s.Close())
	}
	t.Logf("%d operations; the list in the end: %s", done.Load(), l.Get("/api/admin/newsletter-lists/"+l.List).Text)
	l.Stop()
	coretest.Promise(t, 29, int(done.Load()), wrong, fmt.Sprintf("random operations over %d kills", kills))
}
