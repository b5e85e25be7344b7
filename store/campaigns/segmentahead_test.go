package campaigns

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
)

// aheadHouse creates a job to a segment of a list of 3,000, of whom every fourth matches.
func aheadHouse(t *testing.T) *Store {
	t.Helper()
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	n := core.Narrowing{SegmentID: core.NewID(), Rule: `{"field":"n","is":["0"]}`}
	must(t, s.Update(t.Context(), func(tx *db.Tx) error {
		exec := func(query string, args ...any) {
			_, err := tx.Exec(query, args...)
			must(t, err)
		}
		exec("INSERT INTO tenant (id, name, created_at, updated_at) VALUES ('acme', 'x', 1, 1)")
		exec("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES ('letter', 'acme', 'x', 1, 1)")
		exec("INSERT INTO campaign_copy (id, tenant_id, subject, created_at) VALUES ('c', 'acme', 'x', 1)")
		exec(`INSERT INTO send_job (no, id, tenant_id, list_id, copy_id, status, due_at, created_at, started_at, narrowing)
			VALUES (7, 'j', 'acme', 'letter', 'c', 'running', 1, 1, 1, ?)`, n.Column())
		for i := range 3000 {
			aheadPerson(t, tx, i, i%4)
		}
		return nil
	}))
	return s
}

func aheadPerson(t *testing.T, tx *db.Tx, i, n int) {
	t.Helper()
	_, err := tx.Exec(`INSERT INTO subscriber (list_id, id, email_key, email, word, word_at, preferences, created_at,
		changed_at) VALUES ('letter', ?1, ?2, ?2, 'active', 0, ?3, 0, 0)`, fmt.Sprintf("%05d", 10*i),
		fmt.Sprintf("r%d@example.org", i), fmt.Sprintf(`{"n":%d}`, n))
	must(t, err)
}

