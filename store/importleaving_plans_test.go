package store_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// TestLeaversAreImportedByIndex checks that the statements that import unsubscribed people, and undo that, scan no
// table, whether there are no statistics or all rows belong to one tenant and one list.
func TestLeaversAreImportedByIndex(t *testing.T) {
	for _, statistics := range []bool{false, true} {
		f := storetest.NewFaults(t)
		n := storetest.Seed(t, storetest.OpenWith(t, db.Options{Driver: f.Driver}))
		n.Now = now0
		n.NewList()
		if statistics {
			n.SkewStatistics()
		}
		n.Active(n.ListID, "own@example.org")
		imported(n, now0, joins("ann@example.org"), blocks("old@example.org", core.StatusBounced))
		queries := map[string]bool{}
		f.FailWhen(func(query string) bool {
			queries[query] = true
			return false
		})
		j := imported(n, now0+1000, leaves("ann@example.org", now0), leaves("bob@example.org", 0),
			leaves("own@example.org", now0+500), blocks("cid@example.org", core.StatusBounced),
			blocks("old@example.org", core.StatusComplaint))
		imported(
			n,
			now0+1500,
			joins("ann@example.org"),
			leaves("bob@example.org", 0),
			blocks("cid@example.org", core.StatusBounced),
		)
		n.At(now0+1700).Request(n.ListID, "own@example.org", "")
		undone(n, j.ID, now0+2000)
		f.FailWhen(func(string) bool { return false })
		looked := 0
		for query := range queries {
			if !of.MatchString(query) || !strings.Contains(query, "?") || strings.HasPrefix(query, anyBarred) {
				continue
			}
			looked++
			var plan []struct {
				ID, Parent, Notused int
				Detail              string
			}
			n.AllRows(&plan, "EXPLAIN QUERY PLAN "+query, slices.Repeat([]any{"1"}, 420)...)
			for _, step := range plan {
				if strings.HasPrefix(step.Detail, "SCAN ") && scanned.MatchString(step.Detail) &&
					!strings.Contains(step.Detail, "INDEX") {
					t.Errorf("statistics %v: %s\n%s", statistics, step.Detail, query)
				}
			}
		}
		if looked < 10 {
			t.Errorf("%d statements were looked at", looked)
		}
	}
}

// anyBarred checks whether there is any row, and reads only the first.
const anyBarred = "SELECT EXISTS (SELECT 1 FROM disabled) OR EXISTS (SELECT 1 FROM suppression WHERE tenant_id = ?)"

var (
	of      = regexp.MustCompile(`\b(subscription|suppression|consent|import_chunk|import_word|disabled|erased)\b`)
	scanned = regexp.MustCompile(`^SCAN (s|c|subscription|suppression|consent|import_chunk|import_word|disabled|erased)\b`)
)
