package core

import "testing"

const (
	subNow = Instant(1_000_000_000_000)
	sec    = Instant(1000)
)

// sub returns a subscriber with a member status and a block. Both instants are in seconds, relative to subNow.
func sub(word Status, wordAt Instant, block Status, blockAt Instant) Subscriber {
	return Subscriber{
		ListID: "l", EmailKey: "a@b.example", ID: "id", Email: "a@b.example", Preferences: `{"n":1}`,
		MemberStatus: word, MemberStatusAt: subNow + wordAt*sec, Block: block, BlockAt: subNow + blockAt*sec,
	}
}

func TestApplyToEveryState(t *testing.T) {
	const batch = "" // a full-sync batch has no event type
	tests := []struct {
		name   string
		before Subscriber
		event  string
		status Status
		at     Instant
		word   Status
		wordAt Instant
		block  Status
	}{
		{"newer active", sub("unsubscribed", -9, "", 0), EventActivated, "active", -5, "active", -5, ""},
		{"newer unsubscribed", sub("active", -9, "", 0), EventUnsubscribed, "unsubscribed", -5, "unsubscribed", -5, ""},
		{
			"older active is without effect", sub("unsubscribed", -5, "", 0), EventActivated, "active", -9, "unsubscribed",
			-5, "",
		},
		{
			"older unsubscribed is without effect", sub("active", -5, "", 0), EventUnsubscribed, "unsubscribed", -9,
			"active", -5, "",
		},
		{
			"equal instants: unsubscribed wins", sub("active", -5, "", 0), EventUnsubscribed, "unsubscribed", -5,
			"unsubscribed", -5, "",
		},
		{
			"equal instants: active loses", sub("unsubscribed", -5, "", 0), EventActivated, "active", -5, "unsubscribed",
			-5, "",
		},
		{
			"status decides, not the type", sub("active", -9, "", 0), EventActivated, "unsubscribed", -5, "unsubscribed",
			-5, "",
		},
		{"batch, newer active", sub("unsubscribed", -9, "", 0), batch, "active", -5, "active", -5, ""},
		{"batch, older", sub("unsubscribed", -5, "", 0), batch, "active", -9, "unsubscribed", -5, ""},

		{
			"word is set under a block", sub("active", -9, "complaint", -8), EventUnsubscribed, "unsubscribed", -5,
			"unsubscribed", -5, "complaint",
		},
		{
			"activation clears an older bounce", sub("active", -9, "bounced", -8), EventActivated, "active", -5, "active",
			-5, "",
		},
		{
			"activation of the word's own instant clears too", sub("active", -5, "bounced", -8), EventActivated, "active",
			-5, "active", -5, "",
		},
		{
			"activation older than the bounce", sub("active", -9, "bounced", -4), EventActivated, "active", -5, "active",
			-5, "bounced",
		},
		{
			"activation older than the word", sub("unsubscribed", -4, "bounced", -8), EventActivated, "active", -5,
			"unsubscribed", -4, "bounced",
		},
		{
			"preferences clear nothing", sub("active", -9, "bounced", -8), EventPreferences, "active", -5, "active", -5,
			"bounced",
		},
		{"a sync clears nothing", sub("active", -9, "bounced", -8), batch, "active", -5, "active", -5, "bounced"},
		{
			"activation lifts no complaint", sub("active", -9, "complaint", -8), EventActivated, "active", -5, "active",
			-5, "complaint",
		},
		{
			"activation lifts no suppression", sub("active", -9, "suppressed", -8), EventActivated, "active", -5, "active",
			-5, "suppressed",
		},

		{
			"bounced blocks, word stays", sub("active", -9, "", 0), EventPreferences, "bounced", -5, "active", -9,
			"bounced",
		},
		{
			"complaint beats bounced", sub("active", -9, "bounced", -8), batch, "complaint", -5, "active", -9,
			"complaint",
		},
		{
			"suppressed beats complaint", sub("active", -9, "complaint", -8), batch, "suppressed", -5, "active", -9,
			"suppressed",
		},
		{
			"bounced does not weaken complaint", sub("active", -9, "complaint", -8), batch, "bounced", -5, "active", -9,
			"complaint",
		},
		{
			"complaint does not weaken suppressed", sub("active", -9, "suppressed", -8), batch, "complaint", -5, "active",
			-9, "suppressed",
		},
		{"a late block holds", sub("active", -5, "", 0), batch, "complaint", -9, "active", -5, "complaint"},

		{
			"far ahead counts as now", sub("active", -9, "", 0), EventUnsubscribed, "unsubscribed", 301, "unsubscribed", 0,
			"",
		},
		{
			"a little ahead counts as it is", sub("active", -9, "", 0), EventUnsubscribed, "unsubscribed", 300,
			"unsubscribed", 300, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.before
			p := EventSubscriber{ID: "id", Email: "a@b.example", Status: string(tt.status)}
			s.Apply(p, tt.event, subNow+tt.at*sec, subNow)
			if s.MemberStatus != tt.word || s.MemberStatusAt != subNow+tt.wordAt*sec || s.Block != tt.block {
				t.Errorf("word %s at %d, block %q; want %s at %d, %q",
					s.MemberStatus, (s.MemberStatusAt-subNow)/sec, s.Block, tt.word, tt.wordAt, tt.block)
			}
			if s.Preferences != `{"n":1}` {
				t.Errorf("absent preferences must keep the stored ones, have %s", s.Preferences)
			}
		})
	}
}

