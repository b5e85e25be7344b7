package audience_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"newsletterd/core"
)

// mailing is a campaign that was sent to a subscriber, as the raw tables show it.
type mailing struct {
	At      core.Instant `db:"at"`
	Tracked int          `db:"tracked"`
	Marks   core.Marks   `db:"marks"`
}

// expectEngaged decides by the plain definition whether someone opened or clicked: 1 means yes, 0 means no, and -1
// means undecided.
func expectEngaged(all []mailing, clicked bool, last int, since core.Instant) int {
	received, result := 0, 0
	for _, l := range all { // newest first
		switch {
		case clicked && l.Tracked&2 == 0, !clicked && l.Tracked&1 == 0, l.Tracked&4 != 0:
			continue
		case last > 0 && received == last, l.At < since:
			continue
		}
		received++
		byHand := l.Marks&core.MarkClicked != 0 && l.Marks&core.MarkMachineClicked == 0
		class := l.Marks.Opens()
		switch {
		case byHand, !clicked && class == core.ClassPerson:
			return 1
		case !clicked && class == core.ClassUnclear:
			result = -1
		}
	}
	if received == 0 {
		return -1
	}
	return result
}

// Conditions on opens and clicks agree with the raw tables. Campaigns without tracking, or with totals only, don't
// count. Nor do campaigns from before a subscription began, or to other people. A person whose opens are unknown
// matches neither the condition nor its opposite.
func TestOpensAndClicks(t *testing.T) {
	w := newWorld(t)
	rng := rand.New(rand.NewPCG(5, 7))
	l, other := w.NewList(), w.NewList()
	w.Readers(l, 240)
	w.Readers(other, 5)
	choices := []core.Marks{
		0, 0, 0, core.MarkOpened | core.MarkReadByPerson, core.MarkOpened | core.MarkReadUnclear,
		core.MarkOpened | core.MarkReadByScanner, core.MarkOpened | core.MarkMachineOpened, core.MarkOpened,
		core.MarkClicked, core.MarkClicked | core.MarkMachineClicked,
	}
	for i := range 14 {
		lists := []core.List{l}
		if i%5 == 4 { // the person is reached through a further list
			lists = []core.List{other, l}
		}
		tracking := []string{core.TrackingPersons, core.TrackingPersons, core.TrackingOff, core.TrackingTotals}[i%4]
		d := w.draft(lists, func(f *core.CampaignFields) { f.Tracking = tracking })
		j := w.Start(w.SendDraft(&d))
		for seq := range w.number("SELECT count(*) FROM recipient WHERE job_no = ?", j.No) {
			state := 2
			if rng.IntN(6) == 0 {
				state = 3 // some people didn't get it
			}
			w.sql("UPDATE recipient SET state = ?, marks = ? WHERE job_no = ? AND seq = ?", state,
				int64(choices[rng.IntN(len(choices))]), j.No, seq+1)
		}
		w.sql("UPDATE send_job SET status = 'completed', finished_at = ?, tracked = ? WHERE no = ?", int64(w.Time()),
			[]int{3, 1, 0, 7}[i%4], j.No)
		w.Seeder = w.At(w.Time() + day)
	}
	w.sql("UPDATE subscriber SET joined_at = ? WHERE list_id = ? AND id < '4'", int64(start+6*day), l.ID)
	w.sql("UPDATE subscriber SET joined_at = ? WHERE list_id = ? AND id > 'f'", int64(w.Time()), l.ID)

	var subs []core.Subscriber
	w.Must(w.All(t.Context(), &subs, "SELECT id, email, joined_at, created_at FROM subscriber WHERE list_id = ?", l.ID))
	history := map[core.Email][]mailing{}
	for _, s := range subs {
		var all []mailing
		w.Must(w.All(t.Context(), &all, `SELECT j.started_at AS at, j.tracked, r.marks FROM recipient AS r
			JOIN send_job AS j ON j.no = r.job_no WHERE r.subscriber_id = ? AND r.state = 2 AND j.started_at >= ?
			ORDER BY j.no DESC`, s.ID, int64(s.Joined())))
		history[s.Email] = all
	}
	today := w.Time() - 9*core.Instant(60*60*1000) // midnight, because days begin in UTC
	seen := [3]int{}
	for range 40 {
		clicked, last, days := rng.IntN(2) == 0, 0, 0
		since := core.Instant(0)
		head, test := "opened", ""
		if clicked {
			head = "clicked"
		}
		if rng.IntN(2) == 0 {
			last = 1 + rng.IntN(12)
			test = fmt.Sprintf(`{"last":%d}`, last)
		} else {
			days = rng.IntN(16)
			since = today - core.Instant(days)*day
			test = fmt.Sprintf(`{"within_days":%d}`, days)
		}
		var matching, opposite []core.Email
		for _, s := range subs {
			result := expectEngaged(history[s.Email], clicked, last, since)
			seen[result+1]++
			switch result {
			case 1:
				matching = append(matching, s.Email)
			case 0:
				opposite = append(opposite, s.Email)
			}
		}
		rule := fmt.Sprintf(`{%q:%s}`, head, test)
		for rule, want := range map[string][]core.Email{rule: matching, `{"not":` + rule + `}`: opposite} {
			q := w.question(rule, l)
			got := w.people(q, 20+rng.IntN(300))
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d people, want %d", rule, len(got), len(want))
			}
			if n := w.exact(q); n != int64(len(want)) {
				t.Errorf("%s counts %d, want %d", rule, n, len(want))
			}
		}
	}
	if slices.Min(seen[:]) < 300 {
		t.Errorf("too few of a kind: %v", seen)
	}
}

