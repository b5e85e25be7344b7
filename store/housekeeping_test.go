package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"newsletterd/core"
)

func TestHousekeepingDeletesWhatHasExpiredAndNothingElse(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	now := core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	day := 24 * time.Hour
	err := s.update(t.Context(), func(tx *Tx) error {
		for i, at := range []core.Instant{now.Add(-31 * day), now.Add(-29 * day), now.Add(day)} {
			for _, q := range []string{
				"INSERT INTO throttle VALUES (?1, 1, ?2)",
				"INSERT INTO seen_nonce (client_id, nonce, expires_at) VALUES ('c', ?1, ?2)",
				"INSERT INTO sessions VALUES (?1, x'', ?2 / 86400000.0 + 2440587.5)",
				"INSERT INTO subscription (list_id, id, email, email_key, status, created_at, changed_at) VALUES ('l', ?1, ?1, ?1, 'pending', ?2, ?2)",
				"INSERT INTO subscription (list_id, id, email, email_key, status, created_at, changed_at) VALUES ('m', ?1, ?1, ?1, 'active', ?2, ?2)",
			} {
				if _, err := tx.exec(q, fmt.Sprint("k", i), at); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if more, err := s.Housekeeping(t.Context(), Retention{Pending: 30 * day}, now); err != nil || more {
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
		if err := s.get(t.Context(), &n, q); err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", q, n, err, want)
		}
	}
}

func TestCheckFindsContradictions(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	if found, err := s.Check(t.Context()); err != nil || len(found) != 0 {
		t.Fatal(found, err)
	}
	err := s.update(t.Context(), func(tx *Tx) error {
		_, err := tx.exec("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES ('l', 'none', 'x', 1, 1)")
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
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	now := core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	month := Retention{Deleted: 30 * 24 * time.Hour}
	err := s.update(t.Context(), func(tx *Tx) error {
		for _, q := range []string{
			"INSERT INTO tenant (id, name, created_at, updated_at, deleted_at) VALUES ('gone', 'x', 1, 1, ?1), ('kept', 'x', 1, 1, 0)",
			"INSERT INTO list (id, tenant_id, name, created_at, updated_at, deleted_at) VALUES ('gone', 'gone', 'x', 1, 1, ?1), ('kept', 'kept', 'x', 1, 1, 0)",
			`INSERT INTO subscription (list_id, id, email, email_key, status, created_at, changed_at)
				WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700)
				SELECT l.id, 'k' || n.i, 'e', 'e', 'active', 1, ?1 FROM list l, n`,
			"INSERT INTO suppression (tenant_id, email_key, kind, created_at) VALUES ('gone', 'e', 'bounced', ?1), ('kept', 'e', 'bounced', ?1)",
		} {
			if _, err := tx.exec(q, now); err != nil {
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
		if err := s.get(t.Context(), &n, "SELECT count(*) FROM "+table); err != nil {
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
	for table, want := range map[string]int{"tenant": 1, "list": 1, "subscription": 700, "suppression": 1} {
		if n := count(table); n != want {
			t.Errorf("%s: %d rows, want %d", table, n, want)
		}
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}