// TestEverySubscriberStateAndVerb tests each combination of member status and block, and a new subscriber. It applies
// each event type, and a batch, with each status at an older, equal and newer instant. It also applies each report, and
// a full sync with and without the subscriber. The statuses come from the source, so a new status without a rule fails
// here.
func TestEverySubscriberStateAndVerb(t *testing.T) {
	statuses := sourceConstants(t, "subscriber.go", "Status", "Status")
	types := append(sourceConstants(t, "event.go", "Event", ""), "") // a batch has no event type
	effects := sourceConstants(t, "subscriber.go", "", "")
	if len(statuses) < 5 || len(types) < 4 || len(effects) < 5 {
		t.Fatalf("found only %q, %q, %q", statuses, types, effects)
	}
	for _, word := range []Status{StatusActive, StatusUnsubscribed} {
		for _, block := range []Status{NotBlocked, StatusBounced, StatusComplaint, StatusSuppressed} {
			before := sub(word, -9, block, -8)
			for _, status := range statuses {
				for _, eventType := range types {
					for _, at := range []Instant{-12, -9, -8, -5} {
						applyOne(t, before, eventType, Status(status), subNow+at*sec)
					}
				}
			}
			for _, effect := range effects {
				reportOne(t, before, effect)
			}
		}
	}
	for _, method := range sourceMethods(t, "subscriber.go", "Subscriber") {
		switch method {
		case "Apply", "Report": // above
		case "Absent": // TestAbsentFromASync
		case "Joined": // TestJoined
		case "Status", "Mailable": // these change nothing
		default:
			t.Errorf("nothing tries Subscriber.%s", method)
		}
	}
}

func applyOne(t *testing.T, before Subscriber, eventType string, status Status, at Instant) {
	t.Helper()
	s := before
	s.Apply(EventSubscriber{ID: "id", Email: "a@b.example", Status: string(status)}, eventType, at, subNow)
	word, wordAt, block := before.MemberStatus, before.MemberStatusAt, before.Block
	switch status {
	case StatusActive, StatusUnsubscribed:
		if at > wordAt || at == wordAt && status == StatusUnsubscribed {
			word, wordAt = status, at
		}
		if eventType == EventActivated && status == StatusActive && block == StatusBounced && at > before.BlockAt &&
			at >= before.MemberStatusAt {
			block = NotBlocked
		}
	case StatusBounced:
		if block == NotBlocked {
			block = StatusBounced
		}
	case StatusComplaint:
		if block != StatusSuppressed {
			block = StatusComplaint
		}
	case StatusSuppressed:
		block = StatusSuppressed
	default:
		t.Errorf("no rule for the status %s", status)
	}
	if s.MemberStatus != word || s.MemberStatusAt != wordAt || s.Block != block ||
		s.Mailable() != (word == StatusActive && block == NotBlocked) {
		t.Errorf("%s/%s, then %q %s at %d: %s at %d/%s, want %s at %d/%s", before.MemberStatus, before.Block, eventType,
			status, (at-subNow)/sec,
			s.MemberStatus, (s.MemberStatusAt-subNow)/sec, s.Block, word, (wordAt-subNow)/sec, block)
	}
}

