package core

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const (
	idA = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	idB = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c"
)

const goodEvent = `{"event_id":"` + idA + `","event_type":"subscription.activated","tenant_id":"` + idA +
	`","list_id":"` + idB +
	`","subscriber":{"id":"` + idA +
	`","email":"a@example.org","status":"active","preferences":{"a":[1]}},"occurred_at":"2026-01-02T03:04:05.006Z"}`

const goodSync = `{"sync_id":"` + idA + `","batch_no":1,"batch_total":2,"tenant_id":"` + idA + `","list_id":"` + idB +
	`","subscribers":[{"id":"` + idA + `","email":"a@example.org","status":"active"},{"id":"` + idB +
	`","email":"b+c@example.org","status":"unsubscribed","preferences":{}}],"occurred_at":"2026-01-02T03:04:05.006Z"}`

func TestEventValidate(t *testing.T) {
	for _, c := range []struct{ old, new, field string }{
		{"", "", ""},
		{`"event_id":"` + idA, `"event_id":"` + strings.ToUpper(idA), ""},
		{`"event_id":"` + idA + `",`, ``, "event_id"},
		{`"event_id":"` + idA, `"event_id":"x`, "event_id"},
		{`subscription.activated`, `subscription.gone`, "event_type"},
		{`"event_type":"subscription.activated",`, ``, "event_type"},
		{`"tenant_id":"` + idA, `"tenant_id":"1`, "tenant_id"},
		{`"list_id":"` + idB, `"list_id":"`, "list_id"},
		{`"subscriber":{"id":"` + idA + `"`, `"subscriber":{"id":""`, "subscriber.id"},
		{`a@example.org`, `a@example`, "subscriber.email"},
		{`"status":"active"`, `"status":"pending"`, "subscriber.status"},
		{`"status":"active",`, ``, "subscriber.status"},
		{`"status":"active"`, `"status":"complaint"`, ""},
		{`"preferences":{"a":[1]}`, `"preferences":[1]`, "subscriber.preferences"},
		{`,"preferences":{"a":[1]}`, ``, ""},
		{`,"preferences":{"a":[1]}`, `,"preferences":null`, ""},
		{`,"occurred_at":"2026-01-02T03:04:05.006Z"`, ``, "occurred_at"},
	} {
		var e Event
		if err := json.Unmarshal([]byte(strings.Replace(goodEvent, c.old, c.new, 1)), &e); err != nil {
			t.Fatal(err)
		}
		refused(t, c.old+" → "+c.new, e.Validate(), c.field)
		if c.field == "" && e.ID != idA {
			t.Errorf("event_id %q was not brought into lower case", e.ID)
		}
	}
}

func TestFullSyncValidate(t *testing.T) {
	for _, c := range []struct{ old, new, field string }{
		{"", "", ""},
		{`"sync_id":"` + idA, `"sync_id":"1`, "sync_id"},
		{`"batch_no":1`, `"batch_no":0`, "batch_no"},
		{`"batch_no":1`, `"batch_no":3`, "batch_no"},
		{`"batch_no":1,`, ``, "batch_no"},
		{`"batch_total":2`, `"batch_total":-1`, "batch_total"},
		{`"batch_total":2`, `"batch_total":1000000001`, "batch_total"},
		{`"tenant_id":"` + idA + `",`, ``, "tenant_id"},
		{`b+c@example.org`, `b c@example.org`, "subscribers[1].email"},
		{`"status":"unsubscribed"`, `"status":"pending"`, "subscribers[1].status"},
		{`,"occurred_at":"2026-01-02T03:04:05.006Z"`, ``, "occurred_at"},
	} {
		var f FullSync
		if err := json.Unmarshal([]byte(strings.Replace(goodSync, c.old, c.new, 1)), &f); err != nil {
			t.Fatal(err)
		}
		refused(t, c.old+" → "+c.new, f.Validate(), c.field)
	}
	f := FullSync{SyncID: idA, BatchNo: 1, BatchTotal: 1, TenantID: idA, ListID: idB, OccurredAt: t0}
	refused(t, "absent", f.Validate(), "subscribers")
	f.Subscribers = []EventSubscriber{}
	refused(t, "an empty batch", f.Validate(), "")
	f.Subscribers = make([]EventSubscriber, MaxSyncBatch+1)
	refused(t, "too many", f.Validate(), "subscribers")
}

// TestEventsAppendAsJSON checks that AppendJSON writes the same text as encoding/json.
func TestEventsAppendAsJSON(t *testing.T) {
	var e Event
	var f FullSync
	if json.Unmarshal([]byte(goodEvent), &e) != nil || json.Unmarshal([]byte(goodSync), &f) != nil {
		t.Fatal("the examples do not parse")
	}
	if got := string(e.AppendJSON(nil)); got != goodEvent {
		t.Errorf("event\n%s\nwant\n%s", got, goodEvent)
	}
	if got := string(f.AppendJSON(nil)); got != goodSync {
		t.Errorf("batch\n%s\nwant\n%s", got, goodSync)
	}
}

