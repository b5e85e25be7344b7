package handlers

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
	"newsletterd/worker"
)

// Programs that fetch the images and links of emails.
const (
	browserAgent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
	gmailAgent   = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)"
	yahooAgent   = "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html"
	appleAgent   = "Mozilla/5.0"
)

// mailboxes simulates who fetches what from the emails of a job, and knows which of it people caused.
type mailboxes struct {
	*rand.Rand
	fetches         []mailboxFetch
	opened, clicked int64 // people who really did
	showing         int64 // those of opened who loaded an image or clicked a link
}

type mailboxFetch struct {
	at      time.Duration // time after the email
	seq, no int64
	agent   string
	address string
}

func (m *mailboxes) add(at time.Duration, seq, no int64, agent, address string) {
	m.fetches = append(m.fetches, mailboxFetch{at, seq, no, agent, address})
}

// between returns a random time between from and to. Hours are more likely than minutes.
func (m *mailboxes) between(from, to time.Duration) time.Duration {
	return from + time.Duration(m.Float64()*m.Float64()*float64(to-from))
}

// links is the number of links in the email.
const links = 4

// mailbox adds the events of one email. The mailboxes: 40% with Apple's privacy proxy, 30% Gmail, 8% Yahoo, 10% with a
// scanner that follows the links after 12 s, 5% without images, and the others plain.
func (m *mailboxes) mailbox(seq int64) {
	opens, kind := m.Float64() < 0.4, m.Float64()
	at := m.between(2*time.Minute, 20*time.Hour)
	person, machine := fmt.Sprintf("198.51.%d.%d", seq/250, seq%250), fmt.Sprintf("203.0.%d.%d", seq/250, seq%250)
	agent := browserAgent
	scanned := false
	switch {
	case kind < 0.40:
		agent = ""
		if m.Float64() < 0.95 {
			m.add(m.between(time.Second, 12*time.Hour), seq, 0, appleAgent, machine)
		}
	case kind < 0.70:
		agent = gmailAgent
		if m.Float64() < 0.03 {
			m.add(20*time.Second, seq, 0, gmailAgent, machine)
		}
	case kind < 0.78:
		agent = yahooAgent
	case kind < 0.88:
		scanned = true
		m.scan(seq, machine)
	case kind < 0.93:
		agent = ""
	}
	if !opens {
		return
	}
	m.opened++
	if agent != "" {
		m.add(at, seq, 0, agent, person)
	}
	clicks := m.Float64() < 0.2
	if clicks || agent != "" {
		m.showing++
	}
	if !clicks {
		return
	}
	m.clicked++
	first := 1 + m.Int64N(links)
	m.add(at+20*time.Second, seq, first, browserAgent, person)
	if scanned { // the same link again, from the network of the filter
		m.add(at+21*time.Second, seq, first, browserAgent, machine)
	}
	if m.Float64() < 0.3 {
		m.add(at+50*time.Second, seq, 1+first%links, browserAgent, person)
	}
}

// scan adds a filter that identifies itself as a browser. A third of these filters skip links that people can't see.
func (m *mailboxes) scan(seq int64, machine string) {
	at := 12 * time.Second
	if m.Float64() < 0.5 {
		m.add(at, seq, 0, browserAgent, machine)
	}
	for no := range int64(links) {
		m.add(at, seq, no+1, browserAgent, machine)
		at += 400 * time.Millisecond
	}
	if m.Float64() < 0.67 {
		m.add(at, seq, core.CanaryLink, browserAgent, machine)
	}
}

// For 10,000 mailboxes of which it is known who has opened and clicked, the counted clicks of people are within 3%. The
// number of people who opened lies between the certain opens and the sum of certain and unclear opens.
func TestFiguresAreHonest(t *testing.T) {
	const n = 10_000
	synctest.Test(t, func(t *testing.T) {
		s := storetest.Seeder{TB: t, Store: storetest.Open(t)}
		tracker := worker.NewTracker(s.Store, slog.New(slog.DiscardHandler))
		h, err := New(Options{Store: s.Store, PublicURL: "http://news.test", Engage: tracker.Add})
		s.Must(err)
		l := s.NewList()
		s.Readers(l, n)
		j := s.Finish(s.NewJob(l.ID, func(r *campaigns.JobRequest) {
			r.BodyHTML, r.TrackOpen, r.TrackClick = "<p>x</p>", true, true
		}))
		urls := make([]string, links)
		for i := range urls {
			urls[i] = fmt.Sprintf("https://acme.example/%d", i)
		}
		_, err = s.KeepLinks(t.Context(), j.No, urls)
		s.Must(err)
		m := mailboxes{Rand: rand.New(rand.NewPCG(1, 2))}
		for seq := range int64(n) {
			m.mailbox(seq + 1)
		}
		slices.SortStableFunc(m.fetches, func(a, b mailboxFetch) int { return cmp.Compare(a.at, b.at) })
		sent := time.Now()
		for i, f := range m.fetches {
			time.Sleep(time.Until(sent.Add(f.at)))
			path := "/t/c/" + h.ident.Track(j.No, f.seq, f.no)
			if f.no == 0 {
				path = "/t/o/" + h.ident.Track(j.No, f.seq, 0) + ".gif"
			}
			r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
			r.RemoteAddr = f.address + ":1"
			r.Header.Set("User-Agent", f.agent)
			rec := httptest.NewRecorder()
			if h.ServeHTTP(rec, r); rec.Code >= 400 {
				t.Fatal(path, rec.Code, rec.Body)
			}
			if i%500 == 499 || i == len(m.fetches)-1 {
				s.Must(tracker.Flush(t.Context()))
			}
		}
		v, err := s.JobView(t.Context(), j.ID)
		s.Must(err)
		t.Logf("%d fetches; in truth %d opened, %d of them so that it shows, %d clicked; told: %d people and %d that "+
			"can't be told, %d scanners; %d clicked, %d scanners; the fields of before: %+v", len(m.fetches), m.opened,
			m.showing, m.clicked, *v.Opens.People, *v.Opens.CantTell, *v.Opens.Scanners, *v.Clicks.People,
			*v.Clicks.Scanners, v.Stats)
		if least, most := *v.Opens.People, *v.Opens.People+*v.Opens.CantTell; m.opened < least || m.opened > most {
			t.Errorf("%d have opened, not %d to %d", m.opened, least, most)
		}
		within := func(what string, shown, truth float64) {
			if math.Abs(shown-truth) > 0.03*truth {
				t.Errorf("%s: %g, in truth %g", what, shown, truth)
			}
		}
		within("clicks", float64(*v.Clicks.People), float64(m.clicked))
		within("openings that show", float64(*v.Opens.People), float64(m.showing))
	})
}
