package db

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestOptimize uses two indexes of which only one is selective. After Optimize, SQLite chooses that one in the writer
// and in each reading connection. Optimize handles each index in its own operation, stores no samples, and does nothing
// if nothing has changed.
func TestOptimize(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	for _, q := range []string{
		"CREATE TABLE t (same INTEGER, own INTEGER)",
		"CREATE INDEX t_own ON t (own)", "CREATE INDEX t_same ON t (same)",
		"WITH RECURSIVE s (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM s WHERE n < 5000) INSERT INTO t SELECT " +
			"1, n FROM s",
	} {
		s.SQL(q)
	}
	before := plansOf(t, s)
	was := s.Stats().Batches
	must(t, s.Optimize(t.Context()))
	if n := s.Stats().Batches - was; n < 3 {
		t.Errorf("%d transactions: an index is no operation of its own", n)
	}
	after := plansOf(t, s)
	for i := range before {
		if !strings.Contains(before[i], "t_same") || !strings.Contains(after[i], "t_own") {
			t.Errorf("connection %d: %s, then %s", i, before[i], after[i])
		}
	}
	if n := s.Count("SELECT count(*) FROM pragma_table_list('sqlite_stat4')"); n > 0 {
		if n = s.Count("SELECT count(*) FROM sqlite_stat4"); n > 0 {
			t.Errorf("%d samples", n)
		}
	}
	was = s.Stats().Batches
	must(t, s.Optimize(t.Context()))
	if n := s.Stats().Batches - was; n != 1 {
		t.Errorf("%d transactions where nothing has changed", n)
	}
}

// plansOf returns the plan of a query in the writer, then in each reading connection.
func plansOf(t *testing.T, s *DB) (plans []string) {
	t.Helper()
	const query = "EXPLAIN QUERY PLAN SELECT rowid FROM t WHERE same = ? AND own = ?"
	var plan struct {
		ID, Parent, Notused int
		Detail              string
	}
	must(t, s.Update(t.Context(), func(tx *Tx) error { return tx.Get(&plan, query, 1, 1) }))
	plans = append(plans, plan.Detail)
	var held sync.WaitGroup
	defer held.Wait()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	for range s.opts.Readers {
		c, err := s.readers.Connx(ctx)
		must(t, err)
		must(t, c.GetContext(ctx, &plan, query, 1, 1))
		plans = append(plans, plan.Detail)
		held.Go(func() { <-ctx.Done(); _ = c.Close() })
	}
	return plans
}
