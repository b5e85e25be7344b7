package core

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const t0 Instant = 1_700_000_000_000

// in returns a subscription in the given state, reached by the actions of a subscriber.
func in(t testing.TB, status string) Subscription {
	s := Subscription{ID: "s", ListID: "l"}
	if status == "" {
		return s
	}
	s.Subscribe("a@example.org", `{"a":1}`, t0)
	switch status {
	case SubscriptionPending:
	case SubscriptionActive, SubscriptionUnsubscribed, pendingAgain:
		if _, err := s.Confirm(1, ProofMailed, t0+1); err != nil {
			t.Fatal(err)
		}
	}
	if status == SubscriptionUnsubscribed {
		s.Unsubscribe(t0 + 2)
	}
	if status == pendingAgain {
		s.Unsubscribe(t0 + 2)
		s.Subscribe("a@example.org", `{"a":1}`, t0+3)
	}
	return s
}

// verb is an action on a subscription, at t0 + 1000.
type verb struct {
	method string // of Subscription
	do     func(*Subscription, Instant) (*Change, error)
}

var verbs = map[string]verb{
	"subscribe": {"Subscribe", func(s *Subscription, now Instant) (*Change, error) {
		s.Subscribe("b@example.org", `{"b":2}`, now)
		return nil, nil
	}},
	"confirm by mailed": {"Confirm", func(s *Subscription, now Instant) (*Change, error) {
		return s.Confirm(1,
			ProofMailed, now)
	}},
	"confirm by response": {"Confirm", func(s *Subscription, now Instant) (*Change, error) {
		return s.Confirm(1,
			ProofResponse, now)
	}},
	"confirm old": {"Confirm", func(s *Subscription, now Instant) (*Change, error) {
		return s.Confirm(0,
			ProofMailed, now)
	}},
	"unsubscribe": {"Unsubscribe", func(s *Subscription, now Instant) (*Change,
		error,
	) {
		return s.Unsubscribe(now), nil
	}},
	"resume": {"Resume", func(s *Subscription, now Instant) (*Change, error) {
		return s.Resume(t0+2,
			now)
	}},
	"resume earlier": {"Resume", func(s *Subscription, now Instant) (*Change, error) {
		return s.Resume(t0+1,
			now)
	}},
	"set preferences": {"SetPreferences", func(s *Subscription, now Instant) (*Change,
		error,
	) {
		return s.SetPreferences(`{"b":2}`, now), nil
	}},
	"import active": {"Import", func(s *Subscription, now Instant) (*Change, error) {
		c, _ := s.Import("b@example.org", SubscriptionActive, ProofImport, `{"b":2}`, now)
		return c, nil
	}},
	"import active bare": {"Import", func(s *Subscription, now Instant) (*Change, error) {
		c, _ := s.Import("b@example.org", SubscriptionActive, ProofImport, "", now)
		return c, nil
	}},
	"import pending": {"Import", func(s *Subscription, now Instant) (*Change, error) {
		c, _ := s.Import("b@example.org", SubscriptionPending, ProofImport, `{"b":2}`, now)
		return c, nil
	}},
}

// pendingAgain is the state of a subscription that was requested again after an unsubscribe.
const pendingAgain = "pending after unsubscribed"

// outcome is the result of a verb in a state.
type outcome struct {
	next        string
	preferences Preferences
	generation  int64
	event       string
	err         error
}

