package worker

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store"
	"newsletterd/store/storetest"
)

// member is a database with one list and a receiver at an in-memory listener, all inside a synctest bubble.
type member struct {
	*storetest.Seeder
	list     core.List
	receiver *receiver
	poster   *Poster
	group    *Group
}

// inBubble runs a test with fake time that begins where the world is.
func inBubble(t *testing.T, fn func(m *member)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(worldBegins)) // before the store's ticker runs
		synctest.Wait()
		m := &member{Seeder: storetest.Seed(t, nil), receiver: newReceiver(t)}
		m.NewTenant(func(in *core.TenantInput) { in.Domains = &[]string{"example.org"} })
		m.list = m.NewList()
		m.Must(m.EnsureLoopClient(t.Context(), make([]byte, 32), m.Time()))
		m.poster = NewPoster(m.Store, "http://receiver.test", m.receiver.transport)
		fn(m)
		if m.group != nil {
			m.group.Drain(30 * time.Second)
		}
		m.receiver.close()
	})
}

func (m *member) run(loops ...*Loop) {
	m.group = NewGroup(slog.New(slog.DiscardHandler), loops...)
	m.group.Start()
}

// receiver keeps what was posted to it, and answers as it is told.
type receiver struct {
	t         *testing.T
	transport *http.Transport
	server    *http.Server
	mu        sync.Mutex
	answer    func(e core.Event) (status int, header map[string]string)
	events    []core.Event
	batches   map[int]core.FullSync
	times     []time.Time
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, batches: map[int]core.FullSync{}}
	l := coretest.NewPipe()
	r.transport = &http.Transport{DialContext: l.Dial, MaxIdleConnsPerHost: 64}
	r.server = &http.Server{Handler: r}
	go func() { _ = r.server.Serve(l) }()
	return r
}

func (r *receiver) close() {
	r.transport.CloseIdleConnections()
	_ = r.server.Close()
}

// count is how many posts came.
func (r *receiver) count() int { return len(r.when()) }

// when is the instant of each post.
func (r *receiver) when() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.times)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	sig, err := auth.ParseSignature(req.Header, core.At(time.Now()))
	if err == nil {
		err = auth.VerifySignature(sig, req.URL.Path, body, make([]byte, 32))
	}
	if err != nil || sig.ClientID != core.LoopClientID {
		r.t.Errorf("signature: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = append(r.times, time.Now())
	var e core.Event
	var f core.FullSync
	if req.URL.Path == syncPath {
		err = json.Unmarshal(body, &f)
	} else {
		err = json.Unmarshal(body, &e)
	}
	status := 200
	if r.answer != nil {
		var h map[string]string
		status, h = r.answer(e)
		for k, v := range h {
			w.Header().Set(k, v)
		}
	}
	if status == 200 && f.SyncID != "" {
		r.batches[f.BatchNo] = f
	} else if status == 200 {
		r.events = append(r.events, e)
	}
	if err != nil {
		r.t.Error(err)
	}
	w.WriteHeader(status)
}

func (r *receiver) say(answer func(core.Event) (int, map[string]string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer, r.times = answer, nil
}

func (r *receiver) heard() []core.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]core.Event(nil), r.events...)
}

var quiet = slog.New(slog.DiscardHandler)

