package report

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail"
)

// classOf returns the meaning of an email's reports for the address.
func classOf(reports []core.ProviderReport) string {
	if len(reports) == 0 {
		return "nothing"
	}
	switch r := &reports[0]; r.Effect() {
	case core.HardBounce:
		return "hard"
	case core.DoubtfulBounce:
		return "doubtful"
	case core.SoftBounce:
		return "soft"
	case "":
		return "sender"
	default:
		return r.Event.Type
	}
}

// TestBounceCorpus checks that at least 95% of the emails about a missing recipient are recognized, and none of the
// others are. The corpus contains one email of each mail server and kind.
func TestBounceCorpus(t *testing.T) {
	n := mail.NewIdent(make([]byte, 32))
	_, titles, mails := blocks(t, "bounces/corpus.txt")
	if len(mails) < 60 {
		t.Fatalf("%d mails", len(mails))
	}
	fill := strings.NewReplacer("{verp}", n.Bounce(3, 4)+"@bounce.example.com", "{message}", n.Message(3, 4)+"@example.com")
	gone, known := 0, 0
	for i, text := range mails {
		title, want, ok := strings.Cut(titles[i], " -> ")
		if !ok {
			t.Fatalf("%s: no class", title)
		}
		reports := ParseBounce("", []byte(strings.ReplaceAll(fill.Replace(text), "\n", "\r\n")), hookNow)
		got := classOf(reports)
		if got != want || len(reports) > 1 {
			t.Errorf("%s: %s (%d reports), want %s", title, got, len(reports), want)
		}
		for _, r := range reports {
			if job, seq := n.Recipient(r.Names...); job != 3 || seq != 4 {
				t.Errorf("%s: names %q", title, r.Names)
			}
		}
		isGone := want == "hard" || want == "doubtful"
		wasKnown := got == "hard" || got == "doubtful"
		if isGone {
			gone++
		}
		if isGone && wasKnown {
			known++
		}
		if !isGone && wasKnown {
			t.Errorf("%s would remove a subscriber", title)
		}
	}
	if known*100 < gone*95 {
		t.Errorf("%d of %d are known", known, gone)
	}
	t.Logf("%d mails, %d of %d permanent failures of recipients known", len(mails), known, gone)
}
