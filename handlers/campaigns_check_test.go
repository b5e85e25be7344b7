package handlers

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/netguard"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

func init() {
	setups = append(setups, func(e *env, o *Options) {
		o.Checks = &drafts.Checks{LookupTXT: e.lookupTXT, Client: &http.Client{Transport: answering{}}, PerHour: 2}
	})
}

// answering is a network whose hosts respond as their names say.
type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	res := httptest.NewRecorder()
	switch {
	case strings.HasPrefix(r.URL.Host, "gone."), r.Method == http.MethodHead:
		res.WriteHeader(http.StatusNotFound)
	case strings.HasPrefix(r.URL.Host, "broken."):
		return nil, io.ErrUnexpectedEOF
	}
	return res.Result(), nil
}

// Large attachments cause a warning. A missing attachment keeps the campaign from being sent.
func TestCheckOfAttachments(t *testing.T) {
	e := newEnv(t)
	s := storetest.Seeder{TB: t, Store: e.store}
	l := s.NewList()
	s.TenantID = l.TenantID
	prices := s.NewMedia("prices.png", []string{strings.Repeat("x", 1<<20-4)})
	boot := s.NewMedia("boot.png", []string{"1234"})
	attached := func(ids ...string) core.Campaign {
		return s.NewCampaign(l, func(f *core.CampaignFields) { f.Attachments = ids })
	}
	small, large := attached(prices.ID, boot.ID), attached(prices.ID, boot.ID)
	d := drafts.Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test"}
	codes := func(c *core.Campaign) (codes []string) {
		l, err := d.Look(t.Context(), c, 0, s.Time())
		s.Must(err)
		for _, f := range l.Findings {
			if f.Where.Field == "attachments" {
				codes = append(codes, f.Severity+" "+f.Code)
			}
		}
		return codes
	}
	if got := codes(&small); got != nil {
		t.Error("1 MiB:", got)
	}
	more := s.NewMedia("more.png", []string{"5"})
	_, err := e.store.EditCampaign(t.Context(), campaigns.CampaignEdit{ID: large.ID, Actor: "test", Now: s.Time()},
		func(f *core.CampaignFields) error { f.Attachments = append(f.Attachments, more.ID); return nil })
	s.Must(err)
	large, err = e.store.Campaign(t.Context(), large.ID)
	s.Must(err)
	if got := codes(&large); !slices.Equal(got, []string{"warning attachments_large"}) {
		t.Error("more:", got)
	}
	s.Must(e.store.DeleteMedia(t.Context(), boot.ID, true, "test", s.Time()))
	if got := codes(&small); !slices.Equal(got, []string{"error attachment_missing"}) {
		t.Error("gone:", got)
	}
	if _, _, err := d.Ready(t.Context(), &small, 0, s.Time()); core.KindOf(err) != core.Invalid {
		t.Error("a campaign whose attachment is gone is ready:", err)
	}
}

// An error in a placeholder contains the name of the campaign's field, both in the check and in the preview.
func TestErrorsNameTheFieldOfTheCampaign(t *testing.T) {
	e := newEnv(t)
	s := storetest.Seeder{TB: t, Store: e.store}
	l := s.NewList()
	d := drafts.Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test"}
	const wrong = "Hi {{ preferences.name | default: “you” }}"
	for field, change := range map[string]func(*core.CampaignFields){
		"subject":        func(f *core.CampaignFields) { f.Subject = wrong },
		"preheader":      func(f *core.CampaignFields) { f.Preheader = wrong },
		"content.source": func(f *core.CampaignFields) { f.Content.Source = "<p>" + wrong + "</p>" },
		"content.text":   func(f *core.CampaignFields) { f.Content.Text = wrong },
	} {
		c := s.NewCampaign(l, func(f *core.CampaignFields) {
			f.Content = core.CampaignContent{Kind: core.ContentHTML, Source: "<p>Hi</p>"}
			change(f)
		})
		look, err := d.Look(t.Context(), &c, 0, s.Time())
		s.Must(err)
		if !slices.ContainsFunc(look.Findings, func(f core.CampaignFinding) bool {
			return f.Code == "does_not_compile" && f.Where.Field == field
		}) {
			t.Errorf("%s: %v", field, look.Findings)
		}
		if fault, _ := errors.AsType[*core.Error](look.Fault); fault == nil || fault.Field != field {
			t.Errorf("%s: %+v", field, fault)
		}
	}
}

