package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/people"
)

func TestHousekeepingDeletesWhatHasExpiredAndNothingElse(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	now := core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	day := 24 * time.Hour
	err := s.Update(t.Context(), func(tx *db.Tx) error {
		for i, at := range []core.Instant{now.Add(-31 * day), now.Add(-29 * day), now.Add(day)} {
			for _, q := range []string{
				"INSERT INTO throttle VALUES (?1, 1, ?2)",
				"INSERT INTO seen_nonce (client_id, nonce, expires_at) VALUES ('c', ?1, ?2)",
				"INSERT INTO sessions VALUES (?1, x'', ?2 / 86400000.0 + 2440587.5)",
				"INSERT INTO subscription (list_id, id, email, email_key, status, created_at, changed_at) VALUES " +
					"('l', ?1, ?1, ?1, 'pending', ?2, ?2)",
				"INSERT INTO subscription (list_id, id, email, email_key, status, created_at, changed_at) VALUES " +
					"('m', ?1, ?1, ?1, 'active', ?2, ?2)",
			} {
				if _, err := tx.Exec(q, fmt.Sprint("k", i), at); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if more, err := s.Housekeeping(t.Context(), people.Retention{Pending: 30 * day}, now); err != nil || more {
		t.Fatal(more, err)
	}
	for q, want := range map[string]int{
		"SELECT count(*) FROM throttle":                              1,
		"SELECT count(*) FROM seen_nonce":                            1,
		"SELECT count(*) FROM sessions":                              1,
		"SELECT count(*) FROM subscription WHERE status = 'pending'": 2,
		"SELECT count(*) FROM subscription WHERE status = 'active'":  3,
	} {
		var n int
		if err := s.Get(t.Context(), &n, q); err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", q, n, err, want)
		}
	}
}

// TestHousekeepingGivesPagesBack checks that a file shrinks in steps after most of its content was deleted, and that a
// file with little unused space keeps its size.
func TestHousekeepingGivesPagesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, db.Daemon)
	const rows, size = 96, 512 << 10 // 48 MiB
	for i := range rows {
		must(t, put(s, fmt.Sprintf("row %03d", i), strings.Repeat(fmt.Sprint(i%10), size)))
	}
	state := func() (all, unused int64) {
		must(t, s.Get(t.Context(), &all, "PRAGMA page_count"))
		must(t, s.Get(t.Context(), &unused, "PRAGMA freelist_count"))
		return all, unused
	}
	drop := func(n int) {
		must(t, s.Update(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec("DELETE FROM mark WHERE name IN (SELECT name FROM mark WHERE name LIKE 'row %' ORDER "+
				"BY name LIMIT +?)", n)
			return err
		}))
	}
	keep := func() (steps int) {
		for {
			more, err := s.Housekeeping(t.Context(), people.Retention{}, core.At(time.Now()))
			must(t, err)
			if !more {
				return steps
			}
			steps++
		}
	}
	full, _ := state()
	drop(rows / 5)
	if keep() > 0 {
		t.Error("a fifth of the file is unused, and it became smaller")
	}
	drop(rows * 3 / 5)
	steps := keep()
	all, unused := state()
	if steps < 10 || all > full*2/3 || unused > max(db.KeptPages, all/4) {
		t.Errorf("%d steps; %d pages of %d are left, %d of them unused", steps, all, full, unused)
	}
	var left int
	must(t, s.Get(t.Context(), &left, "SELECT count(*) FROM mark WHERE length(value) = ?", size))
	if left != rows-rows/5-rows*3/5 {
		t.Errorf("%d rows", left)
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	must(t, s.Close())
	if fi, err := os.Stat(path); err != nil || fi.Size() != all*4096 {
		t.Errorf("the file has %d bytes, %v; %d pages are in it", fi.Size(), err, all)
	}
}

func TestCheckFindsContradictions(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	if found, err := s.Check(t.Context()); err != nil || len(found) != 0 {
		t.Fatal(found, err)
	}
	err := s.Update(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES ('l', 'none', 'x', " +
			"1, 1)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) != 1 {
		t.Errorf("%q, %v; want the list without a tenant", found, err)
	}
	if found, err := s.QuickCheck(t.Context()); err != nil || len(found) != 0 {
		t.Error(found, err)
	}
}

func TestHousekeepingRemovesWhatADeletedTenantLeft(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	now := core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	month := people.Retention{Deleted: 30 * 24 * time.Hour}
	err := s.Update(t.Context(), func(tx *db.Tx) error {
		for _, q := range []string{
			"INSERT INTO tenant (id, name, created_at, updated_at, deleted_at) VALUES ('gone', 'x', 1, 1, ?1), " +
				"('kept', 'x', 1, 1, 0)",
			"INSERT INTO list (id, tenant_id, name, created_at, updated_at, deleted_at) VALUES ('gone', 'gone', " +
				"'x', 1, 1, ?1), ('kept', 'kept', 'x', 1, 1, 0)",
			`INSERT INTO subscription (list_id, id, email, email_key, status, created_at, changed_at)
				WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700)
				SELECT l.id, 'k' || n.i, 'e', 'e', 'active', 1, ?1 FROM list l, n`,
			"INSERT INTO list_count (list_id, day, active) SELECT id, 1, 700 FROM list WHERE ?1",
			`INSERT INTO suppression (tenant_id, email_key, kind, created_at) SELECT l.tenant_id, s.id, 'bounced', ?1
				FROM list l JOIN subscription s ON s.list_id = l.id`,
			"INSERT INTO disabled (email_key, tenant_id, reason, disabled_by, occurred_at, created_at) SELECT s.id, " +
				"s.list_id, '', '', 1, ?1 FROM subscription s",
			"INSERT INTO campaign_copy (id, tenant_id, subject, created_at) VALUES ('c', 'gone', 'x', ?1)",
			`INSERT INTO send_job (id, tenant_id, list_id, copy_id, status, due_at, created_at, recipients,
				skipped, expanded)
				SELECT id, id, id, 'c', 'completed', 1, ?1, 700, 700, 1 FROM list ORDER BY id`,
			`INSERT INTO recipient (job_no, seq, subscriber_id, email_key, state) SELECT j.no, substr(s.id, 2), s.id,
				'e', 4
				FROM send_job j JOIN subscription s ON s.list_id = j.list_id WHERE ?1`,
			`INSERT INTO recipient_page (job_no, first_seq, first_id, states, ids) SELECT job_no, seq, '', x'', x''
				FROM recipient WHERE seq % 20 = 1 AND ?1`,
			"INSERT INTO attempt (job_no, seq, at, outcome, reply) SELECT job_no, seq, 1, 'deferred', 'e' FROM " +
				"recipient WHERE ?1",
			"INSERT INTO engagement (job_no, seq, link_no, first_at, last_at, times, machine) SELECT job_no, seq, " +
				"0, 1, 1, 1, 0 FROM recipient WHERE ?1",
			`INSERT INTO provider_event (provider, event_key, tenant_id, message_id, event_type, email_key,
				occurred_at, received_at, job_no, seq)
				SELECT 'p', CAST(job_no || '-' || seq AS BLOB), 'x', '', 'open', 'e', 1, ?1, job_no, seq FROM
				recipient`,
		} {
			if _, err := tx.Exec(q, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	count := func(table string) (n int) {
		t.Helper()
		if err := s.Get(t.Context(), &n, "SELECT count(*) FROM "+table); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := s.Housekeeping(t.Context(), month, now); err != nil || count("subscription") != 1400 {
		t.Fatal("within 30 days everything stays", err)
	}
	for more := true; more; {
		if more, err = s.Housekeeping(t.Context(), month, now.Add(31*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	for table, want := range map[string]int{
		"tenant": 1, "list": 1, "list_count": 1, "subscription": 700, "suppression": 700, "disabled": 700,
		"send_job":  2,
		"recipient": 700, "recipient_page": 35, "attempt": 700, "engagement": 700, "provider_event": 700,
	} {
		if n := count(table); n != want {
			t.Errorf("%s: %d rows, want %d", table, n, want)
		}
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}
