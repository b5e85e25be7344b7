package mail

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzIdent checks that invented names are refused, and that each accepted name has only one spelling, except for the
// case of an address and its dot.
func FuzzIdent(f *testing.F) {
	n, other := NewIdent(bytes.Repeat([]byte{1}, 32)), NewIdent(bytes.Repeat([]byte{2}, 32))
	for _, s := range []string{
		n.Message(1, 2), n.Bounce(1, 1<<62), n.Unsubscribe(3, 4), n.Track(1, 2, 3), n.Poll(1, 2, Answer{3, 4}),
		other.Message(1, 2), "b+.", "<@>", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if job, seq, ok := n.ParseMessage(name); ok && !strings.Contains(name, n.Message(job, seq)) {
			t.Errorf("message %q is %d, %d", name, job, seq)
		}
		dotless := func(s string) string { return strings.Replace(strings.ToLower(s), ".", "", 1) }
		if kind, job, seq, ok := n.ParseLocal(name); ok && dotless(n.local(kind, job, seq)) != dotless(name) {
			t.Errorf("local part %q is %c, %d, %d", name, kind, job, seq)
		}
		if job, seq, no, ok := n.ParseTrack(name); ok && n.Track(job, seq, no) != name {
			t.Errorf("link %q is %d, %d, %d", name, job, seq, no)
		}
		if job, seq, a, ok := n.ParsePoll(name); ok && n.Poll(job, seq, a) != name {
			t.Errorf("answer %q is %d, %d, %v", name, job, seq, a)
		}
		if _, _, ok := other.ParseMessage(name); ok && !strings.Contains(name, other.Message(1, 2)) {
			t.Errorf("%q was made without the key", name)
		}
	})
}

func TestIdentRecipient(t *testing.T) {
	n := NewIdent(make([]byte, 32))
	message, bounce := n.Message(7, 8), n.Bounce(7, 9)
	for name, seq := range map[string]int64{
		message: 8, "<" + message + "@mail.example>": 8, " <" + message + "@mail.example> ": 8,
		bounce + "@bounce.example": 9, strings.ToUpper(bounce) + "@bounce.example": 9, "": 0, "<>": 0,
		"b+aaaa.bbbb@x": 0,
	} {
		if _, got := n.Recipient("no", name); got != seq {
			t.Errorf("%q: recipient %d, want %d", name, got, seq)
		}
	}
}