// If opens and clicks aren't tracked per subscriber, a rule about them can't be decided. If subscribers have to agree
// to tracking, it can't be decided for those who haven't.
func TestOpensThatAreNotKnown(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	w.tell(l, core.StatusActive, "agrees@user.example", `{"_tracking":true}`)
	w.tell(l, core.StatusActive, "silent@user.example", `{}`)
	d := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.Tracking = core.TrackingPersons })
	j := w.Start(w.SendDraft(&d))
	w.sql("UPDATE recipient SET state = 2 WHERE job_no = ?", j.No)
	w.Seeder = w.At(w.Time() + day)
	silent := w.question(`{"not":{"opened":{"last":3}}}`, l)
	if n := w.exact(silent); n != 2 {
		t.Errorf("%d haven't opened, want 2", n)
	}
	w.ChangeTenant(l.TenantID, core.TenantInput{TrackingConsent: new(true)})
	if got := w.people(silent, 10); len(got) != 1 || got[0] != "agrees@user.example" {
		t.Errorf("haven't opened, of those who agree: %v", got)
	}
	m, err := w.WhySegment(t.Context(), w.question(`{"opened":{"last":3}}`, l),
		w.SubscriptionIDs(l.ID).Of(core.Email("silent@user.example").Key()))
	if err != nil || m.Match || len(m.Conditions) != 1 || !m.Conditions[0].Unknown {
		t.Errorf("%+v, %v", m, err)
	}
	for _, in := range []core.TenantInput{{TotalsOnly: new(true)}, {NoTracking: new(true)}} {
		w.ChangeTenant(l.TenantID, in)
		if _, err := w.CountSegment(t.Context(), silent); core.KindOf(err) != core.Conflict {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

// A campaign that excludes a segment goes to everyone outside the segment, including people whose opens are unknown.
func TestUnknownPeopleAreNotExcluded(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	w.Readers(l, 3)
	g := w.segment("Silent", `{"not":{"opened":{"last":1}}}`)
	d := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.Tracking = core.TrackingPersons })
	j := w.Start(w.SendDraft(&d))
	w.sql("UPDATE recipient SET state = 2, marks = iif(seq = 1, ?, 0) WHERE job_no = ?", int64(core.MarkReadUnclear),
		j.No)
	w.Finish(j)
	w.Seeder = w.At(w.Time() + day)
	w.tell(l, core.StatusActive, "new@user.example", `{}`)
	next := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.ExcludeSegmentIDs = []string{g.ID} })
	if got := w.reached(w.Start(w.SendDraft(&next))); len(got) != 2 || !slices.Contains(got, "new@user.example") {
		t.Errorf("%v", got)
	}
	only := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.SegmentID = g.ID })
	if got := w.reached(w.Start(w.SendDraft(&only))); len(got) != 2 || slices.Contains(got, "new@user.example") {
		t.Errorf("%v", got)
	}
}
