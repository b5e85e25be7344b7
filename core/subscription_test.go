package core

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

const t0 Instant = 1_700_000_000_000

// in makes a subscription in a state, reached the way that a subscriber would.
func in(t testing.TB, status string) Subscription {
	s := Subscription{ID: "s", ListID: "l"}
	if status == "" {
		return s
	}
	s.Subscribe("a@example.org", `{"a":1}`, t0)
	switch status {
	case SubscriptionPending:
	case SubscriptionActive, SubscriptionUnsubscribed:
		if _, err := s.Confirm(1, MeansMailed, t0+1); err != nil {
			t.Fatal(err)
		}
	}
	if status == SubscriptionUnsubscribed {
		s.Unsubscribe(t0 + 2)
	}
	return s
}

// Every state × every verb: the specification's table of states, and what contract 5 adds to it.
func TestSubscriptionStates(t *testing.T) {
	now := t0 + 1000
	verbs := map[string]func(*Subscription) (*Change, error){
		"subscribe":       func(s *Subscription) (*Change, error) { s.Subscribe("b@example.org", `{"b":2}`, now); return nil, nil },
		"confirm":         func(s *Subscription) (*Change, error) { return s.Confirm(1, MeansMailed, now) },
		"confirm old":     func(s *Subscription) (*Change, error) { return s.Confirm(0, MeansMailed, now) },
		"unsubscribe":     func(s *Subscription) (*Change, error) { return s.Unsubscribe(now), nil },
		"set preferences": func(s *Subscription) (*Change, error) { return s.SetPreferences(`{"b":2}`, now), nil },
		"import active": func(s *Subscription) (*Change, error) {
			c, _ := s.Import("b@example.org", SubscriptionActive, `{"b":2}`, now)
			return c, nil
		},
		"import pending": func(s *Subscription) (*Change, error) {
			c, _ := s.Import("b@example.org", SubscriptionPending, `{"b":2}`, now)
			return c, nil
		},
	}
	for _, c := range []struct {
		state, verb string
		next        string
		preferences Preferences
		generation  int64
		event       string
		err         error
	}{
		{"", "subscribe", "pending", `{"b":2}`, 1, "", nil},
		{"pending", "subscribe", "pending", `{"b":2}`, 1, "", nil},
		{"active", "subscribe", "active", `{"a":1}`, 1, "", nil},
		{"unsubscribed", "subscribe", "pending", `{"b":2}`, 2, "", nil},

		{"pending", "confirm", "active", `{"a":1}`, 1, EventActivated, nil},
		{"active", "confirm", "active", `{"a":1}`, 1, "", nil},
		{"unsubscribed", "confirm", "unsubscribed", `{"a":1}`, 1, "", ErrInvalidToken},
		{"pending", "confirm old", "pending", `{"a":1}`, 1, "", ErrInvalidToken},
		{"active", "confirm old", "active", `{"a":1}`, 1, "", ErrInvalidToken},
		{"unsubscribed", "confirm old", "unsubscribed", `{"a":1}`, 1, "", ErrInvalidToken},

		{"pending", "unsubscribe", "unsubscribed", `{"a":1}`, 1, "", nil},
		{"active", "unsubscribe", "unsubscribed", `{"a":1}`, 1, EventUnsubscribed, nil},
		{"unsubscribed", "unsubscribe", "unsubscribed", `{"a":1}`, 1, "", nil},

		{"pending", "set preferences", "pending", `{"b":2}`, 1, "", nil},
		{"active", "set preferences", "active", `{"b":2}`, 1, EventPreferences, nil},
		{"unsubscribed", "set preferences", "unsubscribed", `{"b":2}`, 1, "", nil},

		{"", "import active", "active", `{"b":2}`, 1, EventActivated, nil},
		{"pending", "import active", "active", `{"b":2}`, 1, EventActivated, nil},
		{"active", "import active", "active", `{"b":2}`, 1, EventPreferences, nil},
		{"unsubscribed", "import active", "unsubscribed", `{"a":1}`, 1, "", nil},
		{"", "import pending", "pending", `{"b":2}`, 1, "", nil},
		{"pending", "import pending", "pending", `{"b":2}`, 1, "", nil},
		{"active", "import pending", "active", `{"b":2}`, 1, EventPreferences, nil},
		{"unsubscribed", "import pending", "unsubscribed", `{"a":1}`, 1, "", nil},
	} {
		t.Run(c.state+" "+c.verb, func(t *testing.T) {
			s := in(t, c.state)
			before := s
			change, err := verbs[c.verb](&s)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if s.Status != c.next || s.Preferences != c.preferences || s.Generation != c.generation {
				t.Errorf("got %s %s generation %d, want %s %s %d", s.Status, s.Preferences, s.Generation, c.next, c.preferences, c.generation)
			}
			if got := eventType(change); got != c.event {
				t.Errorf("event %q, want %q", got, c.event)
			}
			if moved := s.Status != before.Status; moved != (s.ChangedAt == now) {
				t.Errorf("moved %v, but changed at %v", moved, s.ChangedAt)
			}
			if change == nil && s.EventAt != before.EventAt {
				t.Error("the stamp moved without an event")
			}
		})
	}
}