func TestPreferencesCheck(t *testing.T) {
	for _, c := range []struct {
		p    string
		kind Kind
		ok   bool
	}{
		{``, 0, true},
		{`{}`, 0, true},
		{`{"a":{"b":[{}]}}`, 0, true},
		{`{"a":"[[[[[[[[[[[[\"[[[["}`, 0, true},
		{strings.Repeat(`{"a":`, 7) + `{}` + strings.Repeat(`}`, 7), 0, true},
		{strings.Repeat(`{"a":`, 8) + `{}` + strings.Repeat(`}`, 8), Invalid, false},
		{`[]`, Invalid, false},
		{`"x"`, Invalid, false},
		{`1`, Invalid, false},
		{`{`, Invalid, false},
		{`{"a":"\u0000"}`, Invalid, false},
		{`{"a":"\ud800"}`, Invalid, false},
		{`{"a":1,"a":2}`, Invalid, false},
		{`{"a":1} x`, Invalid, false},
		{`{"a":"` + strings.Repeat("x", MaxPreferences) + `"}`, TooLarge, false},
	} {
		err := Preferences(c.p).Check("preferences")
		if (err == nil) != c.ok || err != nil && KindOf(err) != c.kind {
			t.Errorf("%.60q: %v", c.p, err)
		}
	}
}

var askedOnce = ConfirmRequest{
	Email: "Ann@example.org", Preferences: `{"a":1}`,
	Origin: Origin{Source: "form", Remote: "192.0.2.1"}, TextVersion: "v", At: 1_790_000_000_000,
}

func TestConfirmToken(t *testing.T) {
	key, other := []byte("key of the test, thirty-two byte"), []byte("another key, as long as that one")
	seen := map[string]bool{}
	of := askedOnce.Mark(key)
	for _, mark := range []*RequestMark{nil, &of} {
		for _, proof := range []string{ProofMailed, ProofResponse} {
			token := ConfirmToken(key, idA, proof, mark)
			if seen[token] || len(token) != 64 && mark == nil || len(token) != 94 && mark != nil {
				t.Errorf("token %q", token)
			}
			seen[token] = true
			id, m, got, err := ParseConfirmToken(key, token)
			if id != idA || m != proof || err != nil || (got == nil) != (mark == nil) || got != nil && *got != *mark {
				t.Errorf("got %s %s %v %v", id, m, got, err)
			}
			cut := token[:len(token)-1]
			for _, bad := range []string{
				"", cut, token + "A", token + "\n", "\n" + token[1:], "B" + token[1:],
				cut + "!", strings.ToUpper(token), token[:30] + "x" + token[31:],
			} {
				if _, _, _, err := ParseConfirmToken(key, bad); !errors.Is(err, ErrInvalidToken) {
					t.Errorf("%q was taken", bad)
				}
			}
			if _, _, _, err := ParseConfirmToken(other, token); !errors.Is(err, ErrInvalidToken) {
				t.Error("a token of another key was taken")
			}
		}
	}
}

// TestRequestMark checks that, after a later request replaced the row, a token confirms only what its own request
// contained.
func TestRequestMark(t *testing.T) {
	key := []byte("key of the test, thirty-two byte")
	mark := askedOnce.Mark(key)
	later := func(change func(*ConfirmRequest)) ConfirmRequest {
		r := askedOnce
		r.At += 5000
		change(&r)
		mark.Reduce(&r, key)
		return r
	}
	same := later(func(*ConfirmRequest) {})
	if same != askedOnce {
		t.Errorf("the same request again: %+v", same)
	}
	noContent, noOrigin := askedOnce, askedOnce
	noContent.Email, noContent.Preferences = "ann@example.org", NoPreferences
	noOrigin.Origin, noOrigin.TextVersion = Origin{}, ""
	for _, tt := range []struct {
		name   string
		change func(*ConfirmRequest)
		want   ConfirmRequest
	}{
		{"another spelling", func(r *ConfirmRequest) { r.Email = "aNN@example.org" }, noContent},
		{"other preferences", func(r *ConfirmRequest) { r.Preferences = NoPreferences }, noContent},
		{"another source", func(r *ConfirmRequest) { r.Origin.Source = "footer" }, noOrigin},
		{"another address", func(r *ConfirmRequest) { r.Origin.Remote = "192.0.2.2" }, noOrigin},
		{"another program", func(r *ConfirmRequest) { r.Origin.UserAgent = "curl" }, noOrigin},
		{"another text", func(r *ConfirmRequest) { r.TextVersion = "w" }, noOrigin},
		{"words moved", func(r *ConfirmRequest) { r.Origin.Source, r.Origin.Remote = "form1", "92.0.2.1" }, noOrigin},
	} {
		if got := later(tt.change); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func FuzzParseConfirmToken(f *testing.F) {
	key := make([]byte, 32)
	mark := askedOnce.Mark(key)
	f.Add(ConfirmToken(key, idA, ProofMailed, nil))
	f.Add(ConfirmToken(key, idA, ProofResponse, &mark))
	f.Fuzz(func(t *testing.T, token string) {
		id, proof, mark, err := ParseConfirmToken(key, token)
		if err == nil && ConfirmToken(key, id, proof, mark) != token {
			t.Errorf("%q was taken as %s %s %v", token, id, proof, mark)
		}
	})
}
