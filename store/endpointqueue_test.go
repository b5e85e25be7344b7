package store_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

// queued returns the events that wait for an endpoint, in the order of the outbox.
func queued(s *storetest.Seeder, endpointID string) []core.OutboxEvent {
	s.Helper()
	rows, err := s.OutboxEvents(
		s.Context(),
		tenants.OutboxFilter{EndpointID: endpointID, State: core.EventWaiting},
		0,
		100_000,
	)
	s.Must(err)
	return rows
}

func typesOf(events []core.OutboxEvent) (types []string) {
	for _, e := range events {
		types = append(types, e.EventType)
	}
	return types
}

func summaryOf(s *storetest.Seeder, e *core.OutboxEvent) (body core.SummaryEvent) {
	s.Helper()
	s.Must(json.Unmarshal([]byte(e.Body), &body))
	return body
}

// Events beyond the limit are dropped, but only for this endpoint. One event reports them, and is extended until it is
// about to be posted. A new event reports later drops.
func TestEndpointDropsEventsBeyondTheBound(t *testing.T) {
	s := storetest.Seed(t, storetest.OpenWith(t, db.Options{EndpointEvents: 5}))
	l := s.NewList()
	full := s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/full")})
	left := s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/left"), Events: &[]string{core.EventUnsubscribed}})
	for i := range 7 {
		s.Active(l.ID, storetest.Reader(i))
	}
	s.Leave(l.ID, storetest.Reader(0))
	waits := queued(s, full.ID)
	want := append(slices.Repeat([]string{core.EventActivated}, 4), core.EventDropped)
	if got := typesOf(waits); !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
	if got := typesOf(queued(s, left.ID)); !slices.Equal(got, []string{core.EventUnsubscribed}) {
		t.Errorf("another endpoint: %v", got)
	}
	if n := len(queued(s, "")); n != 8+5+1 { // events of the send service don't count
		t.Errorf("%d events wait in all", n)
	}
	told := waits[4]
	body := summaryOf(s, &told)
	if body.ID != told.EventID || body.TenantID != l.TenantID || body.From == 0 || body.From > body.To ||
		body.To != told.OccurredAt || fmt.Sprint(body.Counts) != "map[subscription.activated:3 subscription.unsubscribed:1]" ||
		!slices.Equal(body.Types, []string{core.EventActivated, core.EventUnsubscribed}) {
		t.Errorf("%s", told.Body)
	}
	e, err := s.Endpoint(t.Context(), full.ID)
	if err != nil || e.Waiting != 5 || !e.Dropping || s.Audited("webhook-endpoint.drop") != 1 {
		t.Errorf("%+v, %v", e, err)
	}

	fixed, err := s.SendDropped(t.Context(), &told)
	s.Must(err)
	s.Leave(l.ID, storetest.Reader(1))
	// The event that is due last has been dropped.
	if waits = queued(s, full.ID); len(waits) != 5 || waits[3].Body != fixed || fixed != told.Body {
		t.Fatalf("it changes on its way: %v", typesOf(waits))
	}
	again := summaryOf(s, &waits[4])
	if fmt.Sprint(again.Counts) != "map[subscription.activated:1 subscription.unsubscribed:1]" || again.ID == body.ID ||
		again.From > body.From {
		t.Errorf("%s", waits[4].Body)
	}
	for i := range waits {
		s.Must(s.FinishEvents(t.Context(), []tenants.EventResult{{Event: &waits[i], Done: true}}, s.Time()))
	}
	s.Active(l.ID, storetest.Reader(9))
	if got := typesOf(queued(s, full.ID)); !slices.Equal(got, []string{core.EventActivated}) {
		t.Errorf("when it has caught up: %v", got)
	}
}