func TestOutboxDeliversInOrder(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 7, &tried, "events, each subscription's in order")
	inBubble(t, func(m *member) {
		m.run(Outbox(m.Store, m.poster, quiet))
		for i := range 40 {
			m.Active(m.list.ID, storetest.Reader(i))
			if i%2 == 0 {
				m.Leave(m.list.ID, storetest.Reader(i))
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		last := map[string]core.Event{}
		for _, e := range m.receiver.heard() {
			if p := last[e.Subscriber.ID]; p.OccurredAt >= e.OccurredAt {
				m.Errorf("%s at %v came after %s at %v", e.Type, e.OccurredAt, p.Type, p.OccurredAt)
			}
			last[e.Subscriber.ID] = e
		}
		if tried = len(m.receiver.heard()); tried != 60 {
			m.Errorf("%d events, want 60", tried)
		}
		if st, err := m.OutboxState(m.Context()); err != nil || st.Waiting != 0 {
			m.Errorf("%+v, %v", st, err)
		}
	})
}

// More results than one operation records must not lose any.
func TestGatherLosesNothing(t *testing.T) {
	c := make(chan int, 700)
	for i := range 700 {
		c <- i
	}
	n := 0
	for len(c) > 0 {
		n += len(gather(<-c, c, 256))
	}
	if n != 700 {
		t.Errorf("%d of 700 values came out", n)
	}
}

// What each answer does to an event, and to the one after it.
func TestOutboxAnswers(t *testing.T) {
	for _, c := range []struct {
		status         int
		header         map[string]string
		waiting, dead  int64
		nextMin, limit time.Duration // of the second attempt
	}{
		{status: 200},
		{status: 202},
		{status: 409},
		{status: 410, dead: 2},
		{status: 422, dead: 2},
		{status: 400, waiting: 2, nextMin: 800 * time.Millisecond, limit: 1200 * time.Millisecond},
		{status: 500, waiting: 2, nextMin: 800 * time.Millisecond, limit: 1200 * time.Millisecond},
		{
			status: 302, header: map[string]string{"Location": "http://receiver.test/elsewhere"}, waiting: 2,
			nextMin: 800 * time.Millisecond, limit: 1200 * time.Millisecond,
		},
		{
			status: 500, header: map[string]string{"Retry-After": "100"}, waiting: 2, nextMin: 100 * time.Second,
			limit: 101 * time.Second,
		},
		{
			status: 503, header: map[string]string{"Retry-After": "100"}, waiting: 2, nextMin: 100 * time.Second,
			limit: 102 * time.Second,
		},
	} {
		t.Run(fmt.Sprint(c.status, c.header), func(t *testing.T) {
			inBubble(t, func(m *member) {
				m.receiver.say(func(core.Event) (int, map[string]string) { return c.status, c.header })
				m.Active(m.list.ID, "a@example.org")
				m.Leave(m.list.ID, "a@example.org")
				began := time.Now()
				m.run(Outbox(m.Store, m.poster, quiet))
				time.Sleep(500 * time.Millisecond)
				synctest.Wait()
				if st, err := m.OutboxState(m.Context()); err != nil || st.Waiting != c.waiting || st.Dead != c.dead {
					m.Errorf("%+v, %v; want %d waiting, %d dead", st, err, c.waiting, c.dead)
				}
				if c.waiting == 0 {
					return
				}
				if m.receiver.count() != 1 {
					m.Errorf("%d attempts: the second event did not wait for the first", m.receiver.count())
				}
				time.Sleep(c.limit)
				synctest.Wait()
				if len(m.receiver.when()) < 2 {
					m.Errorf("no second attempt within %v", c.limit)
					return
				}
				if took := m.receiver.when()[1].Sub(began); took < c.nextMin || took > c.limit {
					m.Errorf("the second attempt came after %v, want %v to %v", took, c.nextMin, c.limit)
				}
			})
		})
	}
}

func TestOutboxFollowsTheSchedule(t *testing.T) {
	inBubble(t, func(m *member) {
		m.receiver.say(func(core.Event) (int, map[string]string) { return 500, nil })
		m.Active(m.list.ID, "a@example.org")
		began := time.Now()
		m.run(Outbox(m.Store, m.poster, quiet))
		time.Sleep(50 * time.Minute)
		synctest.Wait()
		at := time.Duration(0)
		for i, d := range []time.Duration{
			0, time.Second, 2 * time.Second, 5 * time.Second, 30 * time.Second, 5 * time.Minute,
			30 * time.Minute,
		} {
			if i >= len(m.receiver.when()) {
				m.Errorf("%d attempts in 50 minutes", i)
				return
			}
			got := m.receiver.when()[i].Sub(began) - at
			if got < d*8/10 || got > d*12/10+50*time.Millisecond {
				m.Errorf("attempt %d after %v, want %v ±20 %%", i, got, d)
			}
			at = m.receiver.when()[i].Sub(began)
		}
	})
}

func TestRetrySchedule(t *testing.T) {
	since := core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	at, tries := since, 0
	for {
		dead, next := retry(since, tries, 0, at)
		if dead {
			break
		}
		if d := next.Sub(at); d < time.Second*8/10 || d > 2*time.Hour*12/10 {
			t.Fatalf("delay %v", d)
		}
		at, tries = next, tries+1
	}
	if life := at.Sub(since); life < 72*time.Hour || life > 75*time.Hour || tries < 35 || tries > 55 {
		t.Errorf("gave up after %v and %d tries", life, tries)
	}
	if _, next := retry(since, 0, time.Hour, since); next.Sub(since) != time.Hour {
		t.Errorf("Retry-After was not heeded: %v", next.Sub(since))
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "17": 17 * time.Second, " 5 ": 5 * time.Second, "-3": 0, "x": 0, "99999999": 24 * time.Hour,
		"Mon, 02 Jan 2006 15:04:05 GMT": 0,
	} {
		if got := retryAfter(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Ten minutes down, with more events than posts at once: nothing is lost, nothing comes twice, order holds, and all is
// there within ten seconds of the return.
func TestOutboxAfterAnOutage(t *testing.T) {
	inBubble(t, func(m *member) {
		m.receiver.say(func(core.Event) (int, map[string]string) { return 503, nil })
		m.run(Outbox(m.Store, m.poster, quiet))
		for i := range 100 {
			m.Active(m.list.ID, storetest.Reader(i))
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		for i := range 50 {
			m.Leave(m.list.ID, storetest.Reader(i))
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if m.receiver.count() > 500 {
			m.Errorf("%d attempts at a receiver that is down", m.receiver.count())
		}
		m.receiver.say(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		seen := map[string]string{}
		for _, e := range m.receiver.heard() {
			seen[string(e.Subscriber.Email)] += e.Subscriber.Status + " "
		}
		for i := range 100 {
			want := "active "
			if i < 50 {
				want = "active unsubscribed "
			}
			if got := seen[string(storetest.Reader(i))]; got != want {
				m.Errorf("subscription %d: heard %q, want %q", i, got, want)
			}
		}
	})
}

func TestOutboxTimesOut(t *testing.T) {
	inBubble(t, func(m *member) {
		hang := make(chan struct{})
		m.receiver.answer = func(core.Event) (int, map[string]string) { return 200, nil }
		m.receiver.server.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang })
		m.Active(m.list.ID, "a@example.org")
		v := make(chan verdict, 1)
		began := time.Now()
		go func() { v <- m.poster.post(m.Context(), eventPath, []byte("{}")) }()
		got := <-v
		if took := time.Since(began); !got.down || took != postTimeout {
			m.Errorf("%+v after %v", got, took)
		}
		close(hang)
	})
}

func TestFullSyncDelivers(t *testing.T) {
	inBubble(t, func(m *member) {
		im, err := m.NewImport(m.Context(), m.list.ID, "active", "test")
		m.Must(err)
		for i := range 3 {
			rows := make([]store.ImportRow, 500)
			for j := range rows {
				rows[j].Email = core.Email(fmt.Sprintf("r%d-%d@example.org", i, j))
			}
			m.Must(im.Add(m.Context(), rows, core.At(time.Now())))
		}
		m.Must(im.End(m.Context(), core.At(time.Now())))
		fails := 3
		m.receiver.say(func(core.Event) (int, map[string]string) {
			if fails--; fails >= 0 {
				return 500, nil
			}
			return 200, nil
		})
		m.run(FullSync(m.Store, m.poster, quiet))
		time.Sleep(30 * time.Second)
		synctest.Wait()
		y, err := m.Sync(m.Context(), im.Counts.SyncID)
		m.Must(err)
		if y.FinishedAt == 0 || y.BatchTotal != 4 || y.Done != 4 {
			m.Errorf("%+v", y)
		}
		n := 0
		for no, b := range m.receiver.batches {
			n += len(b.Subscribers)
			if b.OccurredAt != y.StartedAt || b.BatchTotal != 4 || b.BatchNo != no || b.SyncID != y.ID {
				m.Errorf("batch %d: %v", no, b.OccurredAt)
			}
		}
		if n != 1500 {
			m.Errorf("%d subscribers, want 1500", n)
		}
	})
}

// Preferences that were stored before imports were strict block neither a batch nor an event.
func TestFullSyncLeavesUnfitPreferencesOut(t *testing.T) {
	inBubble(t, func(m *member) {
		im, err := m.NewImport(m.Context(), m.list.ID, "active", "test")
		m.Must(err)
		m.Must(im.Add(m.Context(), []store.ImportRow{
			{Email: "old@example.org", Preferences: `{"a":1,"a":2}`}, {Email: "new@example.org", Preferences: `{"a":1}`},
		}, core.At(time.Now())))
		events, err := m.DueEvents(m.Context(), "", core.At(time.Now()), 10)
		m.Must(err)
		for _, e := range events {
			if strings.Contains(string(e.Body), `"a":2`) {
				m.Errorf("event %s", e.Body)
			}
		}
		_, err = m.RequestSync(m.Context(), m.list.ID, core.At(time.Now()))
		m.Must(err)
		m.run(FullSync(m.Store, m.poster, quiet))
		time.Sleep(time.Second)
		synctest.Wait()
		got := map[core.Email]core.Preferences{}
		for _, b := range m.receiver.batches {
			for _, s := range b.Subscribers {
				got[s.Email] = s.Preferences
			}
		}
		if len(events) != 2 || len(got) != 2 || got["old@example.org"] != "" || got["new@example.org"] != `{"a":1}` {
			m.Errorf("%d events, %v", len(events), got)
		}
	})
}

func TestFullSyncFailsForGood(t *testing.T) {
	inBubble(t, func(m *member) {
		m.receiver.say(func(core.Event) (int, map[string]string) { return 422, nil })
		id, err := m.RequestSync(m.Context(), m.list.ID, core.At(time.Now()))
		m.Must(err)
		m.run(FullSync(m.Store, m.poster, quiet))
		time.Sleep(time.Second)
		synctest.Wait()
		if y, err := m.Sync(m.Context(), id); err != nil || y.FailedAt == 0 || !strings.Contains(y.Reason, "422") {
			m.Errorf("%+v, %v", y, err)
		}
	})
}
