package audience_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/audience"
	"newsletterd/store/db/dbtest"
	"newsletterd/store/storetest"
	"newsletterd/store/storetest/ruletest"
)

// oldDatabase returns a database of the first version with a list of 30 people who got n more campaigns, one a day. All
// but every sixth campaign tracked opens and clicks. started is the start of the last campaign.
func oldDatabase(t *testing.T, n int, random *rand.Rand) (path string, started core.Instant) {
	path = dbtest.FirstVersion(t, "../..")
	sql := ""
	for i := range n {
		started = 1_795_253_715_005 + core.Instant(i+1)*day // after the campaign that is already in the file
		sql += fmt.Sprintf(`INSERT INTO campaign (id, tenant_id, subject, body_text, track_open, track_click,
			created_at) SELECT 'c%[1]d', tenant_id, 'News', 'x', %[2]d, %[2]d, %[3]d FROM send_job WHERE no = 1;
			INSERT INTO send_job (no, id, tenant_id, list_id, campaign_id, status, due_at, created_at, started_at,
				finished_at, expanded, recipients, sent) SELECT 100 + %[1]d, 'j%[1]d', tenant_id, list_id, 'c%[1]d',
				'completed', %[3]d, %[3]d, %[3]d, %[3]d, 1, 30, 30 FROM send_job WHERE no = 1;`,
			i, min(1, i%6), started)
		for seq := range 30 {
			marks := []int{0, 0, 0, 0, 1, 8, 9, 16, 24}[random.IntN(9)] // 1 delivered, 8 opened, 16 clicked
			if i > seq {                                                // some people never react again
				marks &= 1
			}
			sql += fmt.Sprintf(`INSERT INTO recipient (job_no, seq, subscriber_id, email_key, state, marks)
				SELECT 100 + %d, seq, subscriber_id, email_key, %d, %d FROM recipient WHERE job_no = 1 AND seq = %d;`,
				i, 2+random.IntN(9)/8, marks, seq+1)
		}
	}
	storetest.Foreign(t, path, sql)()
	return path, started
}

// Conditions on opens and clicks are right as soon as a database with 50 old campaigns is upgraded. They read the
// recipients of these campaigns, so nothing needs to be counted first.
func TestRulesAfterAnUpgrade(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 64))
	path, last := oldDatabase(t, 50, random)
	s := storetest.Seed(t, storetest.OpenAt(t, path)).At(last + 3*day)
	s.Must(s.Get(t.Context(), &s.ListID, "SELECT list_id FROM send_job WHERE no = 1"))
	s.Must(s.Get(t.Context(), &s.TenantID, "SELECT tenant_id FROM list WHERE id = ?", s.ListID))
	var campaigns []string
	s.Must(s.All(t.Context(), &campaigns, "SELECT campaign_id FROM send_job WHERE list_id = ? ORDER BY no", s.ListID))
	if len(campaigns) != 52 {
		t.Fatalf("%d campaigns", len(campaigns))
	}
	o := ruletest.Of(s, "UTC").NewOracle()
	seen := map[int]bool{}
	for n := range 60 {
		leaf := fmt.Sprintf(`{%q: {%q: %d}}`, []string{"opened", "clicked"}[n%2],
			[]string{"last", "within_days"}[n/2%2], 1+random.IntN(50))
		if n%5 == 4 {
			leaf = fmt.Sprintf(`{"received": %q}`, campaigns[random.IntN(52)])
		}
		for _, text := range []string{leaf, `{"not": ` + leaf + `}`} {
			rule, err := core.ParseRule("rule", []byte(text))
			s.Must(err)
			q := audience.Question{
				TenantID: s.TenantID, ListIDs: []string{s.ListID}, Rule: rule, Now: s.Time(), Exact: true,
			}
			want := o.Matching(text, s.ListID)
			got := matching(o.Crowd, q)
			c, err := s.CountSegment(t.Context(), q)
			if seen[len(want)] = true; err != nil || !slices.Equal(got, want) || *c.Exact != int64(len(want)) {
				t.Errorf("%s: %d people and %+v, want %d, %v", text, len(got), c, len(want), err)
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d different counts", len(seen))
	}
}
