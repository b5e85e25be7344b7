package handlers

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/tenants"
)

func init() {
	// sent-issue NAME list=LIST email=ADDRESS html=BODY link=URL: a job that was sent an hour ago, only to that
	// address; with totals=true, in emails that don't identify subscribers. {NAME} is its id. {NAME.pixel},
	// {NAME.click} and {NAME.view} are tokens in its emails.
	steps["sent-issue"] = func(e *env, name string, args map[string]string) {
		now := core.At(time.Now()).Add(-time.Hour)
		list, email := e.value(args["list"]), core.Email(args["email"])
		l, err := e.store.List(e.t.Context(), list)
		e.must(err)
		e.must(e.store.ApplyBatch(e.t.Context(), tenants.Nonce{ClientID: "c", Nonce: core.NewID()}, core.FullSync{
			SyncID: core.NewID(), BatchNo: 1, BatchTotal: 1, TenantID: l.TenantID, ListID: list, OccurredAt: now,
			Subscribers: []core.EventSubscriber{{
				ID: core.NewID(), Email: email, Status: "active",
				Preferences: `{"first_name":"Ann"}`,
			}},
		}, now))
		j, _, err := e.store.AddSendJob(e.t.Context(), campaigns.JobRequest{
			NewJob: core.NewJob{
				ListID: list, Subject: "News", BodyHTML: argOr(args, "html", "<p>News</p>"), TrackOpen: true,
				TrackClick: true,
			},
			Caller: core.CommandCaller("u"),
		}, now)
		e.must(err)
		_, err = e.store.StartDueJobs(e.t.Context(), now)
		e.must(err)
		_, err = e.store.ExpandJob(e.t.Context(), j.No, now)
		e.must(err)
		_, err = e.store.KeepLinks(e.t.Context(), j.No, []string{argOr(args, "link", "https://shop.example/?a=1&b=2")})
		e.must(err)
		j, err = e.store.SendJob(e.t.Context(), j.ID)
		e.must(err)
		// ids, and so the order of the recipients, differ between runs
		for seq := int64(1); seq <= j.Recipients; seq++ {
			e.must(e.store.FinishRecipients(e.t.Context(),
				[]core.Outcome{{JobNo: j.No, Seq: seq, State: core.RecipientSent, Tried: true}}, now))
		}
		seq := int64(1)
		if args["totals"] == "true" {
			seq = 0
			e.must(e.store.CountTotals(e.t.Context(), j.No, false))
		}
		e.name(name, j.ID)
		e.name(name+".campaign", j.CampaignID)
		e.name(name+".pixel", e.handler.ident.Track(j.No, seq, 0))
		e.name(name+".click", e.handler.ident.Track(j.No, seq, 1))
		e.name(name+".gone", e.handler.ident.Track(j.No, 1, 9))
		view := func(at core.Instant) string {
			return string(e.handler.sealer.AppendView(nil, auth.ViewToken{JobNo: j.No, Seq: 1, IssuedAt: at}))
		}
		e.name(name+".view", view(now))
		e.name(name+".old", view(now.Add(-auth.ViewTTL)))
		e.name(name+".other", string(e.handler.sealer.AppendView(nil,
			auth.ViewToken{JobNo: j.No, Seq: 2, IssuedAt: now})))
	}
	setups = append(setups, func(e *env, o *Options) {
		o.Engage = func(g core.Engagement) {
			_, err := e.store.AddEngagements(e.t.Context(), []core.Engagement{g})
			e.must(err)
		}
	})
}

