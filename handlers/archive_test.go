package handlers

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

func init() {
	// sent-campaign NAME list=LIST subject=… preheader=… source=HTML at=DAY archive=true|false : a campaign that was
	// sent at noon to a subscriber of the list, ann@example.org. {NAME} is its id, {NAME.job} the id of its job.
	steps["sent-campaign"] = func(e *env, name string, args map[string]string) {
		day, err := time.Parse(time.DateOnly, cmp.Or(args["at"], "2026-05-04"))
		e.must(err)
		j := e.campaign(e.value(args["list"]), day.Add(12*time.Hour), func(f *core.CampaignFields) {
			f.Subject, f.Preheader = argOr(args, "subject", name), args["preheader"]
			f.Content.Kind, f.Content.Source = core.ContentHTML, argOr(args, "source", "<p>Hello</p>")
			f.FromName = args["from"]
		})
		if shown := args["archive"]; shown != "" {
			_, err := e.store.EditCampaign(e.t.Context(), campaigns.CampaignEdit{
				ID: j.CampaignID, Actor: "test", Now: j.CreatedAt, Archive: new(shown == "true"), Sends: true,
			}, func(*core.CampaignFields) error { return nil })
			e.must(err)
		}
		e.name(name, j.CampaignID)
		e.name(name+".job", storetest.Seed(e.t, e.store).At(j.CreatedAt).Finish(j).ID)
	}
}

// campaign creates the job of a campaign, at the given time, to a list with one subscriber, ann@example.org.
func (e *env) campaign(listID string, at time.Time, change func(*core.CampaignFields)) core.SendJob {
	seed := storetest.Seed(e.t, e.store).At(core.At(at))
	l, err := e.store.List(e.t.Context(), listID)
	e.must(err)
	ann := seed.Event(l, core.StatusActive, "ann@example.org")
	ann.Subscriber.Preferences = `{"first_name":"Annabel"}`
	e.must(e.store.ApplyEvent(e.t.Context(), seed.Nonce(), ann, seed.Now))
	c := seed.NewCampaign(l, func(f *core.CampaignFields) { f.Name = "" }, change)
	d := drafts.Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test"}
	draft, _, err := d.Complete(e.t.Context(), &c, 0, seed.Now)
	e.must(err)
	return seed.SendDraft(&draft)
}

// archived creates a list with an archive.
func archived(t *testing.T) *env {
	e := newEnv(t)
	e.step("tenant acme domains=acme.example")
	e.step("list weekly tenant=acme")
	e.change("weekly", core.ListInput{Archive: new(true), Slug: new("weekly")})
	return e
}

// change changes a list.
func (e *env) change(list string, in core.ListInput) {
	_, err := e.store.UpdateList(e.t.Context(), e.value(list), "test", func(l *core.List) error {
		return l.Change(in, core.At(time.Now()))
	})
	e.must(err)
}

// page requests a page and returns its status, headers and body.
func (e *env) page(path string, headers ...string) (int, http.Header, string) {
	e.t.Helper()
	res, body := e.ask("GET", path, "", nil, headers...)
	return res.StatusCode, res.Header, string(body)
}

// Parts of emails that are for one subscriber, or contain a token.
var pieces = map[string][]string{
	core.ContentHTML: {
		`<a href="{{ unsubscribe_url }}">leave</a>`, `<a href="{{ view_url }}">view</a>`,
		`<a href='{{ preferences_url }}'>set</a>`,
		`<a href="https://site.example/leave?t={{ unsubscribe_token }}">out</a>`,
		`<a href="https://shop.example/?a=1&amp;b=2">shop</a>`,
		`<a href="https://shop.example/{{ subscriber.id }}">mine</a>`, `{{ email }}`, `{{ subscriber.email }}`,
		`{{ subscriber.id }}`,
		`Dear {{ preferences.first_name | default: "friend" }}`, `{% if email %}{{ email }}{% else %}you{% endif %}`,
		`{{ job.subject }}`,
		`<img src="https://shop.example/a.png?u={{ email | url_encode }}" alt="">`,
		`{{ list.name }} of {{ tenant.name }}, {{ job.id }}`,
	},
	core.ContentMarkdown: {
		`[leave]({{ unsubscribe_url }})`, `[view]({{ view_url }})`, `[set]({{ preferences_url }})`, `<https://shop.example/>`,
		`[shop](https://shop.example/?a=1&b=2){.button}`, `Dear {{ preferences.first_name | default: "friend" }}`,
		`**{{ email }}**`,
		`![{{ email }}](https://shop.example/a.png)`, "::: tip\n{{ subscriber.id }}\n:::",
		`{% if email %}{{ email }}{% endif %}`,
	},
	core.ContentText: {
		`{{ unsubscribe_url }}`, `{{ view_url }}`, `{{ preferences_url }}`, `https://site.example/?t={{ unsubscribe_token }}`,
		`{{ email }}`, `{{ subscriber.id }}`, `{{ preferences.first_name }}`, `https://shop.example/`,
	},
}