func reportOne(t *testing.T, before Subscriber, effect string) {
	t.Helper()
	s, block := before, before.Block
	s.Report(effect, subNow, subNow)
	switch effect {
	case HardBounce:
		if block == NotBlocked {
			block = StatusBounced
		}
	case Complaint:
		if block != StatusSuppressed {
			block = StatusComplaint
		}
	case Suppression:
		block = StatusSuppressed
	case SoftBounce, DoubtfulBounce, Delivery: // a single one blocks no one
	default:
		t.Errorf("no rule for the report %s", effect)
	}
	if s.MemberStatus != before.MemberStatus || s.MemberStatusAt != before.MemberStatusAt || s.Block != block {
		t.Errorf("%s/%s, then %s: %s/%s, want %s/%s", before.MemberStatus, before.Block, effect, s.MemberStatus,
			s.Block, before.MemberStatus, block)
	}
}

func TestApplyToNobody(t *testing.T) {
	for _, tt := range []struct {
		status, shown Status
		mailable      bool
	}{
		{"active", "active", true},
		{"unsubscribed", "unsubscribed", false},
		{"bounced", "bounced", false},
		{"complaint", "complaint", false},
		{"suppressed", "suppressed", false},
	} {
		s := Subscriber{ListID: "l"}
		p := EventSubscriber{ID: "id", Email: "A@b.example", Status: string(tt.status), Preferences: `{"x":2}`}
		if !s.Apply(p, "", subNow-sec, subNow) {
			t.Errorf("%s: nothing changed", tt.status)
		}
		if s.Status() != tt.shown || s.Mailable() != tt.mailable || s.EmailKey != "a@b.example" ||
			s.Email != "A@b.example" || s.Preferences != `{"x":2}` || s.CreatedAt != subNow || s.ChangedAt != subNow {
			t.Errorf("%s: %+v", tt.status, s)
		}
	}
}

func TestApplyRepeatedChangesNothing(t *testing.T) {
	for _, status := range []Status{"active", "unsubscribed", "bounced", "complaint", "suppressed"} {
		s := sub("active", -9, "", 0)
		p := EventSubscriber{ID: "id", Email: "a@b.example", Status: string(status)}
		s.Apply(p, EventActivated, subNow-5*sec, subNow)
		if once := s; s.Apply(p, EventActivated, subNow-5*sec, subNow+sec) || s != once {
			t.Errorf("%s applied twice: %+v, once %+v", status, s, once)
		}
	}
}

// TestApplyInAnyOrder checks that the order in which two events arrive doesn't affect the member status.
func TestApplyInAnyOrder(t *testing.T) {
	type ev struct {
		status Status
		at     Instant
	}
	events := []ev{{"active", -5}, {"unsubscribed", -5}, {"active", -4}, {"unsubscribed", -3}, {"active", -2}}
	for _, a := range events {
		for _, b := range events {
			run := func(order ...ev) Subscriber {
				s := Subscriber{ListID: "l"}
				for _, e := range order {
					p := EventSubscriber{ID: "id", Email: "a@b.example", Status: string(e.status)}
					s.Apply(p, EventActivated, subNow+e.at*sec, subNow)
				}
				return s
			}
			if x, y := run(a, b), run(b, a); x.MemberStatus != y.MemberStatus || x.MemberStatusAt != y.MemberStatusAt {
				t.Errorf("%v then %v: %s; the other way round: %s", a, b, x.MemberStatus, y.MemberStatus)
			}
		}
	}
}

// TestJoined lists events in the order of arrival: the status, its instant, and the resulting start of the
// subscription.
func TestJoined(t *testing.T) {
	var s Subscriber
	for i, e := range []struct {
		status       Status
		at, joinedAt Instant
	}{
		{StatusUnsubscribed, -90, 0},
		{StatusActive, -80, subNow - 80*sec},
		{StatusActive, -70, subNow - 80*sec},
		{StatusBounced, -65, subNow - 80*sec},
		{StatusUnsubscribed, -60, subNow - 80*sec},
		{StatusActive, -70, subNow - 80*sec}, // arrives late
		{StatusActive, -50, subNow - 50*sec},
		{StatusUnsubscribed, -55, subNow - 50*sec}, // arrives late
	} {
		s.Apply(EventSubscriber{ID: "1", Email: "a@b.example", Status: string(e.status)}, "", subNow+e.at*sec, subNow)
		if s.JoinedAt != e.joinedAt {
			t.Errorf("event %d, %s: joined at %d, want %d", i, e.status, s.JoinedAt, e.joinedAt)
		}
	}
	if s.Joined() != s.JoinedAt {
		t.Errorf("joined at %d, want %d", s.Joined(), s.JoinedAt)
	}
	var first Subscriber
	first.Apply(EventSubscriber{ID: "1", Email: "a@b.example", Status: string(StatusActive)}, "", subNow-sec, subNow)
	if first.JoinedAt != 0 || first.Joined() != subNow {
		t.Errorf("the first subscription started at %d, %d", first.JoinedAt, first.Joined())
	}
}