// The size of waiting events is also limited. An event that doesn't fit is reported as dropped, but a smaller one can
// still be added. Delivered events free space.
func TestEndpointDropsEventsBeyondTheBytes(t *testing.T) {
	const most = 10_000
	s := storetest.Seed(t, storetest.OpenWith(t, db.Options{EndpointBytes: most}))
	l := s.NewList()
	e := s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/all")})
	long := core.Preferences(`{"note":"` + strings.Repeat("x", 4000) + `"}`)
	join := func(i int, p core.Preferences) {
		token := s.Token(s.Request(l.ID, storetest.Reader(i), p), core.ProofMailed)
		_, err := s.Confirm(t.Context(), token, core.Origin{}, s.Time())
		s.Must(err)
	}
	for i := range 5 {
		join(i, long)
	}
	waits := queued(s, e.ID)
	if got := typesOf(waits); !slices.Equal(got, []string{core.EventActivated, core.EventActivated, core.EventDropped}) {
		t.Fatalf("%v", got)
	}
	if told := summaryOf(s, &waits[2]); fmt.Sprint(told.Counts) != "map[subscription.activated:3]" {
		t.Errorf("%s", waits[2].Body)
	}
	join(6, "")
	if got := typesOf(queued(s, e.ID)); !slices.Equal(got[2:], []string{core.EventDropped, core.EventActivated}) {
		t.Errorf("a small one: %v", got)
	}
	row, err := s.Endpoint(t.Context(), e.ID)
	if n, all := s.EndpointBytes(t.Context()); err != nil || all != nil || row.WaitingBytes > most ||
		row.WaitingBytes < 8000 ||
		n != row.WaitingBytes {
		t.Errorf("%+v, %d, %v %v", row, n, err, all)
	}
	s.Must(s.FinishEvents(t.Context(), []tenants.EventResult{{Event: &waits[0], Dead: true}}, s.Time()))
	join(7, long)
	if got := typesOf(queued(s, e.ID)); !slices.Equal(got[3:], []string{core.EventActivated}) {
		t.Errorf("when there is room: %v", got)
	}
	if err := s.RetryEvent(t.Context(), waits[0].ID, "test", s.Time()); core.KindOf(err) != core.Conflict {
		t.Errorf("a dead letter without room: %v", err)
	}
	if got, err := s.Check(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// The remaining events of a deleted endpoint no longer count, even before they are swept.
func TestEventsOfDeletedEndpointsAreNotCounted(t *testing.T) {
	s := storetest.Seed(t, storetest.Open(t))
	l := s.NewList()
	gone := s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/gone")})
	s.Active(l.ID, storetest.Reader(0))
	s.Active(l.ID, storetest.Reader(1))
	s.Must(s.FinishEvents(t.Context(), []tenants.EventResult{{Event: &queued(s, gone.ID)[0], Dead: true}}, s.Time()))
	s.Must(s.DeleteEndpoint(t.Context(), gone.ID, "test", s.Time()))
	if left := s.Count("SELECT count(*) FROM outbox WHERE endpoint_id = ?", gone.ID); left != 2 {
		t.Fatalf("%d are left", left)
	}
	if o, err := s.EndpointState(t.Context()); err != nil || o != (tenants.OutboxState{}) {
		t.Errorf("%+v, %v", o, err)
	}
	kept := s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/kept")})
	s.Leave(l.ID, storetest.Reader(0))
	if o, err := s.EndpointState(t.Context()); err != nil || o.Waiting != 1 || o.Dead != 0 ||
		o.OldestAt != queued(s, kept.ID)[0].OccurredAt {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := s.OutboxState(t.Context()); err != nil || o.Waiting != 3 {
		t.Errorf("of the send service: %+v, %v", o, err)
	}
}

// Events about a deleted list that wait for an endpoint are removed when they would become dead letters, also if the
// endpoint is disabled. That frees space. Events about other lists and for the send service stay.
func TestEventsOfDeletedListsGo(t *testing.T) {
	s := storetest.Seed(t, storetest.Open(t))
	gone := s.NewList()
	stays := s.NewList()
	e := s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/off")})
	for i := range 3 {
		s.Active(gone.ID, storetest.Reader(i))
	}
	s.Active(stays.ID, storetest.Reader(0))
	_, err := s.UpdateEndpoint(t.Context(), e.ID, tenants.EndpointChange{Disabled: new(true)}, "test", s.Time())
	s.Must(err)
	s.Must(s.DeleteList(t.Context(), gone.ID, "test", s.Time()))
	for _, c := range []struct {
		after   time.Duration
		waiting int64
	}{{core.EventLife - time.Hour, 4}, {core.EventLife + time.Hour, 1}} {
		_, err := s.Housekeeping(t.Context(), people.Retention{Events: 365 * 24 * time.Hour}, s.Time().Add(c.after))
		s.Must(err)
		row, err := s.Endpoint(t.Context(), e.ID)
		if err != nil || row.Waiting != c.waiting || len(queued(s, e.ID)) != int(c.waiting) {
			t.Errorf("after %v: %+v, %v", c.after, row, err)
		}
		if o, err := s.OutboxState(t.Context()); err != nil || o.Waiting != 4 {
			t.Errorf("of the send service: %+v, %v", o, err)
		}
		if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("%v, %v", found, err)
		}
	}
}

// A dead letter is retried only if there is space. One that doesn't fit doesn't delay the others.
func TestDeadLettersWaitAgainWhereThereIsRoom(t *testing.T) {
	s := storetest.Seed(t, storetest.OpenWith(t, db.Options{EndpointEvents: 4}))
	l := s.NewList()
	full := s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/full")})
	other := s.NewEndpoint(
		core.EndpointInput{URL: new("https://crm.test/other"), Events: &[]string{core.EventUnsubscribed}},
	)
	for i := range 3 {
		s.Active(l.ID, storetest.Reader(i))
	}
	kill := func(id string) {
		for _, e := range queued(s, id) {
			s.Must(s.FinishEvents(t.Context(), []tenants.EventResult{{Event: &e, Dead: true}}, s.Time()))
		}
	}
	kill(full.ID)
	s.Leave(l.ID, storetest.Reader(0))
	kill(other.ID)
	s.Leave(l.ID, storetest.Reader(1))
	if n, err := s.RetryDead(t.Context(), tenants.OutboxFilter{}, 3, "test", s.Time()); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err) // 1 for full, which has space for 1 more, and that of other
	}
	dead, err := s.OutboxEvents(t.Context(), tenants.OutboxFilter{EndpointID: full.ID, State: core.EventDead}, 0, 10)
	if err != nil || len(dead) != 2 || len(queued(s, full.ID)) != 3 {
		t.Fatalf("%d dead, %d wait, %v", len(dead), len(queued(s, full.ID)), err)
	}
	if err := s.RetryEvent(t.Context(), dead[0].ID, "test", s.Time()); core.KindOf(err) != core.Conflict {
		t.Errorf("%v", err)
	}
	if got, err := s.Check(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// The row of an endpoint counts the waiting events correctly after any changes, and never exceeds the limit.
func TestWaitingEventsAreCounted(t *testing.T) {
	const most = 8
	s := storetest.Seed(t, storetest.OpenWith(t, db.Options{EndpointEvents: most}))
	l := s.NewList()
	address := func(rt *rapid.T) core.Email { return storetest.Reader(rapid.IntRange(0, 5).Draw(rt, "who")) }
	endpoints := []string{}
	one := func(rt *rapid.T, state string) *core.OutboxEvent {
		f := tenants.OutboxFilter{State: state, EndpointID: rapid.SampledFrom(endpoints).Draw(rt, "endpoint")}
		rows, err := s.OutboxEvents(t.Context(), f, 0, 100)
		s.Must(err)
		if len(rows) == 0 {
			return nil
		}
		e := rapid.SampledFrom(rows).Draw(rt, "event")
		if e.EventType == core.EventDropped {
			_, err := s.SendDropped(t.Context(), &e)
			s.Must(err)
		}
		return &e
	}
	finish := func(r tenants.EventResult) func(*rapid.T) {
		return func(rt *rapid.T) {
			if r.Event = one(rt, core.EventWaiting); r.Event != nil {
				r.RetryAt = s.Time().Add(time.Hour)
				s.Must(s.FinishEvents(t.Context(), []tenants.EventResult{r, r}, s.Time()))
			}
		}
	}
	actions := map[string]func(*rapid.T){
		"subscribe": func(rt *rapid.T) { s.Active(l.ID, address(rt)) },
		"leave": func(rt *rapid.T) {
			if who := address(rt); s.MemberStatus(l.ID, who) == core.SubscriptionActive {
				s.Leave(l.ID, who)
			}
		},
		"import": func(rt *rapid.T) {
			s.Import(l.ID, core.SubscriptionActive, imports.ImportRow{Email: address(rt), Preferences: `{"a":1}`},
				imports.ImportRow{Email: address(rt), Preferences: `{"a":2}`})
		},
		"deliver": finish(tenants.EventResult{Done: true}),
		"fail":    finish(tenants.EventResult{Reason: "HTTP 500"}),
		"refuse":  finish(tenants.EventResult{Dead: true, Reason: "HTTP 422"}),
		"expire": func(rt *rapid.T) {
			_, err := s.ExpireEvents(
				t.Context(),
				rapid.SampledFrom(endpoints).Draw(rt, "endpoint"),
				"late",
				s.Time(),
				s.Time(),
				3,
			)
			s.Must(err)
		},
		"retry all": func(*rapid.T) {
			_, err := s.RetryDead(t.Context(), tenants.OutboxFilter{}, 5, "test", s.Time())
			s.Must(err)
		},
		"retry": func(rt *rapid.T) {
			if e := one(rt, rapid.SampledFrom([]string{core.EventDead, core.EventWaiting}).Draw(rt, "state")); e != nil {
				if err := s.RetryEvent(t.Context(), e.ID, "test", s.Time()); core.KindOf(err) != core.Conflict {
					s.Must(err)
				}
			}
		},
		"erase": func(rt *rapid.T) {
			_, err := s.ErasePerson(t.Context(), core.Person{Email: address(rt)}, "test", s.Time())
			s.Must(err)
		},
		"housekeeping": func(*rapid.T) { s.Clean(people.Retention{Events: time.Minute, Pending: time.Hour}) },
		"replace": func(rt *rapid.T) {
			i := rapid.IntRange(0, len(endpoints)-1).Draw(rt, "endpoint")
			s.Must(s.DeleteEndpoint(t.Context(), endpoints[i], "test", s.Time()))
			endpoints[i] = s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/new")}).ID
		},
		"": func(rt *rapid.T) {
			for _, id := range endpoints {
				e, err := s.Endpoint(t.Context(), id)
				s.Must(err)
				rows := queued(s, id)
				bytes, told := int64(0), int64(0) // whether it is being sent or not
				for _, row := range rows {
					if bytes += int64(len(row.Body)); row.EventType == core.EventDropped {
						told++
					}
				}
				if e.Waiting != int64(len(rows)) || e.WaitingBytes != bytes || e.Waiting > max(most, told) {
					rt.Fatalf("%d counted, %d wait: %v", e.Waiting, len(rows), typesOf(rows))
				}
			}
			if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
				rt.Fatalf("%v, %v", found, err)
			}
		},
	}
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("25") // each check waits for the disk a few hundred times
	}
	rapid.Check(t, func(rt *rapid.T) {
		endpoints = []string{
			s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/all")}).ID,
			s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/left"), Events: &[]string{core.EventUnsubscribed}}).ID,
		}
		rt.Repeat(actions)
		for _, id := range endpoints {
			s.Must(s.DeleteEndpoint(t.Context(), id, "test", s.Time()))
		}
	})
}

// An operation updates the row of an endpoint once, however many events it adds to the outbox.
func TestEndpointQueueWritesOneRow(t *testing.T) {
	f := storetest.NewFaults(t)
	s := storetest.Seed(t, storetest.OpenWith(t, db.Options{Driver: f.Driver}))
	l := s.NewList()
	s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/all")})
	rows := make([]imports.ImportRow, 400)
	for i := range rows {
		rows[i].Email = storetest.Reader(i)
	}
	counted := 0
	f.FailWhen(func(query string) bool {
		if strings.HasPrefix(query, "UPDATE webhook_endpoint SET waiting") {
			counted++
		}
		return false
	})
	s.Import(l.ID, core.SubscriptionActive, rows...)
	if counted != 1 {
		t.Errorf("an import of one operation writes the row of its endpoint %d times", counted)
	}
}