var (
	longToken = regexp.MustCompile(`[\w-]{40,}`)
	anyToken  = regexp.MustCompile(`/t/[oc]/|/v/|token=[^"&\s]|[?]t=[^"'&\s<]|unsubscribe[?]`)
)

// No page of an archive contains a token, a pixel, a tracked link, or data of the subscriber who got the email,
// whatever the email contains.
func TestArchivesTellNothingOfReaders(t *testing.T) {
	e := archived(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		kind := rapid.SampledFrom([]string{core.ContentHTML, core.ContentMarkdown, core.ContentText}).Draw(rt, "kind")
		parts := rapid.SliceOfN(rapid.SampledFrom(pieces[kind]), 1, 8).Draw(rt, "parts")
		personal := rapid.SampledFrom([]string{
			"News", "News for {{ email }}", `News, {{ preferences.first_name | default: "friend" }}`, "{{ subscriber.id }}",
		})
		at := time.Date(2026, 5, 1, 12, n, 0, 0, time.UTC)
		j := e.campaign(e.value("weekly"), at, func(f *core.CampaignFields) {
			f.Content.Kind, f.Content.Source = kind, strings.Join(parts, "\n\n")
			f.Subject, f.Preheader = personal.Draw(rt, "subject"), personal.Draw(rt, "preheader")
			f.Tracking = core.TrackingPersons
			if rapid.Bool().Draw(rt, "own link to leave") {
				f.Template = []byte(`{"unsubscribe_url":"https://site.example/leave?token={{unsubscribe_token}}"}`)
			}
		})
		storetest.Seed(t, e.store).At(core.At(at)).Finish(j)
		issues, err := e.store.IssuesBefore(t.Context(), e.value("weekly"), core.Issue{}, 1)
		e.must(err)
		issue := "/a/weekly/" + issues[0].Slug
		reader := e.store.SubscriptionID(e.value("weekly"), "ann@example.org")
		for _, path := range []string{"/a/weekly/", issue, issue + "/mail", "/a/weekly/feed.xml"}[:3+n%10/9] {
			status, _, body := e.page(path)
			if status != http.StatusOK {
				rt.Fatalf("%s: %d", path, status)
			}
			for _, secret := range []string{"ann@example.org", "Annabel", reader, url.QueryEscape("ann@example.org")} {
				if strings.Contains(body, secret) {
					rt.Fatalf("%s has %s:\n%s", path, secret, body)
				}
			}
			for _, re := range []*regexp.Regexp{longToken, anyToken} {
				if found := re.FindString(body); found != "" {
					rt.Fatalf("%s has %q:\n%s", path, found, body)
				}
			}
		}
	})
}