func eventType(c *Change) string {
	if c == nil {
		return ""
	}
	return c.EventType
}

func TestMailedProofReplacesWeakerMeans(t *testing.T) {
	s := in(t, SubscriptionPending)
	for _, c := range []struct{ by, want string }{
		{MeansResponse, MeansResponse},
		{MeansMailed, MeansMailed},
		{MeansResponse, MeansMailed},
	} {
		if _, err := s.Confirm(1, c.by, t0+5); err != nil {
			t.Fatal(err)
		}
		if s.Means != c.want {
			t.Errorf("confirmed by %s: means %s, want %s", c.by, s.Means, c.want)
		}
	}
}

func TestImportTwiceChangesNothing(t *testing.T) {
	for _, status := range []string{SubscriptionActive, SubscriptionPending} {
		for _, p := range []Preferences{"", `{"a":1}`} {
			s := in(t, "")
			if _, changed := s.Import("a@example.org", status, p, t0); !changed {
				t.Fatal("the first import changed nothing")
			}
			before := s
			if c, changed := s.Import("A@example.org", status, p, t0+9); c != nil || changed || s != before {
				t.Errorf("the second import of %s %q changed %+v", status, p, s)
			}
		}
	}
}

// However the verbs are mixed and the clock jumps: stamps rise strictly, generations never fall, only
// subscribe (or a first import) leads out of unsubscribed, and who listens to the events alone knows whether
// the subscription is active.
func TestSubscriptionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Subscription
		heard := false
		var stamp Instant
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now := t0 + Instant(rapid.IntRange(-5000, 5000).Draw(t, "clock"))
			before := s
			verb := rapid.IntRange(0, 5).Draw(t, "verb")
			var c *Change
			switch {
			case verb == 0:
				s.Subscribe("a@example.org", `{}`, now)
			case verb == 1:
				c, _ = s.Import("a@example.org", rapid.SampledFrom([]string{SubscriptionActive, SubscriptionPending}).Draw(t, "status"), `{"i":1}`, now)
			case s.Status == "":
				continue
			case verb == 2:
				c, _ = s.Confirm(rapid.Int64Range(0, s.Generation).Draw(t, "generation"), MeansMailed, now)
			case verb == 3:
				c = s.Unsubscribe(now)
			default:
				c = s.SetPreferences(`{"p":1}`, now)
			}
			if c != nil {
				if c.OccurredAt <= stamp {
					t.Fatalf("stamp %d after %d", c.OccurredAt, stamp)
				}
				stamp = c.OccurredAt
				heard = c.EventType != EventUnsubscribed
			}
			if heard != (s.Status == SubscriptionActive) {
				t.Fatalf("the events say %v, the status is %s", heard, s.Status)
			}
			if s.Generation < before.Generation {
				t.Fatal("the generation fell")
			}
			if before.Status == SubscriptionUnsubscribed && s.Status != before.Status && verb != 0 {
				t.Fatalf("verb %d led out of unsubscribed", verb)
			}
		}
	})
}

func TestOriginTrim(t *testing.T) {
	long := make([]byte, 400)
	for i := range long {
		long[i] = 'x'
	}
	for _, c := range []struct{ in, want string }{
		{"form", "form"},
		{"a\r\nb\x00c\x7f", "abc"},
		{"Größe\u0085", "Größe"},
		{string(long), string(long[:MaxOrigin])},
		{string(long[:254]) + "ö", string(long[:254])},
		{"\xff", ""},
	} {
		if got := (Origin{Source: c.in}).Trim().Source; got != c.want {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
}
