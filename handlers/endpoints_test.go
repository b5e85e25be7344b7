package handlers

import (
	"context"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
)

// Webhook endpoints for scenarios. No events are posted to them. The URL determines the result of a test.
func init() {
	setups = append(setups, func(e *env, o *Options) {
		o.MayPost = func(url string) error {
			if strings.Contains(url, "//10.") {
				return core.Invalidf("url", "%s is not public.", url)
			}
			return nil
		}
		o.TestEndpoint = func(ctx context.Context, id string) (core.EndpointTest, error) {
			receiver, err := e.store.Endpoint(ctx, id)
			if strings.Contains(receiver.URL, "down") {
				return core.EndpointTest{EventID: core.NewID(), Status: 503, TookMS: 12, Reason: "HTTP 503 down"}, err
			}
			return core.EndpointTest{EventID: core.NewID(), Status: 204, TookMS: 7}, err
		}
	})
	// endpoint NAME tenant=TENANT url=URL count=N: N endpoints, of which {NAME} is the last; it has two log entries
	steps["endpoint"] = func(e *env, name string, args map[string]string) {
		now := core.At(time.Now())
		n, err := strconv.Atoi(argOr(args, "count", "1"))
		e.must(err)
		for range n {
			receiver := core.Endpoint{
				ID: core.NewID(), TenantID: e.value(args["tenant"]), Name: name, CreatedAt: now,
				UpdatedAt: now,
			}
			receiver.URL = argOr(args, "url", "https://"+name+".example/hook")
			receiver.Events = core.Strings{}
			e.must(e.store.AddEndpoint(e.t.Context(), receiver, make([]byte, 32), "command"))
			e.name(name, receiver.ID)
		}
		for i, outcome := range []string{core.AttemptRetry, core.AttemptDelivered} {
			e.must(e.store.AddEndpointAttempt(e.t.Context(), core.EndpointAttempt{
				EndpointID: e.value(name), EventID: core.NewID(), EventType: core.EventActivated, At: now, Outcome: outcome,
				Status: 503 - 299*i, TookMS: 30, Reason: "HTTP 503"[:8-8*i],
			}))
		}
	}
	// theme NAME tenant=TENANT: a theme with that name
	steps["theme"] = func(e *env, name string, args map[string]string) {
		tenant, err := e.store.Tenant(e.t.Context(), e.value(args["tenant"]))
		e.must(err)
		t, err := drafts.NewTheme(&tenant, core.ThemeInput{Name: &name}, 1)
		e.must(err)
		e.must(e.store.AddTheme(e.t.Context(), t, "command"))
		e.name(name, t.ID)
	}
	// dkim-made TENANT: its administrators have created all keys allowed in this hour
	steps["dkim-made"] = func(e *env, name string, _ map[string]string) {
		t, err := e.store.Tenant(e.t.Context(), e.value(name))
		e.must(err)
		for i := range 10 {
			k, err := core.NewDKIMKey(core.DKIMKey{
				TenantID: t.ID, Domain: t.Domains[0], Selector: "made-" + strconv.Itoa(i),
			}, 1<<42)
			e.must(err)
			e.must(e.store.AdmitDKIMKey(e.t.Context(), k, true))
		}
	}
	// dkim NAME tenant=TENANT domain=DOMAIN selector=S: a key
	steps["dkim"] = func(e *env, name string, args map[string]string) {
		k, err := core.NewDKIMKey(core.DKIMKey{
			TenantID: e.value(args["tenant"]), Domain: argOr(args, "domain", name+".example"), Selector: args["selector"],
		}, core.At(time.Now()))
		e.must(err)
		k.Public = "cHVibGlj"
		e.must(e.store.AddDKIMKey(e.t.Context(), k, []byte("private"), "command"))
		e.name(name, k.ID)
	}
	// tested TENANT: it has used all endpoint tests allowed in this hour
	steps["tested"] = func(e *env, name string, _ map[string]string) {
		for e.store.CountEndpointTest(e.t.Context(), e.value(name), core.At(time.Now())) == nil {
			continue
		}
	}
}
