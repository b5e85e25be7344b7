package people

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"newsletterd/store/campaigns"
	"newsletterd/store/db"
)

// The rows of a job keep their order when some of them are anonymized, for all ids of their neighbors.
func TestErasedRecipientsKeepTheirOrder(t *testing.T) {
	n := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	n.SQL("INSERT INTO campaign_copy (id, tenant_id, subject, created_at) VALUES ('camp', 't', 'News', 1)")
	n.SQL("INSERT INTO send_job (id, tenant_id, list_id, copy_id, status, due_at, created_at, recipients) " +
		"VALUES ('job', 't', 'l', 'camp', 'running', 1, 1, 40)")
	var ids []string
	for i := range 40 {
		ids = append(ids, n.SubscriptionID("l", string(rune('a'+i%26))+strings.Repeat("x", i)+"@example.org"))
	}
	slices.Sort(ids)
	for i, id := range ids {
		n.SQL("INSERT INTO recipient (job_no, seq, subscriber_id, email_key) VALUES (1, ?, ?, 'x')", i+1, id)
	}
	for i := 0; i < 40; i += 3 {
		err := n.Update(t.Context(), func(tx *db.Tx) error {
			return (&erasing{Tx: tx, personReach: personReach{key: "x"}}).recipient(personPlace{1, int64(i + 1)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := n.SnapshotRead(t.Context(), func(r *db.Reader) error {
		for i, id := range ids {
			want := int64(i + 1)
			if i%3 == 0 {
				want = 0
			}
			if seq, err := campaigns.SeqOf(r, 1, 1, 40, id); err != nil || seq != want {
				t.Errorf("recipient %d is found at %d, %v", i+1, seq, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// While housekeeping removes the first rows of an old job, the later rows are still found.
func TestRecipientsAreFoundBehindAGap(t *testing.T) {
	n := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for seq := 31; seq <= 40; seq++ {
		n.SQL("INSERT INTO recipient (job_no, seq, subscriber_id, email_key) VALUES (1, ?, ?, 'x')", seq,
			fmt.Sprintf("%04d", seq))
	}
	must(t, n.SnapshotRead(t.Context(), func(r *db.Reader) error {
		for seq := int64(1); seq <= 40; seq++ {
			want := seq
			if seq <= 30 {
				want = 0
			}
			if got, err := campaigns.SeqOf(r, 1, 1, 40, fmt.Sprintf("%04d", seq)); err != nil || got != want {
				t.Errorf("recipient %d is found at %d, %v", seq, got, err)
			}
		}
		return nil
	}))
}
