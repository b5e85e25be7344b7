package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/handlers/page"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

func init() {
	// foreign LIST: another member service has fed the list
	steps["foreign"] = func(e *env, name string, _ map[string]string) {
		list, err := e.store.List(e.t.Context(), e.value(name))
		e.must(err)
		now := core.At(time.Now())
		e.must(e.store.ApplyEvent(e.t.Context(), tenants.Nonce{ClientID: "another", Nonce: core.NewID()}, core.Event{
			ID: core.NewID(), Type: core.EventUnsubscribed, TenantID: list.TenantID, ListID: list.ID, OccurredAt: now,
			Subscriber: core.EventSubscriber{ID: core.NewID(), Email: "theirs@example.org", Status: "unsubscribed"},
		}, now))
	}
	// subscription NAME list=L email=E status=active|unsubscribed|pending preferences={…}: {NAME} is its id,
	// {NAME.masked} its id for callers who may not read addresses
	steps["subscription"] = func(e *env, name string, args map[string]string) {
		ctx, now := e.t.Context(), core.At(time.Now())
		sub, row, err := e.store.Subscribe(ctx,
			members.SubscribeRequest{ListID: e.value(args["list"]), Email: core.Email(args["email"])}, now)
		e.must(err)
		e.name(name, sub.ID)
		e.name(name+".masked", e.store.MaskedSubscriptionID(sub.ID))
		if args["status"] == "pending" {
			return
		}
		token, err := e.store.ConfirmToken(ctx, row, core.ProofMailed)
		e.must(err)
		_, err = e.store.Confirm(ctx, token, core.Origin{}, now)
		e.must(err)
		if args["status"] == "unsubscribed" {
			_, err = e.store.Unsubscribe(ctx, members.UnsubscribeRequest{ListID: sub.ListID, SubscriptionID: sub.ID}, now)
			e.must(err)
		}
	}
	// confirm-mail NAME email=E: {NAME} is the token in the last confirmation email to the address
	steps["confirm-mail"] = func(e *env, name string, args map[string]string) {
		mails, err := e.store.DueMails(e.t.Context(), core.At(time.Now().Add(time.Minute)), 100)
		e.must(err)
		for _, m := range mails {
			if m.Kind == core.MailConfirm && string(m.Email) == args["email"] {
				token, err := e.store.ConfirmToken(e.t.Context(), m.TokenID, core.ProofMailed)
				e.must(err)
				e.name(name, token)
			}
		}
		if e.names[name] == "" {
			e.t.Fatalf("no confirmation mail to %s", args["email"])
		}
	}
	// unsubscribe-link NAME list=L email=E kind=mailed|requested|undo|gone|manage age=1h job=JOB: {NAME} is the token
	// in an email
	steps["unsubscribe-link"] = func(e *env, name string, args map[string]string) {
		kinds := map[string]auth.UnsubscribeKind{
			"": auth.UnsubscribeMailed, "requested": auth.UnsubscribeRequested,
			"undo": auth.UnsubscribeUndo, "gone": auth.UnsubscribeUndo, "manage": auth.UnsubscribeManage,
		}
		age, err := time.ParseDuration(argOr(args, "age", "0"))
		e.must(err)
		list, email, issued := e.value(args["list"]), core.Email(args["email"]), core.At(time.Now())
		if args["kind"] == "undo" { // of the last unsubscribe
			sub, err := e.store.Subscription(e.t.Context(), list, email)
			e.must(err)
			issued = sub.ChangedAt
		}
		var job core.SendJob
		if args["job"] != "" {
			job, err = e.store.SendJob(e.t.Context(), e.value(args["job"]))
			e.must(err)
		}
		token, err := e.handler.sealer.SealUnsubscribe(auth.UnsubscribeToken{
			Kind: kinds[args["kind"]], ListID: list, Email: email, JobNo: job.No,
			SubscriptionID: e.store.SubscriptionID(list, email.Key()), IssuedAt: issued.Add(-age),
		})
		e.must(err)
		e.name(name, token)
	}
	// look of=LIST fields={…} language=de consent_text=… description=… and the redirect URLs: sets what the list's
	// subscribers see
	steps["look"] = func(e *env, _ string, args map[string]string) {
		_, err := e.store.UpdateList(e.t.Context(), e.value(args["of"]), "command", func(l *core.List) error {
			in := core.ListInput{}
			for name, to := range map[string]**string{
				"language": &in.Language, "consent_text": &in.ConsentText, "description": &in.Description,
				"subscribed": &in.SubscribeRedirectURL,
				"confirmed":  &in.ConfirmRedirectURL, "unsubscribed": &in.UnsubscribeRedirectURL,
			} {
				if v, ok := args[name]; ok {
					*to = &v
				}
			}
			if args["fields"] != "" {
				in.Fields = &[]core.Field{
					{Name: "first_name", Label: "First name", Type: core.FieldText},
					{
						Name: "city", Label: "City", Type: core.FieldChoice, Options: core.Strings{"Bath", "Brno"},
						Required: true,
					},
					{Name: "events", Label: "Events too", Type: core.FieldBoolean},
				}
			}
			return l.Change(in, core.At(time.Now()))
		})
		e.must(err)
	}
	// disabled address=E
	steps["disabled"] = func(e *env, _ string, args map[string]string) {
		_, err := e.store.Disable(e.t.Context(), members.DisableRequest{Email: core.Email(args["address"])},
			core.At(time.Now()))
		e.must(err)
	}
	setSteps()
}

