package audience_test

import (
	"fmt"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
)

// fewWorld is a list of 3,000 people. One of 100 has a tag, and others of 100 received a campaign, in which one of 2
// clicked a link. Everyone received another campaign.
type fewWorld struct {
	*world
	l        core.List
	few, all core.SendJob
}

func newFewWorld(t *testing.T) *fewWorld {
	w := &fewWorld{world: newWorld(t)}
	w.l = w.NewList()
	w.Readers(w.l, 3000, func(k int) core.Email {
		return core.Email(fmt.Sprintf("r%04d@%s.example", k, []string{"few", "odd", "many", "odd"}[min(k%100, 2+k%2)]))
	})
	w.newTag("VIP")
	w.newTag("odd")
	w.sql(`INSERT INTO tagged (list_id, id, tag_no, at) SELECT list_id, s.id, no, 1 FROM subscriber AS s CROSS JOIN tag
		ON name = 'odd' AND email LIKE '%@odd.example' OR name = 'VIP' AND email LIKE 'r__77@%' WHERE list_id = ?`,
		w.l.ID)
	track := func(f *core.CampaignFields) { f.Tracking = core.TrackingPersons }
	g := w.segment("Few", `{"domain":"few.example"}`)
	d := w.draft([]core.List{w.l}, func(f *core.CampaignFields) { track(f); f.SegmentID = g.ID })
	w.few = w.Start(w.SendDraft(&d))
	d = w.draft([]core.List{w.l}, track)
	w.all = w.Start(w.SendDraft(&d))
	w.sql(`UPDATE send_job SET status = 'completed', sent = recipients, finished_at = ?, tracked = 3, clicked = 9`,
		int64(w.Time()))
	w.sql("UPDATE recipient SET state = 2")
	w.sql("INSERT INTO link (job_no, no, url) VALUES (?, 1, 'https://acme.example/'), (?, 1, 'https://acme.example/')",
		w.few.No, w.all.No)
	w.sql(`INSERT INTO engagement (job_no, seq, link_no, first_at, last_at, times, machine, class)
		SELECT job_no, seq, 1, 1, 1, 1, 0, ? FROM recipient WHERE seq % 2`, int(core.ClassPerson))
	return w
}

// A rule that requires a condition that few people meet reads only these people. Counts and jobs have the same people
// as if everyone was read.
func TestRulesThatFewPeopleMatch(t *testing.T) {
	w := newFewWorld(t)
	click := func(j core.SendJob) string {
		return fmt.Sprintf(`{"clicked_link":{"campaign":%q,"link":1}}`, j.CampaignID)
	}
	got := func(j core.SendJob) string { return fmt.Sprintf(`{"received":%q}`, j.CampaignID) }
	const vip, many = `{"tag":"VIP"}`, `{"domain":"many.example"}`
	for _, c := range []struct {
		rule string
		want int64
		led  bool
	}{
		{vip, 30, true},
		{`{"all":[{"domain":["odd.example"]},{"all":[` + vip + `]}]}`, 30, true},
		{`{"all":[` + vip + `,` + many + `]}`, 0, true},
		{`{"not":` + vip + `}`, 2970, false},
		{`{"any":[` + vip + `,` + got(w.few) + `]}`, 60, false},
		{`{"tag":"odd"}`, 1500, false},
		{`{"all":[{"tag":"odd"},` + vip + `]}`, 30, true},
		{got(w.few), 30, true},
		{`{"all":[` + got(w.few) + `,{"not":` + vip + `}]}`, 30, true},
		{got(w.all), 3000, false},
		{click(w.few), 15, true},
		{click(w.all), 1500, false},
		{`{"all":[` + click(w.all) + `,` + vip + `]}`, -1, true},
	} {
		q := w.question(c.rule, w.l)
		m, err := campaigns.MatchRule(w.Reads(t.Context()), w.TenantID, q.Rule, w.Time())
		w.Must(err)
		if _, led, err := m.Lead(w.Reads(t.Context()), w.l.ID, "", 100); led != c.led || err != nil {
			t.Errorf("%s: led %v, want %v: %v", c.rule, led, c.led, err)
		}
		want := w.people(q, 5000) // reads everyone
		if slices.Sort(want); c.want >= 0 && int64(len(want)) != c.want {
			t.Errorf("%s: %d people, want %d", c.rule, len(want), c.want)
		}
		if n := w.exact(q); n != int64(len(want)) {
			t.Errorf("%s: counts %d, want %d", c.rule, n, len(want))
		}
		g := w.segment(c.rule, c.rule)
		d := w.draft([]core.List{w.l}, to(g))
		reached := w.reached(w.Reload(w.Start(w.SendDraft(&d))))
		if slices.Sort(reached); !slices.Equal(reached, want) {
			t.Errorf("%s: %d recipients, want %d", c.rule, len(reached), len(want))
		}
		if n := w.number("SELECT excluded FROM send_job ORDER BY no DESC LIMIT 1"); n != 3000-len(want) {
			t.Errorf("%s: %d excluded of %d", c.rule, n, 3000-len(want))
		}
	}
}

// Reading a list led by a condition goes on after each id as if it was read from the start, and ends. Some recipients
// were erased.
func TestLeadsGoOnAfterAnyID(t *testing.T) {
	w := newFewWorld(t)
	w.sql("UPDATE recipient SET subscriber_id = substr(subscriber_id, 1, 4), email_key = '' WHERE job_no = ? "+
		"AND seq % 3 = 0", w.few.No)
	for _, rule := range []string{
		`{"tag":"VIP"}`, fmt.Sprintf(`{"received":%q}`, w.few.CampaignID),
		fmt.Sprintf(`{"clicked_link":{"campaign":%q,"link":1}}`, w.few.CampaignID),
	} {
		m, err := campaigns.MatchRule(w.Reads(t.Context()), w.TenantID, w.question(rule).Rule, w.Time())
		w.Must(err)
		whole, ok, err := m.Lead(w.Reads(t.Context()), w.l.ID, "", 1000)
		if !ok || err != nil || whole.More || len(whole.IDs) < 15 {
			t.Fatalf("%s: %+v, %v, %v", rule, whole, ok, err)
		}
		for _, most := range []int{1, 2, 7} {
			for from := range whole.IDs {
				left := whole.IDs[from+1:]
				for at, more := whole.IDs[from], len(left) > 0; more; {
					next, ok, err := m.Lead(w.Reads(t.Context()), w.l.ID, at, most)
					if !ok { // as few people are between, so the list is read
						next = campaigns.Led{IDs: left[:1], To: left[0], More: true}
					}
					n := len(next.IDs)
					if err != nil || next.To <= at || n > most || n > len(left) || !slices.Equal(next.IDs, left[:n]) {
						t.Fatalf("%s: after %s: %+v, %v, %v", rule, at, next, ok, err)
					}
					left, at, more = left[n:], next.To, next.More
				}
				if len(left) > 0 {
					t.Fatalf("%s: %d people are missing after %s in steps of %d", rule, len(left), whole.IDs[from],
						most)
				}
			}
		}
	}
}