// At a tenant's own host, links to the archive are checked: to its start page, to issues, and to old URLs of imported
// issues. Links to other pages are not requested.
func TestLinksToTheArchiveAreAsked(t *testing.T) {
	e := newEnv(t)
	s := storetest.Seeder{TB: t, Store: e.store}
	l := s.NewList()
	s.ChangeTenant(l.TenantID, core.TenantInput{PublicURL: new("https://gone.example.org")})
	d := drafts.Drafts{
		Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test", Checks: e.handler.options.Checks,
	}
	for path, asked := range map[string]int{
		"/": 1, "/news-of-may": 1, "/p/old": 1, "/a/weekly/news-of-may": 1, "/m/1.png": 1,
		"/preferences": 0, "/v/1": 0, "/unsubscribe": 0, "/t/c/1": 0,
	} {
		c := s.NewCampaign(l, func(f *core.CampaignFields) {
			f.Content.Source = "[x](https://gone.example.org" + path + ")\n"
		})
		out, err := d.Check(t.Context(), &c, 0, true, s.Time())
		s.Must(err)
		dead := slices.ContainsFunc(out.Findings, func(f core.CampaignFinding) bool { return f.Code == "link_dead" })
		if out.Links.Asked != asked || dead != (asked > 0) {
			t.Errorf("%s: %+v, %+v", path, *out.Links, out.Findings)
		}
	}
}

// Links are checked through the guard. Private addresses are refused. URLs with a secret and pages of this server are
// not requested. The response to HEAD alone doesn't decide.
func TestLinksAreAsked(t *testing.T) {
	var asked atomic.Pointer[[]string]
	asked.Store(&[]string{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for was := asked.Load(); ; was = asked.Load() {
			now := append(slices.Clone(*was), r.Method+" "+r.URL.String())
			if asked.CompareAndSwap(was, &now) {
				break
			}
		}
		switch {
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/no-head" && r.Method == http.MethodHead:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/gone", http.StatusFound)
		case r.URL.Path == "/members":
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer site.Close()
	private := httptest.NewServer(http.NotFoundHandler())
	defer private.Close()
	guard := &netguard.Guard{Allow: []string{strings.TrimPrefix(site.URL, "http://")}}
	checks := &drafts.Checks{Client: guard.Client(), NotPublic: netguard.ErrNotPublic}
	e := newEnv(t)
	s := storetest.Seeder{TB: t, Store: e.store}
	var source bytes.Buffer
	for _, path := range []string{"/", "/gone", "/no-head", "/moved", "/members", "/x?token=1", "/x?api_key=1"} {
		source.WriteString("[x](" + site.URL + path + ")\n\n")
	}
	source.WriteString("[x](" + private.URL + "/) [x](http://news.test/newsletter/unsubscribe?id=1) " +
		"[{{ email }}](https://x.example/?e={{ email }})\n")
	c := s.NewCampaign(s.NewList(), func(f *core.CampaignFields) { f.Content.Source = source.String() })
	d := drafts.Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test", Checks: checks}
	out, err := d.Check(t.Context(), &c, 0, true, s.Time())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range out.Findings {
		if strings.HasPrefix(f.Code, "link") {
			found = append(found, f.Code+" "+strings.NewReplacer(site.URL, "S", private.URL, "P").Replace(f.String()))
		}
	}
	want := []string{
		"link_dead line 3: S/gone responds with Not Found.",
		"link_not_public line 15: P/ leads to an address that is not public.",
	}
	if !slices.Equal(found, want) || *out.Links != (drafts.AskedLinks{Asked: 6, Skipped: 3}) {
		t.Errorf("%q %+v", found, *out.Links)
	}
	got := slices.Sorted(slices.Values(*asked.Load()))
	if want := []string{
		"GET /gone", "GET /members", "GET /no-head", "HEAD /", "HEAD /gone", "HEAD /members", "HEAD /moved", "HEAD /no-head",
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	l, err := d.Look(t.Context(), &c, 0, s.Time())
	s.Must(err)
	j := s.SendDraft(&l.Draft)
	if dead, err := d.DeadLink(t.Context(), &j); err != nil || dead != site.URL+"/gone responds with Not Found" {
		t.Errorf("of the job: %q %v", dead, err)
	}
}