// subscriptionTable holds the outcome of each verb in each state. Disabling and complaints count as "unsubscribe".
// Erasing a subscription, and the expiry of a pending one, delete the record, which is the state "".
var subscriptionTable = map[string]map[string]outcome{
	"": {
		"subscribe":           {"pending", `{"b":2}`, 1, "", nil},
		"confirm by mailed":   {"", "", 0, "", ErrInvalidToken},
		"confirm by response": {"", "", 0, "", ErrInvalidToken},
		"confirm old":         {"", "", 0, "", ErrInvalidToken},
		"unsubscribe":         {"", "", 0, "", nil},
		"resume":              {"", "", 0, "", ErrInvalidToken},
		"resume earlier":      {"", "", 0, "", ErrInvalidToken},
		"set preferences":     {"", "", 0, "", nil},
		"import active":       {"active", `{"b":2}`, 1, EventActivated, nil},
		"import active bare":  {"active", `{}`, 1, EventActivated, nil},
		"import pending":      {"pending", `{"b":2}`, 1, "", nil},
	},
	SubscriptionPending: {
		"subscribe":           {"pending", `{"b":2}`, 1, "", nil},
		"confirm by mailed":   {"active", `{"a":1}`, 1, EventActivated, nil},
		"confirm by response": {"active", `{"a":1}`, 1, EventActivated, nil},
		"confirm old":         {"pending", `{"a":1}`, 1, "", ErrInvalidToken},
		"unsubscribe":         {"unsubscribed", `{"a":1}`, 1, "", nil},
		"resume":              {"pending", `{"a":1}`, 1, "", ErrInvalidToken},
		"resume earlier":      {"pending", `{"a":1}`, 1, "", ErrInvalidToken},
		"set preferences":     {"pending", `{"b":2}`, 1, "", nil},
		"import active":       {"active", `{"a":1,"b":2}`, 1, EventActivated, nil},
		"import active bare":  {"active", `{"a":1}`, 1, EventActivated, nil},
		"import pending":      {"pending", `{"a":1,"b":2}`, 1, "", nil},
	},
	SubscriptionActive: {
		"subscribe":           {"active", `{"a":1}`, 1, "", nil},
		"confirm by mailed":   {"active", `{"a":1}`, 1, "", nil},
		"confirm by response": {"active", `{"a":1}`, 1, "", nil},
		"confirm old":         {"active", `{"a":1}`, 1, "", ErrInvalidToken},
		"unsubscribe":         {"unsubscribed", `{"a":1}`, 1, EventUnsubscribed, nil},
		"resume":              {"active", `{"a":1}`, 1, "", nil},
		"resume earlier":      {"active", `{"a":1}`, 1, "", nil},
		"set preferences":     {"active", `{"b":2}`, 1, EventPreferences, nil},
		"import active":       {"active", `{"a":1,"b":2}`, 1, EventPreferences, nil},
		"import active bare":  {"active", `{"a":1}`, 1, "", nil},
		"import pending":      {"active", `{"a":1,"b":2}`, 1, EventPreferences, nil},
	},
	SubscriptionUnsubscribed: {
		"subscribe":           {"pending", `{"b":2}`, 2, "", nil},
		"confirm by mailed":   {"unsubscribed", `{"a":1}`, 1, "", ErrInvalidToken},
		"confirm by response": {"unsubscribed", `{"a":1}`, 1, "", ErrInvalidToken},
		"confirm old":         {"unsubscribed", `{"a":1}`, 1, "", ErrInvalidToken},
		"unsubscribe":         {"unsubscribed", `{"a":1}`, 1, "", nil},
		"resume":              {"active", `{"a":1}`, 1, EventActivated, nil},
		"resume earlier":      {"unsubscribed", `{"a":1}`, 1, "", ErrInvalidToken},
		"set preferences":     {"unsubscribed", `{"b":2}`, 1, "", nil},
		"import active":       {"unsubscribed", `{"a":1}`, 1, "", nil},
		"import active bare":  {"unsubscribed", `{"a":1}`, 1, "", nil},
		"import pending":      {"unsubscribed", `{"a":1}`, 1, "", nil},
	},
	pendingAgain: {
		"subscribe":           {"pending", `{"b":2}`, 2, "", nil},
		"confirm by mailed":   {"pending", `{"a":1}`, 2, "", ErrInvalidToken},
		"confirm by response": {"pending", `{"a":1}`, 2, "", ErrInvalidToken},
		"confirm old":         {"pending", `{"a":1}`, 2, "", ErrInvalidToken},
		"unsubscribe":         {"unsubscribed", `{"a":1}`, 2, "", nil},
		"resume":              {"pending", `{"a":1}`, 2, "", ErrInvalidToken},
		"resume earlier":      {"pending", `{"a":1}`, 2, "", ErrInvalidToken},
		"set preferences":     {"pending", `{"b":2}`, 2, "", nil},
		"import active":       {"pending", `{"a":1}`, 2, "", nil},
		"import active bare":  {"pending", `{"a":1}`, 2, "", nil},
		"import pending":      {"pending", `{"a":1}`, 2, "", nil},
	},
}