// setSteps adds the steps that create a daemon with other settings.
func setSteps() {
	for step, set := range map[string]func(*Options){
		"unsubscribe-tokens-need-bearer": func(o *Options) { o.Newsletter.UnsubscribeTokenAuth = "bearer" },
		"send-elsewhere":                 func(o *Options) { o.Newsletter.SendElsewhere = true },
	} {
		steps[step] = func(e *env, _ string, _ map[string]string) {
			o := e.handler.options
			o.Registry = nil
			set(&o)
			h, err := New(o)
			e.must(err)
			srv := httptest.NewServer(h)
			e.t.Cleanup(srv.Close)
			e.handler, e.url = h, srv.URL
		}
	}
}

func (e *env) get(path string) *http.Response {
	e.t.Helper()
	res, err := http.Get(e.url + path)
	e.must(err)
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		e.t.Fatalf("%s: %d", path, res.StatusCode)
	}
	return res
}

// The message about a required field fits its kind: a checkbox is checked, a text is filled in.
func TestRequiredFieldsOfAForm(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	for kind, want := range map[string]string{
		core.FieldBoolean: page.AllWords()["en"].FaultUnchecked, core.FieldText: page.AllWords()["en"].FaultMissing,
	} {
		_, err := e.store.UpdateList(t.Context(), e.names["weekly"], "command", func(l *core.List) error {
			l.Fields = core.Fields{{Name: "terms", Label: "Terms", Type: kind, Required: true}}
			return nil
		})
		e.must(err)
		res, err := http.PostForm(e.url+"/l/"+e.names["weekly"], url.Values{"email": {"a@b.example"}})
		e.must(err)
		got, err := io.ReadAll(res.Body)
		e.must(err)
		res.Body.Close()
		if want = strings.Replace(want, "{{field}}", "Terms", 1); !strings.Contains(string(got), want) {
			t.Errorf("%s: the page lacks %q", kind, want)
		}
	}
}

func TestParallelConfirmsOverHTTP(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 18, &tried, "uses of a confirmation at once")
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	res, err := http.Post(e.url+"/api/newsletter/subscribe", "application/json",
		strings.NewReader(`{"list_id":"`+e.names["weekly"]+`","email":"a@b.example"}`))
	e.must(err)
	var sub struct {
		ConfirmToken string `json:"confirm_token"`
	}
	e.must(json.NewDecoder(res.Body).Decode(&sub))
	res.Body.Close()
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[int]int{} // number of responses by status
	for range 20 {
		wg.Go(func() {
			res, err := http.Get(e.url + "/api/newsletter/confirm?token=" + sub.ConfirmToken)
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			got[res.StatusCode]++
		})
	}
	wg.Wait()
	if tried = got[200]; tried != 20 {
		t.Errorf("%v", got)
	}
	if st, err := e.store.OutboxState(t.Context()); err != nil || st.Waiting != 1 {
		t.Errorf("%+v, %v: want one event", st, err)
	}
}

