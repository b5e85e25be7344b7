package audience_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/people"
)

// Conditions on consent and source agree with the ledger, which the test reads separately. Only the newest subscription
// counts, and a request is not a consent. An imported consent is as old as its evidence states.
func TestConsentAndSource(t *testing.T) {
	w := newWorld(t)
	rng := rand.New(rand.NewPCG(3, 8))
	l := w.NewList(func(in *core.ListInput) { in.Language = new("de") })
	fed := w.NewList() // has no ledger
	w.Readers(l, 150)
	w.Readers(fed, 4)
	w.sql("DELETE FROM consent")
	var subs []core.Subscriber
	w.Must(w.All(t.Context(), &subs, "SELECT id, email FROM subscriber WHERE list_id = ?", l.ID))
	type fact struct {
		days   int // days ago; -1 means no consent
		source string
	}
	facts := map[core.Email]*fact{}
	for _, s := range subs {
		f := &fact{days: -1}
		facts[s.Email] = f
		ago := 900
		for generation := range rng.IntN(3) {
			*f = fact{days: -1}
			for range rng.IntN(4) {
				what := []string{"requested", "confirmed", "imported", "unsubscribed", "tracking_agreed"}[rng.IntN(5)]
				ago -= 1 + rng.IntN(60)
				source := []string{"", "Fair", "form"}[rng.IntN(3)]
				evidence, days := "", ago
				if what == "imported" && rng.IntN(2) == 0 {
					days = ago + rng.IntN(400)
					at := (w.Time() - core.Instant(days)*day).Time()
					evidence = "opted in " + at.Format("2006-01-02T15:04:05Z") + " from 203.0.113.9"
				}
				w.sql(`INSERT INTO consent (list_id, subscription_id, at, what, source, generation, reason)
					VALUES (?, ?, ?, ?, ?, ?, ?)`, l.ID, s.ID, int64(w.Time()-core.Instant(ago)*day), what, source,
					generation+1, evidence)
				consents := what == "confirmed" || what == "imported"
				if (consents || what == "requested") && f.source == "" {
					f.source = source
				}
				if consents && (f.days < 0 || days < f.days) {
					f.days = days
				}
			}
			if f.days < 0 && f.source == "" { // then the ledger has no relevant entry for this subscription
				w.sql("DELETE FROM consent WHERE list_id = ? AND subscription_id = ?", l.ID, s.ID)
			}
		}
	}
	for range 40 {
		n := rng.IntN(900)
		for text, holds := range map[string]func(*fact) bool{
			fmt.Sprintf(`{"consented":{"before_days":%d}}`, n): func(f *fact) bool { return f.days > n },
			fmt.Sprintf(`{"not":{"consented":{"within_days":%d}}}`, n): func(f *fact) bool {
				return f.days < 0 || f.days > n
			},
			fmt.Sprintf(`{"all":[{"source":["FAIR"]},{"consented":{"within_days":%d}}]}`, n): func(f *fact) bool {
				return f.source == "Fair" && f.days >= 0 && f.days <= n
			},
			`{"not":{"source":["Fair","form"]}}`: func(f *fact) bool { return f.source == "" },
		} {
			var want []core.Email
			for email, f := range facts {
				if holds(f) {
					want = append(want, email)
				}
			}
			got := w.people(w.question(text, l), 100)
			slices.Sort(got)
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("%s: %d, want %d", text, len(got), len(want))
			}
		}
	}
	for text, want := range map[string]int64{
		`{"language":["de"]}`: 150, `{"language":["en"]}`: 4, `{"not":{"source":["x"]}}`: 154,
		`{"any":[{"consented":{"before_days":0}},{"language":["fr"]}]}`: int64(len(w.people(w.question(
			`{"consented":{"before_days":0}}`, l), 1000))),
	} {
		if got := w.exact(w.question(text, l)) + w.exact(w.question(text, fed)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// A condition on a link matches recipients of the campaign who clicked it themselves. It can't be decided if the link
// doesn't exist, or if clicks weren't tracked or are no longer stored.
func TestClickedLink(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	w.Readers(l, 12)
	d := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.Tracking = core.TrackingPersons })
	j := w.Start(w.SendDraft(&d))
	w.sql("UPDATE recipient SET state = CASE WHEN seq > 10 THEN 3 ELSE 2 END WHERE job_no = ?", j.No)
	w.sql("UPDATE send_job SET status = 'completed', finished_at = ?, tracked = 3, clicked = 4 WHERE no = ?",
		int64(w.Time()), j.No)
	for no := range 2 {
		w.sql("INSERT INTO link (job_no, no, url) VALUES (?, ?, 'https://acme.example/')", j.No, no+1)
	}
	click := func(seq, link int, class core.Class) {
		w.sql(`INSERT INTO engagement (job_no, seq, link_no, first_at, last_at, times, machine, class)
			VALUES (?, ?, ?, 1, 1, 1, 0, ?)`, j.No, seq, link, int(class))
	}
	click(1, 1, core.ClassPerson)
	click(2, 1, core.ClassScanner)
	click(3, 2, core.ClassPerson)
	click(4, 1, core.ClassPerson)
	rule := func(link int) string {
		return fmt.Sprintf(`{"clicked_link":{"campaign":%q,"link":%d}}`, j.CampaignID, link)
	}
	for text, want := range map[string]int64{
		rule(1): 2, rule(2): 1, `{"not":` + rule(1) + `}`: 8, `{"any":[` + rule(1) + `,` + rule(2) + `]}`: 3,
		`{"any":[{"not":` + rule(2) + `},{"not":{"domain":"none.example"}}]}`: 12,
	} {
		if got := w.exact(w.question(text, l)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	undecided := func(text string) {
		t.Helper()
		if _, err := w.CountSegment(t.Context(), w.question(text, l)); !core.IsUndecided(err) {
			t.Errorf("%s: %v", text, err)
		}
	}
	undecided(`{"not":` + rule(3) + `}`)
	undecided(fmt.Sprintf(`{"clicked_link":{"campaign":%q,"link":1}}`, core.NewID()))
	w.sql("UPDATE send_job SET tracked = 7 WHERE no = ?", j.No)
	undecided(rule(1))
	w.sql("UPDATE send_job SET tracked = 3 WHERE no = ?", j.No)
	// Housekeeping deletes 500 rows at a time, starting with the oldest recipients.
	w.sql(`INSERT INTO engagement (job_no, seq, link_no, first_at, last_at, times, machine)
		WITH n (i) AS (SELECT 20 UNION ALL SELECT i + 1 FROM n WHERE i < 1019) SELECT ?, i, 0, 1, 1, 1, 0 FROM n`, j.No)
	more, err := w.Housekeeping(t.Context(), people.Retention{Tracking: time.Hour}, w.Time()+day)
	if left := w.number("SELECT count(*) FROM engagement"); err != nil || !more || left == 0 || left >= 1000 {
		t.Fatalf("%d opens and clicks are left: %v, %v", left, more, err)
	}
	undecided(rule(1))
	undecided(`{"not":` + rule(2) + `}`)
	// If everyone who clicked was erased, no one who is left has clicked.
	w.sql("UPDATE send_job SET tracked = 3 WHERE no = ?", j.No)
	w.sql("DELETE FROM engagement")
	if got := w.exact(w.question(rule(1), l)); got != 0 {
		t.Errorf("%d clicks of erased people", got)
	}
}