func TestSubscriptionStates(t *testing.T) {
	now := t0 + 1000
	for state, row := range subscriptionTable {
		for name, want := range row {
			t.Run(state+" "+name, func(t *testing.T) {
				s := in(t, state)
				before := s
				change, err := verbs[name].do(&s, now)
				if !errors.Is(err, want.err) {
					t.Fatalf("error %v, want %v", err, want.err)
				}
				if got := (outcome{s.Status, s.Preferences, s.Generation, eventType(change), want.err}); got != want {
					t.Errorf("got %+v, want %+v", got, want)
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
}

// TestSubscriptionTableIsWhole checks that the table has a row for each state and each method in the source, so that a
// new one can't be forgotten.
func TestSubscriptionTableIsWhole(t *testing.T) {
	states := append(sourceConstants(t, "subscription.go", "Subscription", ""), "", pendingAgain)
	methods := sourceMethods(t, "subscription.go", "Subscription")
	if len(states) < 5 || len(methods) < 6 {
		t.Fatalf("found only %q, %q", states, methods)
	}
	if len(subscriptionTable) != len(states) {
		t.Errorf("rows for %d states, there are %q", len(subscriptionTable), states)
	}
	for _, state := range states {
		for name := range verbs {
			if _, ok := subscriptionTable[state][name]; !ok {
				t.Errorf("no row for %q, %s", state, name)
			}
		}
	}
	for _, method := range methods {
		if method == "Left" || method == "Vouch" { // these don't change the status
			continue
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(verbs)), func(v verb) bool { return v.method == method }) {
			t.Errorf("no verb for Subscription.%s", method)
		}
	}
	for _, proof := range []string{ProofMailed, ProofResponse} { // the proofs that a token can stand for
		if _, ok := verbs["confirm by "+proof]; !ok {
			t.Errorf("no verb for a confirmation by %s", proof)
		}
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
		{ProofResponse, ProofResponse},
		{ProofMailed, ProofMailed},
		{ProofResponse, ProofMailed},
	} {
		if _, err := s.Confirm(1, c.by, t0+5); err != nil {
			t.Fatal(err)
		}
		if s.Proof != c.want {
			t.Errorf("confirmed by %s: means %s, want %s", c.by, s.Proof, c.want)
		}
	}
}

func TestImportTwiceChangesNothing(t *testing.T) {
	for _, status := range []string{SubscriptionActive, SubscriptionPending} {
		for _, p := range []Preferences{"", `{"a":1}`} {
			s := in(t, "")
			if _, changed := s.Import("a@example.org", status, ProofImport, p, t0); !changed {
				t.Fatal("the first import changed nothing")
			}
			before := s
			if c, changed := s.Import("A@example.org", status, ProofImport, p,
				t0+9); c != nil || changed || s != before {
				t.Errorf("the second import of %s %q changed %+v", status, p, s)
			}
		}
	}
}

// TestSubscriptionProperties applies verbs in random order while the clock jumps. Instants must always increase and
// generations never decrease. Only subscribe (or a first import) may end the state unsubscribed. The events alone must
// show whether the subscription is active.
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
				c, _ = s.Import("a@example.org", rapid.SampledFrom([]string{
					SubscriptionActive,
					SubscriptionPending,
				}).Draw(t, "status"), ProofImport, `{"i":1}`, now)
			case s.Status == "":
				continue
			case verb == 2:
				c, _ = s.Confirm(rapid.Int64Range(0, s.Generation).Draw(t, "generation"), ProofMailed, now)
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
			if before.Left() && s.Status == SubscriptionActive && verb != 2 {
				t.Fatalf("verb %d brought back who had left", verb)
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