// RFC 8058: one-click unsubscribe works with any body and type, without cookies, and from anywhere. GET and HEAD only
// show the page.
func TestOneClickUnsubscribe(t *testing.T) {
	for _, c := range []struct {
		method, media, body string
		status              int
		want                string
	}{
		{"POST", "application/x-www-form-urlencoded", "List-Unsubscribe=One-Click", 200, "unsubscribed"},
		{
			"POST", "multipart/form-data; boundary=x",
			"--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n", 200,
			"unsubscribed",
		},
		{"POST", "", "", 200, "unsubscribed"},
		{"POST", "text/plain", strings.Repeat("x", 100_000), 200, "unsubscribed"},
		{"GET", "", "", 200, "active"},
		{"HEAD", "", "", 200, "active"},
	} {
		t.Run(c.method+" "+c.media, func(t *testing.T) {
			e := newEnv(t)
			e.step("tenant acme")
			e.step("list weekly tenant=acme")
			e.step("subscription s list=weekly email=a@b.example")
			e.step("unsubscribe-link token list=weekly email=a@b.example")
			req, err := http.NewRequestWithContext(t.Context(), c.method, e.url+"/api/newsletter/unsubscribe?token="+
				e.names["token"], strings.NewReader(c.body))
			e.must(err)
			req.Header.Set("Content-Type", c.media)
			req.Header.Set("Origin", "https://mail.example")
			req.Header.Set("Sec-Fetch-Site", "cross-site")
			res, err := http.DefaultTransport.RoundTrip(req)
			e.must(err)
			res.Body.Close()
			sub, err := e.store.Subscription(t.Context(), e.names["weekly"], "a@b.example")
			e.must(err)
			if res.StatusCode != c.status || sub.Status != c.want {
				t.Errorf("%d, and the subscription is %s", res.StatusCode, sub.Status)
			}
		})
	}
}

func TestCORSOfNewsletter(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme domains=acme.example")
	e.step("tenant beta domains=beta.example")
	e.step("list weekly tenant=acme")
	ask := func(method, path, origin string) *http.Response {
		body := `{"list_id":"` + e.names["weekly"] + `","email":"a@b.example"}`
		req, err := http.NewRequestWithContext(t.Context(), method, e.url+path, strings.NewReader(body))
		e.must(err)
		req.Header.Set("Origin", origin)
		req.Header.Set("Content-Type", "application/json")
		if method == "OPTIONS" {
			req.Header.Set("Access-Control-Request-Method", "POST")
			req.Header.Set("Access-Control-Request-Headers", "content-type")
		}
		res, err := http.DefaultClient.Do(req)
		e.must(err)
		res.Body.Close()
		return res
	}
	for _, c := range []struct {
		method, path, origin string
		status               int
		allowed              bool
	}{
		{"OPTIONS", "/api/newsletter/subscribe", "https://acme.example", 204, true},
		{"OPTIONS", "/api/newsletter/subscribe", "http://acme.example", 204, false},
		{"OPTIONS", "/api/newsletter/subscribe", "https://acme.example.evil.example", 204, false},
		{"OPTIONS", "/api/newsletter/subscribe", "null", 204, false},
		{"OPTIONS", "/api/newsletter/unsubscribe-token", "https://acme.example", 405, false},
		{"POST", "/api/newsletter/subscribe", "https://acme.example", 200, true},
		{"POST", "/api/newsletter/subscribe", "https://beta.example", 200, false}, // another tenant's site
		{"POST", "/api/newsletter/subscribe", "https://evil.example", 200, false},
	} {
		res := ask(c.method, c.path, c.origin)
		got := res.Header.Get("Access-Control-Allow-Origin")
		if res.StatusCode != c.status || (got == c.origin) != c.allowed ||
			res.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s %s from %s: %d, allowed %q", c.method, c.path, c.origin, res.StatusCode, got)
		}
	}
}