// An archive shows what was sent, after the email to each subscriber was attempted, and nothing else.
func TestArchivesShowWhatWasSent(t *testing.T) {
	e := archived(t)
	weekly, at := e.value("weekly"), time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	seed := storetest.Seed(t, e.store).At(core.At(at))
	shows := func(when string, want ...string) {
		t.Helper()
		issues, err := e.store.IssuesBefore(t.Context(), weekly, core.Issue{}, 100)
		e.must(err)
		var got []string
		for _, i := range issues {
			got = append(got, i.Title)
			if status, _, _ := e.page("/a/weekly/" + i.Slug); status != http.StatusOK {
				t.Errorf("%s: %s is %d", when, i.Slug, status)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s it shows %q, not %q", when, got, want)
		}
	}
	issue := func(subject string) core.SendJob {
		return e.campaign(weekly, at, func(f *core.CampaignFields) { f.Subject = subject })
	}
	edit := func(j core.SendJob) campaigns.CampaignEdit {
		return campaigns.CampaignEdit{ID: j.CampaignID, Actor: "test", Now: seed.Now}
	}
	outcome := func(j core.SendJob, state int) {
		e.must(e.store.FinishRecipients(t.Context(), []core.Outcome{{
			JobNo: j.No, TenantID: j.TenantID, Seq: 1, State: state, Tried: true, DueAt: seed.Now.Add(time.Hour),
		}}, seed.Now))
	}
	undone := issue("Undone")
	_, err := e.store.UndoCampaign(t.Context(), edit(undone))
	e.must(err)
	first := issue("First")
	shows("before a job begins,")
	first = seed.Start(first)
	shows("before a mail is sent,")
	outcome(first, core.RecipientSent)
	shows("after the mails,", "First")
	e.must(e.store.ApplyEvent(t.Context(), seed.Nonce(), seed.Event(core.List{ID: weekly, TenantID: first.TenantID},
		core.StatusActive, "bob@example.org"), seed.Now))
	second := seed.Start(issue("Second"))
	outcome(second, core.RecipientSent)
	shows("with a reader who waits for the first try,", "First")
	e.must(e.store.FinishRecipients(t.Context(), []core.Outcome{{
		JobNo: second.No, TenantID: second.TenantID, Seq: 2, State: core.RecipientDeferred, Tried: true,
		DueAt: seed.Now.Add(time.Hour),
	}}, seed.Now))
	shows("with a reader who waits for another try,", "Second", "First")
	cancelled := seed.Start(issue("Cancelled"))
	_, err = e.store.CancelSendJob(t.Context(), cancelled.ID, seed.Now)
	e.must(err)
	shows("without those of a job that sent no mail,", "Second", "First")
	_, err = e.store.ArchiveCampaign(t.Context(), edit(first))
	e.must(err)
	shows("without what was put away,", "Second")
	e.change("weekly", core.ListInput{Archive: new(false)})
	if status, _, _ := e.page("/a/weekly/second"); status != http.StatusNotFound {
		t.Errorf("switched off: %d", status)
	}
	e.change("weekly", core.ListInput{Archive: new(true)})
	e.must(e.store.DeleteTenant(t.Context(), first.TenantID, "test", seed.Now))
	for _, path := range []string{"/a/weekly", "/a/weekly/", "/a/weekly/second", "/a/weekly/second/mail", "/a/weekly/feed.xml"} {
		if status, _, _ := e.page(path); status != http.StatusNotFound {
			t.Errorf("%s of a deleted tenant: %d", path, status)
		}
	}
}

// Search engines can index archives, but not pages with a token, nor emails without the page around them.
func TestWhatSearchEnginesFind(t *testing.T) {
	e := archived(t)
	e.step(`sent-campaign may list=weekly subject="News <of> 'May'" preheader="Longer & warmer"`)
	const noindex = `<meta name="robots" content="noindex">`
	for path, found := range map[string]bool{
		"/a/weekly/": true, "/a/weekly/news-of-may": true, "/a/weekly/gone": false, "/a/none/": false,
		"/confirm?token=x":     false,
		"/unsubscribe?token=x": false, "/preferences?token=x": false, "/l/" + e.value("weekly"): false, "/login": false,
	} {
		if _, _, body := e.page(path); strings.Contains(body, noindex) == found {
			t.Errorf("%s: found by search engines is not %v", path, found)
		}
	}
	_, _, body := e.page("/a/weekly/news-of-may")
	for _, want := range []string{
		`<link rel="canonical" href="http://news.test/a/weekly/news-of-may">`, `<meta property="og:type" content="article">`,
		`<meta property="og:title" content="News &lt;of&gt; `,
		`<meta property="og:description" content="Longer &amp; warmer">`,
		`<meta property="og:url" content="http://news.test/a/weekly/news-of-may">`,
		`<meta property="og:site_name" content="acme">`,
		`<meta property="og:locale" content="en_US">`, `<meta property="article:published_time" content="2026-05-04T12:00:00Z">`,
		`<link rel="alternate" type="application/atom+xml" title="News`, ` href="http://news.test/a/weekly/feed.xml">`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page of an issue has no %s:\n%s", want, body)
		}
	}
	_, head, body := e.page("/a/weekly/news-of-may/mail")
	if got := head.Get("X-Robots-Tag"); got != "noindex, indexifembedded" {
		t.Errorf("X-Robots-Tag of a mail: %q", got)
	}
	policy := head.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "sandbox ") || strings.Contains(policy, "allow-scripts") ||
		strings.Contains(policy, "script-src") ||
		!strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'self'") {
		t.Errorf("the policy of a mail: %s", policy)
	}
	if !strings.Contains(body, `<base target="_top">`) {
		t.Errorf("links of a mail open within the frame:\n%s", body)
	}
}

// feedNode is an element of a feed.
type feedNode struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Nodes   []feedNode `xml:",any"`
}

// all returns the elements with a given name inside an element.
func (n feedNode) all(name string) (found []feedNode) {
	for _, k := range n.Nodes {
		if k.XMLName == (xml.Name{Space: "http://www.w3.org/2005/Atom", Local: name}) {
			found = append(found, k)
		}
	}
	return found
}