// A request can't determine where a link leads.
func TestNoOpenRedirect(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("sent-issue issue list=weekly email=ann@example.org")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	click := e.value("issue.click")
	for _, path := range []string{
		click + "?url=https://evil.example", click + "?target=//evil.example", click + "%2F..%2Fevil.example", click +
			"//evil.example",
		strings.ToUpper(click), click[1:], click + "a", "https://evil.example", "%2F%2Fevil.example",
		e.value("issue.pixel"),
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", e.url+"/t/c/"+path, nil)
		e.must(err)
		req.Header.Set("X-Forwarded-Host", "evil.example")
		res, err := client.Do(req)
		e.must(err)
		res.Body.Close()
		to := res.Header.Get("Location")
		if to != "" && to != "https://shop.example/?a=1&b=2" || res.StatusCode >= 500 {
			t.Errorf("%s: %d to %q", path, res.StatusCode, to)
		}
		if strings.HasPrefix(path, click+"?") != (res.StatusCode == 302) {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// Browsers are redirected to ASCII URLs. The URL that an author has written stays unchanged.
func TestClicksLeadToASCII(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for i, c := range []struct{ link, want string }{
		{"https://ex.example/café?ü=ö", "https://ex.example/caf%C3%A9?%C3%BC=%C3%B6"},
		{"https://bücher.example/", "https://xn--bcher-kva.example/"},
		{"https://ex.example/?id=1&region=eu&currency=EUR", "https://ex.example/?id=1&region=eu&currency=EUR"},
		{"https://ex.example/caf%C3%A9#Größe", "https://ex.example/caf%C3%A9#Gr%C3%B6%C3%9Fe"},
		{"https://例え.example:8443/%e3%81%82?q=あ", "https://xn--r8jz45g.example:8443/%e3%81%82?q=%E3%81%82"},
	} {
		name := "issue" + strconv.Itoa(i)
		steps["sent-issue"](e, name, map[string]string{"list": "weekly", "email": name + "@example.org", "link": c.link})
		req, err := http.NewRequestWithContext(t.Context(), "GET", e.url+"/t/c/"+e.value(name+".click"), nil)
		e.must(err)
		res, err := client.Do(req)
		e.must(err)
		res.Body.Close()
		if got := res.Header.Get("Location"); got != c.want || res.StatusCode != 302 {
			t.Errorf("%s: %d to %q, want %q", c.link, res.StatusCode, got, c.want)
		}
	}
}

func TestMachinesAreCountedApart(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("sent-issue issue list=weekly email=ann@example.org")
	stats := func() core.Stats {
		j, err := e.store.SendJob(t.Context(), e.value("issue"))
		e.must(err)
		return j.Stats
	}
	get := func(method, path, agent string) {
		req, err := http.NewRequestWithContext(t.Context(), method, e.url+path, nil)
		e.must(err)
		req.Header.Set("User-Agent", agent)
		res, err := http.DefaultTransport.RoundTrip(req)
		e.must(err)
		if res.Header.Get("Content-Type") == "image/gif" && res.ContentLength != 43 {
			t.Errorf("the pixel has %d bytes", res.ContentLength)
		}
		res.Body.Close()
	}
	const person = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	pixel, click := "/t/o/"+e.value("issue.pixel")+".gif", "/t/c/"+e.value("issue.click")
	for i, c := range []struct {
		method, path, agent     string
		opened, machine         int64
		clicked, machineClicked int64
	}{
		{"HEAD", pixel, person, 0, 0, 0, 0},
		{"HEAD", click, person, 0, 0, 0, 0},
		{"GET", "/t/o/" + e.value("issue.click") + ".gif", person, 0, 0, 0, 0},
		{"GET", pixel, "Mozilla/5.0", 1, 1, 0, 0},
		{"GET", pixel, "Mozilla/5.0", 1, 1, 0, 0},
		{"GET", click, "", 1, 1, 1, 1},
		{"GET", pixel, person, 1, 0, 1, 1},
		{"GET", click, person, 1, 0, 1, 0},
		{"GET", click, "Mozilla/5.0", 1, 0, 1, 0},
		{"GET", pixel, person, 1, 0, 1, 0},
	} {
		get(c.method, c.path, c.agent)
		if s := stats(); s.Opened != c.opened || s.MachineOpened != c.machine || s.Clicked != c.clicked ||
			s.MachineClicked != c.machineClicked {
			t.Errorf("%d %s %s: %+v", i, c.method, c.path, s)
		}
	}
	links, err := e.store.Links(t.Context(), 1)
	e.must(err)
	if len(links) != 1 || links[0].Clicked != 1 || links[0].MachineClicked != 0 {
		t.Errorf("%+v", links)
	}
}