// The responses of subscribe have the same keys, headers and length whatever is known about the address.
func TestSubscribeAnswersAlike(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("subscription s1 list=weekly email=pending@b.example status=pending")
	e.step("subscription s2 list=weekly email=active0@b.example")
	e.step("subscription s3 list=weekly email=leftone@b.example status=unsubscribed")
	e.step("disabled x address=switche@b.example")
	var first string
	for _, local := range []string{"strange", "pending", "active0", "leftone", "switche"} {
		res, err := http.Post(e.url+"/api/newsletter/subscribe", "application/json",
			strings.NewReader(`{"list_id":"`+e.names["weekly"]+`","email":"`+local+`@b.example","preferences":{"a":1}}`))
		e.must(err)
		var body map[string]any
		e.must(json.NewDecoder(res.Body).Decode(&body))
		res.Body.Close()
		looks := fmt.Sprint(res.StatusCode, res.Header.Get("Content-Length"), len(res.Header), body["status"],
			body["preferences"], len(body), len(fmt.Sprint(body["confirm_token"])))
		if first == "" {
			first = looks
		}
		if looks != first {
			t.Errorf("%s: %s, a stranger: %s", local, looks, first)
		}
	}
}

func TestPagesRefuseForeignForms(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("subscription s list=weekly email=a@b.example")
	e.step("unsubscribe-link token list=weekly email=a@b.example")
	req, err := http.NewRequestWithContext(t.Context(), "POST", e.url+"/unsubscribe",
		strings.NewReader(url.Values{"token": {e.names["token"]}}.Encode()))
	e.must(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	res, err := http.DefaultClient.Do(req)
	e.must(err)
	res.Body.Close()
	csp := res.Header.Get("Content-Security-Policy")
	if res.StatusCode != 403 || !strings.HasPrefix(csp, "default-src 'none'") ||
		!strings.Contains(csp, "frame-ancestors 'none'") || res.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
}

func TestSubscriptionsStream(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("user op operator")
	im, err := e.store.NewImport(t.Context(), e.names["weekly"], "active", "test")
	e.must(err)
	for i := range 3 {
		rows := make([]imports.ImportRow, 500)
		for j := range rows {
			rows[j].Email = core.Email(fmt.Sprintf("r%d-%d@b.example", i, j))
		}
		e.must(im.Add(context.Background(), rows, core.At(time.Now())))
	}
	get := func(target string) (subs []core.Subscription, next string) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", target, nil)
		e.must(err)
		req.Header.Set("Authorization", "Bearer "+e.names["op"])
		res, err := http.DefaultClient.Do(req)
		e.must(err)
		defer res.Body.Close()
		e.must(json.NewDecoder(res.Body).Decode(&subs))
		link, _, _ := strings.Cut(strings.TrimPrefix(res.Header.Get("Link"), "<http://news.test"), ">")
		return subs, link
	}
	base := "/api/newsletter/subscriptions?list_id=" + e.names["weekly"]
	if all, _ := get(e.url + base); len(all) != 1500 {
		t.Errorf("%d streamed", len(all))
	}
	seen := map[string]bool{}
	for at := base + "&limit=400"; at != ""; {
		var page []core.Subscription
		page, at = get(e.url + at)
		for _, s := range page {
			seen[s.ID] = true
		}
	}
	if len(seen) != 1500 {
		t.Errorf("%d in pages", len(seen))
	}
}

// BenchmarkSubscribe sends signups over HTTP from 16 connections, each for another address, and queues the emails.
func BenchmarkSubscribe(b *testing.B) {
	s := storetest.Open(b)
	now := core.At(time.Now())
	tenant, err := core.NewTenant(core.TenantInput{Name: new("acme")}, now)
	if err != nil {
		b.Fatal(err)
	}
	list, err := core.NewList(core.ListInput{Name: new("weekly"), TenantID: &tenant.ID}, now)
	if err != nil || s.AddTenant(b.Context(), tenant, "bench") != nil || s.AddList(b.Context(), list, "bench") != nil {
		b.Fatal(err)
	}
	h, err := New(Options{Store: s, PublicURL: "http://news.test"})
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var n atomic.Int64
	b.SetParallelism(16 / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			body := fmt.Sprintf(`{"list_id":%q,"email":"s%d@bench.example","preferences":{"first_name":"Ann"}}`, list.ID,
				n.Add(1))
			res, err := client.Post(srv.URL+"/api/newsletter/subscribe", "application/json", strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode != 200 {
				b.Error(res.StatusCode)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
