package campaigns

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

// Statements of the send path that run per email, per batch or per kick use an index, with any SQLite statistics.
func TestSendPathScansNothing(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	queries := []string{
		"SELECT " + skipReasonIndex + claimFrom + "AND r.seq = ?5",
		"SELECT coalesce(min(due_at), 0) FROM send_job WHERE status = 'pending'",
		"SELECT no FROM send_job WHERE status = 'pending' AND due_at <= ? ORDER BY due_at LIMIT +?",
		"SELECT no FROM send_job WHERE status = 'running' ORDER BY no",
		"SELECT id FROM subscriber WHERE list_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?",
		"SELECT count(*) FROM (SELECT 1 FROM received_sync WHERE removing = 1 LIMIT 1)",
		"SELECT no FROM received_sync WHERE removing = 1 ORDER BY no LIMIT 1",
		"UPDATE recipient SET state = ? WHERE job_no = ? AND seq > ? AND seq <= ? AND state < 2",
		claimQueued, claimDeferred, selectClaimRange, selectRangeSubscribers, selectRangeSubscriptions,
		recipientsOfList, SelectSubscriber, selectKnown, selectAbsent, markSent, markSentDeferred, nextDeferred,
		jobViewByID, jobsOfAll, jobsOfTenant, recipientsInOrder, recipientsByWord, recipientsByMark, spanByWord,
		spanByMark, startedJobs, sendableJobs, startedAmong, sendableAmong, stillSendable, countedOfList,
	}
	skewed := len(queries)
	for i, q := range append(queries, queries...) {
		if i == skewed {
			s.SkewStatistics()
		}
		plan, err := s.Explain(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		for _, detail := range plan {
			byIndex := strings.Contains(detail, "USING INDEX") || strings.Contains(detail, "USING COVERING INDEX")
			if strings.HasPrefix(detail, "SCAN") && !byIndex && !strings.Contains(detail, "VIRTUAL TABLE") &&
				detail != "SCAN CONSTANT ROW" && !strings.Contains(detail, "subquery") ||
				strings.Contains(detail, "TEMP B-TREE") {
				t.Errorf("%s\n%s", q, detail)
			}
		}
	}
}
