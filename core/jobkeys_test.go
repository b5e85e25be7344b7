package core

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestJobKeys tests keys that callers send instead of a known key, and keys that they add.
func TestJobKeys(t *testing.T) {
	for _, test := range []struct {
		in      JobObject
		key     string
		meant   string // key named in the message; empty: none
		refused bool
	}{
		{JobBody, "schedule_at", "scheduled_at", true},
		{JobBody, "scheduleAt", "scheduled_at", true},
		{JobBody, "ScheduledAt", "scheduled_at", true},
		{JobBody, "scheduled-at", "scheduled_at", true},
		{JobBody, "shceduled_ta", "scheduled_at", true}, // two typing errors
		{JobBody, "schduledate", "scheduled_at", true},
		{JobBody, "sched", "", false},
		{JobBody, "send_at", "scheduled_at", true},
		{JobBody, "timezone", "scheduled_at", true},
		{JobBody, "time_zone", "scheduled_at", true},
		{JobBody, "segment", "segment_id", true},
		{JobBody, "segments", "segment_id", true},
		{JobBody, "segment_ids", "segment_id", true},
		{JobBody, "segment_rule", "", true},
		{JobBody, "filter", "", true},
		{JobBody, "list_ids", "list_id", true},
		{JobBody, "listids", "list_id", true},
		{JobBody, "lists", "list_id", true},
		{JobBody, "from", "", true},
		{JobBody, "from_email", "", true},
		{JobBody, "fromName", "", true},
		{JobBody, "reply_to", "", true},
		{JobBody, "replyTo", "", true},
		{JobBody, "attachments", "", true},
		{JobBody, "headers", "", true},
		{JobBody, "to", "", true},
		{JobBody, "cc", "", true},
		{JobBody, "BCC", "", true},
		{JobBody, "html", "body_html", true},
		{JobBody, "body_htm", "body_html", true},
		{JobBody, "subjekt", "subject", true},
		{JobBody, "subjeckts", "", false}, // two typing errors in seven letters
		{JobBody, "Name", "name", true},
		{JobBody, "nam", "", false}, // a key with under five letters must match, except for case and underscores
		{JobBody, "names", "", false},
		{JobBody, "window_ends", "window_end", true},
		{JobBody, "trackings", "tracking", true},
		{JobBody, "track_opens", "tracking.open", true},
		{JobBody, "mailer_template_name", "template.mailer_template_name", true},
		{JobBody, "dry_run", "", true},
		{JobBody, "status", "", true},
		{JobBody, "state", "", true},
		{JobBody, "sandbox", "", true},
		{JobBody, "sandbox_mode", "", true},
		{JobBody, "when", "scheduled_at", true},
		{JobBody, "only", "", true},
		{JobBody, "onlyTo", "", true},
		{JobBody, "query", "", true},
		{JobBody, "limit_to", "", true},
		{JobBody, "dry", "", true},
		{JobBody, "delay_minutes", "scheduled_at", true},
		{JobBody, "start_date", "scheduled_at", true},
		{JobBody, "publish", "scheduled_at", true},
		{JobBody, "isDraft", "", true},
		{JobBody, "note", "", false},
		{JobBody, "external_id", "", false},
		{JobBody, "metadata", "", false},
		{JobBody, "", "", false},
		{JobTracking, "Open", "open", true},
		{JobTracking, "opens", "open", true},
		{JobTracking, "clik", "click", true},
		{JobTracking, "clicks", "click", true},
		{JobTracking, "schedule_at", "", false},
		{JobTracking, "note", "", false},
	} {
		warnings, err := JudgeJobKeys(test.in, []string{test.key})
		if (err != nil) != test.refused || (len(warnings) == 1) == test.refused {
			t.Errorf("%q: %v, %q", test.key, err, warnings)
			continue
		}
		if !test.refused {
			continue
		}
		e := err.(*Error)
		if e.Kind != Invalid || e.Field != test.key || !strings.HasPrefix(e.Message, "Unknown field "+test.key+".") {
			t.Errorf("%q: %+v", test.key, e)
		}
		if meant := "Did you mean " + test.meant + "?"; (test.meant != "") != strings.HasSuffix(e.Message, meant) {
			t.Errorf("%q: %s", test.key, e.Message)
		}
	}
	if _, err := JudgeJobKeys(JobBody, make([]string, maxUnknownKeys+1)); err == nil {
		t.Error("any number of unknown keys passes")
	}
}

// TestKnownJobKeys checks that no known key is refused because of its meaning.
func TestKnownJobKeys(t *testing.T) {
	for in, known := range jobKeys {
		for _, key := range known {
			if meant, refused := judgeJobKey(JobObject(in), key); !refused || meant != key {
				t.Errorf("%s is taken for %q", key, meant)
			}
		}
	}
}

func TestScheduledInPast(t *testing.T) {
	const now = Instant(1_800_000_000_000)
	for at, past := range map[Instant]bool{
		0: false, now: false, now + 1: false, now - 60_000: false, now - 60_001: true,
		1: true,
	} {
		if n := (NewJob{ScheduledAt: at}); n.ScheduledInPast(now) != past {
			t.Errorf("%d: %v", at, !past)
		}
	}
}

// FuzzJobKeys checks that the message about any key is short and readable, and that a long key with one wrong letter is
// refused.
func FuzzJobKeys(f *testing.F) {
	for _, key := range []string{
		"", "schedule_at", "segment", "note", "\xff", strings.Repeat("ä", 100), "_-_",
		"LISTIDS",
	} {
		f.Add(key, 3)
	}
	f.Fuzz(func(t *testing.T, key string, at int) {
		if !utf8.ValidString(key) {
			return
		}
		for _, in := range []JobObject{JobBody, JobTracking} {
			warnings, err := JudgeJobKeys(in, []string{key})
			told := strings.Join(warnings, "")
			if e, ok := err.(*Error); ok {
				told = e.Message
			}
			if told == "" || len(told) > 4*maxKeyShown || !utf8.ValidString(told) {
				t.Errorf("%q: %q", key, told)
			}
		}
		const known = "scheduled_at"
		at = (at%len(known) + len(known)) % len(known)
		for _, slip := range []string{known[:at] + known[at+1:], known[:at] + "x" + known[at:], known[:at] + "x" +
			known[at+1:]} {
			if _, err := JudgeJobKeys(JobBody, []string{slip}); err == nil {
				t.Errorf("%q passes", slip)
			}
		}
	})
}