// People who may no longer be emailed when the writer takes a range are left out, and the position is that of the
// range. At the end of the list, everyone else who may be emailed is counted as excluded.
func TestRangesLeaveOutWhoDeparts(t *testing.T) {
	s := aheadHouse(t)
	ahead, err := judgeAhead(t.Context(), s.DB, 7)
	must(t, err)
	st := ahead.part
	if st == nil || len(st.found) < 450 || len(st.found) > 500 || !st.more || !st.certain {
		t.Fatalf("%+v", st)
	}
	var id [4]string
	for i := range id {
		id[i] = st.found[3*i].ID
	}
	left := len(st.found) - len(id)
	must(t, s.Update(t.Context(), func(tx *db.Tx) error {
		for i, q := range []string{
			"DELETE FROM subscriber WHERE id = ?", "UPDATE subscriber SET word = 'unsubscribed' WHERE id = ?",
			"UPDATE subscriber SET block = 'bounced' WHERE id = ?", "INSERT INTO suppression (tenant_id, email_key, " +
				"kind, created_at) SELECT 'acme', email_key, 'suppressed', 1 FROM subscriber WHERE id = ?",
		} {
			if err := tx.One(q, id[i]); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.Bulk(t.Context(), func(tx *db.Tx) error {
		j, err := sendJobNo(tx, 7)
		must(t, err)
		more, err := expand(tx, &j, ahead)
		if !more {
			t.Error("the list is at its end")
		}
		return err
	}))
	j, err := s.SendJobByNo(t.Context(), 7)
	must(t, err)
	if int(j.Recipients) != left || j.ExpandedTo != st.to {
		t.Errorf("%d recipients, want %d; at %q, want %q", j.Recipients, left, j.ExpandedTo, st.to)
	}
	var gone int
	must(t, s.Get(t.Context(), &gone, "SELECT count(*) FROM recipient WHERE subscriber_id IN (?, ?, ?, ?)", id[0], id[1],
		id[2], id[3]))
	if gone != 0 {
		t.Errorf("%d of those who departed are recipients", gone)
	}
	s.SQL(`INSERT INTO list_count (list_id, day, mailable) VALUES ('letter', 1, 3000), ('letter', 2, 2996)`)
	s.SQL("UPDATE send_job SET excluded = 40") // counted by a step that read everyone
	for more := true; more; {
		more, err = s.ExpandJob(t.Context(), 7, 1)
		must(t, err)
	}
	var excluded int
	must(t, s.Get(t.Context(), &excluded, "SELECT excluded FROM send_job WHERE recipients = ?", 750-len(id)))
	if excluded != 2250 {
		t.Errorf("%d excluded, want 2250", excluded)
	}
}

// A range that starts elsewhere than the job stands is read again.
func TestRangesOfAJobThatMoved(t *testing.T) {
	s := aheadHouse(t)
	ahead, err := judgeAhead(t.Context(), s.DB, 7)
	must(t, err)
	for more := true; more; {
		more, err = s.ExpandJob(t.Context(), 7, 1)
		must(t, err)
	}
	must(t, s.Bulk(t.Context(), func(tx *db.Tx) error {
		j, err := sendJobNo(tx, 7)
		must(t, err)
		if more, err := expand(tx, &j, ahead); !more || err != nil {
			t.Error(more, err)
		}
		return nil
	}))
	var n, all int
	must(t, s.Get(t.Context(), &all, "SELECT count(*) FROM recipient"))
	must(t, s.Get(t.Context(), &n, "SELECT count(*) FROM recipient AS r JOIN subscriber AS s ON s.id = r.subscriber_id "+
		"WHERE s.preferences = '{\"n\":0}'"))
	if n != 750 || all != n {
		t.Errorf("%d recipients, of whom %d match; want 750", all, n)
	}
}

// If the recipients that a rule needs are removed after a range was read, the job pauses and emails no one.
func TestRangesWhoseRuleCannotBeEvaluatedAnymore(t *testing.T) {
	for _, rule := range []string{`{"not":{"received":"camp"}}`, `{"not":{"opened":{"within_days":10}}}`} {
		s := aheadHouse(t)
		camp := core.NewID()
		n := core.Narrowing{SegmentID: core.NewID(), Rule: core.RuleText(strings.Replace(rule, "camp", camp, 1))}
		const now = 1_772_442_000_000
		must(t, s.Update(t.Context(), func(tx *db.Tx) error {
			for _, q := range [][]any{
				{"UPDATE send_job SET narrowing = ?, started_at = ?", n.Column(), now},
				{"INSERT INTO campaign (id, tenant_id, state, created_at, updated_at) VALUES (?, 'acme', 'sent', 1, 1)", camp},
				{`INSERT INTO send_job (no, id, tenant_id, list_id, copy_id, status, due_at, created_at, started_at,
					campaign_id, recipients, sent, tracked, expanded) VALUES (5, 'old', 'acme', 'letter', 'c', 'completed', 1, 1, ?,
					?, 1000, 1000, 3, 1)`, now - 1000, camp},
				{`INSERT INTO recipient (job_no, seq, subscriber_id, email_key, state) SELECT 5, row_number() OVER (ORDER BY id),
					id, email_key, ` + SqlRecipientSent + ` FROM subscriber ORDER BY id LIMIT 1000`},
			} {
				if _, err := tx.Exec(q[0].(string), q[1:]...); err != nil {
					return err
				}
			}
			return nil
		}))
		ahead, err := judgeAhead(t.Context(), s.DB, 7)
		must(t, err)
		if ahead.part == nil || len(ahead.part.found) == 0 {
			t.Fatalf("%s: %+v", rule, ahead.part)
		}
		must(t, s.Bulk(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec("DELETE FROM recipient WHERE job_no = 5 AND seq <= 500")
			return err
		}))
		err = s.Bulk(t.Context(), func(tx *db.Tx) error {
			j, err := sendJobNo(tx, 7)
			must(t, err)
			_, err = expand(tx, &j, ahead)
			return err
		})
		if !core.IsUndecided(err) {
			t.Errorf("%s: %v", rule, err)
		}
		var all int
		must(t, s.Get(t.Context(), &all, "SELECT count(*) FROM recipient WHERE job_no = 7"))
		if all != 0 {
			t.Errorf("%s: %d recipients", rule, all)
		}
	}
}

// The ids of a range are looked up, with any SQLite statistics.
func TestRangesAreCheckedByID(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		plan, err := s.Explain(t.Context(), addMatching)
		must(t, err)
		all := strings.Join(plan, "\n")
		if !strings.HasPrefix(all, "SCAN j VIRTUAL TABLE") ||
			!strings.Contains(all, "SEARCH s USING PRIMARY KEY (list_id=? AND id=?)") ||
			strings.Contains(all, "SCAN p") || strings.Contains(all, "SCAN d") || strings.Contains(all, "B-TREE") {
			t.Error(all)
		}
		s.SkewStatistics()
	}
}