// faults returns the requirements of RFC 4287 section 4.1 that a feed or an entry doesn't meet.
func (n feedNode) faults() (all []string) {
	for _, name := range []string{"id", "title", "updated"} {
		if got := n.all(name); len(got) != 1 || got[0].Text == "" {
			all = append(all, "no "+name+", or several")
			continue
		}
	}
	for _, name := range []string{"updated", "published"} {
		for _, at := range n.all(name) {
			if _, err := time.Parse(time.RFC3339, at.Text); err != nil {
				all = append(all, err.Error())
			}
		}
	}
	for _, id := range n.all("id") {
		if u, err := url.Parse(id.Text); err != nil || !u.IsAbs() {
			all = append(all, "id "+id.Text)
		}
	}
	for _, l := range n.all("link") {
		for _, a := range l.Attrs {
			if u, err := url.Parse(a.Value); a.Name.Local == "href" && (err != nil || u.Host == "") {
				all = append(all, "link "+a.Value)
			}
		}
	}
	return all
}

// The feed is valid according to RFC 4287, responds to conditional requests, and keeps its ids when its URL changes.
func TestFeeds(t *testing.T) {
	e := archived(t)
	e.step(`sent-campaign may list=weekly subject="News & <b>more</b>" preheader="It's & <i>" source="<p>a & b &lt;c&gt; ]]> &nbsp;</p>"`)
	e.step(`sent-campaign june list=weekly at=2026-06-01 subject="June" source="<html><head><style>p{}</style></head><body class=x><p>Hi</p></body></html>"`)
	parse := func(body string) (f feedNode) {
		t.Helper()
		d := xml.NewDecoder(strings.NewReader(body))
		e.must(d.Decode(&f))
		if _, err := d.Token(); err != io.EOF {
			t.Errorf("something follows the feed: %v", err)
		}
		if f.XMLName != (xml.Name{Space: "http://www.w3.org/2005/Atom", Local: "feed"}) {
			t.Errorf("it is a %v", f.XMLName)
		}
		all := f.faults()
		if len(f.all("author")) != 1 || len(f.all("author")[0].all("name")) != 1 {
			all = append(all, "no author")
		}
		seen := map[string]bool{}
		for _, entry := range f.all("entry") {
			all = append(all, entry.faults()...)
			if id := entry.all("id")[0].Text; seen[id] {
				all = append(all, "twice "+id)
			} else {
				seen[id] = true
			}
		}
		if len(all) > 0 {
			t.Errorf("%q in\n%s", all, body)
		}
		return f
	}
	_, head, body := e.page("/a/weekly/feed.xml")
	f := parse(body)
	if kind := head.Get("Content-Type"); kind != "application/atom+xml; charset=utf-8" {
		t.Errorf("it is %s", kind)
	}
	entries := f.all("entry")
	if len(entries) != 2 || f.all("updated")[0].Text != "2026-06-01T12:00:00Z" ||
		entries[1].all("title")[0].Text != "News & <b>more</b>" ||
		entries[1].all("summary")[0].Text != "It's & <i>" {
		t.Errorf("%s", body)
	}
	content := entries[0].all("content")[0]
	if content.Attrs[0].Value != "html" || !strings.HasPrefix(content.Text, "<p>Hi</p>") ||
		strings.Contains(content.Text, "<style") {
		t.Errorf("its content is %s", content.Text)
	}
	for _, header := range [][2]string{{"If-None-Match", head.Get("Etag")}, {"If-Modified-Since", head.Get("Last-Modified")}} {
		if status, _, again := e.page("/a/weekly/feed.xml", header[0], header[1]); status != http.StatusNotModified ||
			again != "" {
			t.Errorf("%s %q: %d", header[0], header[1], status)
		}
	}
	e.step(`sent-campaign july list=weekly at=2026-07-01 subject="July"`)
	if status, _, more := e.page("/a/weekly/feed.xml", "If-None-Match", head.Get("Etag")); status != http.StatusOK ||
		len(parse(more).all("entry")) != 3 {
		t.Errorf("after another issue: %d", status)
	}
	e.change("weekly", core.ListInput{Slug: new("moved"), Name: new("Moved")})
	_, _, moved := e.page("/a/moved/feed.xml")
	g := parse(moved)
	if g.all("id")[0].Text != f.all("id")[0].Text || g.all("entry")[1].all("id")[0].Text != entries[0].all("id")[0].Text ||
		!bytes.Contains([]byte(moved), []byte("http://news.test/a/moved/june")) {
		t.Errorf("%s", moved)
	}
}
