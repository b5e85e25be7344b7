package replica

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/replica/objectstest"
	"newsletterd/store/storetest"
)

// open opens the store of a machine that serves the database of the replica at url.
func open(t *testing.T, url, path string) (*store.Store, *Replica) {
	t.Helper()
	r, err := New(Options{
		URL: url, Env: objectstest.Env("store"), Path: path, TTL: 3 * time.Second,
		Failed: func(err error) { t.Errorf("the machine stops: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), db.Options{Path: path, Migrate: true, Replica: r})
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// kept returns the number of subscriptions that another machine would restore from the replica now.
func kept(t *testing.T, r *Replica) (n int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "restored.db")
	if _, err := r.log.restore(t.Context(), path, 0, time.Time{}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM subscription").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func readers(t *testing.T, s *store.Store, listID string, from, to int) {
	t.Helper()
	seed := storetest.Seed(t, s)
	for k := from; k < to; k++ {
		seed.Active(listID, core.Email(fmt.Sprintf("r%d@example.org", k)))
	}
	if err := s.Acknowledged(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func subscribers(t *testing.T, s *store.Store, listID string, want int) {
	t.Helper()
	for k := range want {
		sub, err := s.Subscription(t.Context(), listID, core.Email(fmt.Sprintf("r%d@example.org", k)))
		if err != nil || sub.Status != core.SubscriptionActive {
			t.Fatalf("reader %d: %+v, %v", k, sub, err)
		}
	}
}

// TestStoreGoesFromMachineToMachine shuts a machine down properly, and continues with and without its disk.
func TestStoreGoesFromMachineToMachine(t *testing.T) {
	t.Parallel()
	url := objectstest.New(t).URL()
	path := filepath.Join(t.TempDir(), "newsletterd.db")
	a, ra := open(t, url, path)
	list := storetest.Seed(t, a).NewList()
	readers(t, a, list.ID, 0, 20)
	if n := kept(t, ra); n != 20 {
		t.Errorf("%d subscriptions of 20 are in the replica", n)
	}
	if err := a.MayAct(); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Error("a -wal is left by a clean stop")
	}
	b, rb := open(t, url, path)
	subscribers(t, b, list.ID, 20)
	readers(t, b, list.ID, 20, 40)
	if n := kept(t, rb); n != 40 {
		t.Errorf("%d subscriptions of 40 are in the replica", n)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	c, _ := open(t, url, filepath.Join(t.TempDir(), "elsewhere.db"))
	defer c.Close()
	subscribers(t, c, list.ID, 40)
	found, err := filepath.Glob(path + ".superseded-*")
	if err != nil || len(found) > 0 {
		t.Errorf("set aside: %v, %v", found, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if faults, err := c.Check(ctx); err != nil || len(faults) > 0 {
		t.Errorf("check: %v, %v", faults, err)
	}
}
