package audience_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
)

// judgedInSteps evaluates the rule for subscribers in steps of the given size, and skips some steps.
func (w *world) judgedInSteps(m *campaigns.RuleMatch, subs []core.Subscriber, size, skip int) (found []string) {
	w.Helper()
	step := 0
	for part := range slices.Chunk(subs, size) {
		if step++; skip > 0 && step%skip == 0 {
			continue
		}
		matches, err := m.Among(w.DB, w.Reads(w.Context()), part)
		w.Must(err)
		for i := range part {
			if matches[i] {
				found = append(found, part[i].ID)
			}
		}
	}
	return found
}

// The result of a rule doesn't depend on the number of subscribers evaluated at a time, nor on whether other lists were
// read before. Some recipients have left the list, some people joined later, and some get campaigns through another
// list.
func TestRulesJudgeInSteps(t *testing.T) {
	w := newWorld(t)
	rng := rand.New(rand.NewPCG(4, 4))
	l, other := w.NewList(), w.NewList()
	w.Readers(l, 400)
	w.Readers(other, 150)
	var jobs []core.SendJob
	for i := range 4 {
		lists := []core.List{l}
		if i == 3 {
			lists = []core.List{other, l}
		}
		d := w.draft(lists, func(f *core.CampaignFields) { f.Tracking = core.TrackingPersons })
		j := w.Start(w.SendDraft(&d))
		w.sql("INSERT INTO link (job_no, no, url) VALUES (?, 1, 'https://acme.example/')", j.No)
		for seq := range w.number("SELECT count(*) FROM recipient WHERE job_no = ?", j.No) {
			marks := []core.Marks{0, 1, core.MarkOpened | core.MarkReadByPerson, core.MarkOpened | core.MarkReadUnclear}
			state := 2 + rng.IntN(7)/6
			w.sql("UPDATE recipient SET state = ?, marks = ?, ambiguous = ? WHERE job_no = ? AND seq = ?", state,
				int64(marks[rng.IntN(4)]), rng.IntN(9)/8, j.No, seq+1)
			if rng.IntN(5) == 0 {
				w.sql(`INSERT INTO engagement (job_no, seq, link_no, first_at, last_at, times, machine, class)
					VALUES (?, ?, 1, 1, 1, 1, 0, ?)`, j.No, seq+1, int(core.ClassPerson))
			}
		}
		w.sql(`UPDATE send_job SET status = 'completed', sent = recipients, finished_at = ?, tracked = 3, clicked = 9
			WHERE no = ?`,
			int64(w.Time()), j.No)
		jobs = append(jobs, j)
		w.Seeder = w.At(w.Time() + day)
	}
	w.sql("DELETE FROM subscriber WHERE list_id = ? AND (id LIKE '%3' OR id BETWEEN '4' AND '7')", l.ID)
	w.Readers(l, 40, func(k int) core.Email { return core.Email(fmt.Sprintf("late%d@user.example", k)) })
	var subs []core.Subscriber
	w.Must(w.All(t.Context(), &subs, `SELECT list_id, id, email_key, email, preferences, joined_at, created_at, word_at
		FROM subscriber WHERE list_id = ? ORDER BY id`, l.ID))
	for i := range subs { // texts in the ledger can contain anything
		if i%2 == 0 {
			w.sql(`INSERT INTO consent (list_id, subscription_id, at, what, source, generation, reason)
				VALUES (?, ?, ?, 'imported', ?, 1, ?)`, l.ID, subs[i].ID, int64(w.Time()-core.Instant(i)*day),
				[]string{"a\x1eb\x1fc", "ü", ""}[i%3], []string{"", "x\x1f\x1e 2024-01-02"}[i/2%2])
		}
	}
	w.judgeTheSame(subs, jobs, other)
	w.Pages()
	if n := w.number("SELECT count(*) FROM recipient_page"); n != 5 { // two for the job to two lists
		t.Errorf("%d pages", n)
	}
	w.judgeTheSame(subs, jobs, other)
}

// judgeTheSame judges subscribers in steps of several sizes.
func (w *world) judgeTheSame(subs []core.Subscriber, jobs []core.SendJob, other core.List) {
	w.Helper()
	own := subs[0].ListID
	for _, text := range []string{
		fmt.Sprintf(`{"received":%q}`, jobs[0].CampaignID), fmt.Sprintf(`{"not":{"received":%q}}`, jobs[3].CampaignID),
		`{"opened":{"last":2}}`, `{"opened":{"within_days":3}}`, fmt.Sprintf(`{"on_list":%q}`, other.ID),
		fmt.Sprintf(`{"clicked_link":{"campaign":%q,"link":1}}`, jobs[1].CampaignID),
		fmt.Sprintf(`{"clicked_link":{"campaign":%q,"link":1}}`, jobs[3].CampaignID),
		`{"source":"a\u001eb\u001fc"}`, `{"source":"ü"}`, `{"consented":{"before_days":100}}`,
	} {
		rule := new(core.Rule)
		if text[2] == 's' { // a rule can't contain control characters, but the ledger can
			rule.Source = []string{map[bool]string{true: "ü", false: "a\x1eb\x1fc"}[len(text) < 20]}
		} else {
			rule = w.question(text).Rule
		}
		match := func() *campaigns.RuleMatch {
			m, err := campaigns.MatchRule(w.Reads(w.Context()), w.TenantID, rule, w.Time())
			w.Must(err)
			return m
		}
		want := w.judgedInSteps(match(), subs, len(subs), 0)
		if len(want) < 3 || len(want) > len(subs)-3 {
			w.Errorf("%s: %d of %d match", text, len(want), len(subs))
		}
		set := match()
		w.Must(set.Remember(w.Context(), w.DB, []string{own}, 1_000_000,
			map[string]core.ListCounts{other.ID: {Mailable: 150}}))
		for _, size := range []int{1, 2, 9, 50} {
			if got := w.judgedInSteps(match(), subs, size, 0); !slices.Equal(got, want) {
				w.Errorf("%s: %d match in steps of %d, want %d", text, len(got), size, len(want))
			}
			if got := w.judgedInSteps(set, subs, size, 0); !slices.Equal(got, want) {
				w.Errorf("%s: %d match in steps of %d by sets, want %d", text, len(got), size, len(want))
			}
			for _, id := range w.judgedInSteps(match(), subs, size, 2) {
				if !slices.Contains(want, id) {
					w.Errorf("%s: %s matches in every other step of %d", text, id, size)
				}
			}
		}
	}
}