func TestAbsentFromASync(t *testing.T) {
	tests := []struct {
		name   string
		s      Subscriber
		named  int64
		absent bool
	}{
		{"active, older", sub("active", -9, "", 0), 0, true},
		{"active, blocked", sub("active", -9, "complaint", -8), 0, true},
		{"changed since", sub("active", -4, "", 0), 0, false},
		{"of the same instant", sub("active", -5, "", 0), 0, true},
		{"named by it", sub("active", -9, "", 0), 7, false},
		{"named by a later one", sub("active", -9, "", 0), 8, false},
		{"named by an earlier one", sub("active", -9, "", 0), 6, true},
		{"gone already", sub("unsubscribed", -9, "", 0), 0, false},
	}
	for _, tt := range tests {
		tt.s.SyncNo = tt.named
		before := tt.s
		if got := tt.s.Absent(7, subNow-5*sec, subNow); got != tt.absent {
			t.Errorf("%s: absent = %v", tt.name, got)
		} else if got && (tt.s.MemberStatus != "unsubscribed" || tt.s.MemberStatusAt != subNow-5*sec ||
			tt.s.Block != before.Block) {
			t.Errorf("%s: %+v", tt.name, tt.s)
		} else if !got && tt.s != before {
			t.Errorf("%s: changed", tt.name)
		}
	}
}

func TestReports(t *testing.T) {
	tests := []struct {
		name    string
		before  Subscriber
		effects []string
		gap     Instant // seconds between them
		block   Status
	}{
		{"hard bounce", sub("active", -9, "", 0), []string{HardBounce}, 0, "bounced"},
		{"hard bounce under a complaint", sub("active", -9, "complaint", -8), []string{HardBounce}, 0, "complaint"},
		{"complaint", sub("active", -9, "bounced", -8), []string{Complaint}, 0, "complaint"},
		{"suppression", sub("active", -9, "", 0), []string{Suppression}, 0, "suppressed"},
		{"delivery", sub("active", -9, "bounced", -8), []string{Delivery}, 0, "bounced"},
		{"four soft bounces in weeks", sub("active", -9, "", 0), soft(4), 864000, ""},
		{"five in an hour", sub("active", -9, "", 0), soft(5), 900, ""},
		{"five in three days", sub("active", -9, "", 0), soft(5), 64800, "bounced"},
		{"six, the last late enough", sub("active", -9, "", 0), soft(6), 60000, "bounced"},
		{"one doubtful", sub("active", -9, "", 0), []string{DoubtfulBounce}, 0, ""},
		{"two doubtful at once", sub("active", -9, "", 0), []string{DoubtfulBounce, DoubtfulBounce}, 0, "bounced"},
		{"two doubtful in a month", sub("active", -9, "", 0), []string{DoubtfulBounce, DoubtfulBounce}, 30 * 86400, "bounced"},
		{"two doubtful in half a year", sub("active", -9, "", 0), []string{DoubtfulBounce, DoubtfulBounce}, 180 * 86400, ""},
		{"one doubtful, one soft", sub("active", -9, "", 0), []string{DoubtfulBounce, SoftBounce}, 86400, ""},
		{"doubtful, delivered, doubtful", sub("active", -9, "", 0), []string{DoubtfulBounce, Delivery, DoubtfulBounce}, 86400, ""},
		{"doubtful under a complaint", sub("active", -9, "complaint", -8), []string{DoubtfulBounce, DoubtfulBounce}, 9, "complaint"},
		{"nothing against the address", sub("active", -9, "", 0), make([]string, 9), 864000, ""},
		{"a delivery between", sub("active", -9, "", 0), append(append(soft(4), Delivery), soft(4)...), 864000, ""},
	}
	for _, tt := range tests {
		at := subNow
		for _, e := range tt.effects {
			tt.before.Report(e, at, at)
			at += tt.gap * sec
		}
		if tt.before.Block != tt.block {
			t.Errorf("%s: block %q, want %q", tt.name, tt.before.Block, tt.block)
		}
		if tt.before.MemberStatus != "active" {
			t.Errorf("%s: the word changed", tt.name)
		}
	}
}

func soft(n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = SoftBounce
	}
	return s
}
