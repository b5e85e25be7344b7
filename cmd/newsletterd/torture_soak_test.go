package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/schema"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/replica/objectstest"
)

// firstReleased is the last migration of the first released version, see testdata/schema/frozen.txt.
const firstReleased = 7

// TestSoakOfTheProgram lets the daemon work with a replica for SOAK (30 s in make torture, one machine's life
// elsewhere). Visitors register, subscribe, confirm, create jobs and send webhooks and reports. Meanwhile commands
// create tenants and backups, and the replica is restored repeatedly: each copy must be intact and have everything
// acknowledged before. After every few copies the machine dies, with or without its disk. In between, a database of the
// first released version starts with its own replica, is migrated, and loses its machine.
func TestSoakOfTheProgram(t *testing.T) {
	daemontest.Parallel(t)
	length, err := time.ParseDuration(os.Getenv("SOAK"))
	switch {
	case err == nil:
	case daemontest.AtLength():
		length = 30 * time.Second
	default:
		length = time.Second
	}
	storage := objectstest.New(t)
	storage.Set(objectstest.Faults{Latency: 2 * time.Millisecond})
	l := daemontest.NewLedger(t, replicaSettings(storage.URL())...)
	tenants := l.Number("SELECT count(*) FROM tenant")
	var copies, kills, migrations int
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); kills++ {
		stop := l.Visits(fmt.Sprint("s", kills), 6)
		for range 2 + rand.IntN(4) {
			more := len(l.Acknowledged()) + 10 + rand.IntN(60)
			l.Every(10*time.Millisecond, func() bool { return len(l.Acknowledged()) >= more })
			l.Run("admin", "tenant", "create", "--name", fmt.Sprint("tenant ", tenants))
			tenants++
			before := l.Acknowledged()
			file := filepath.Join(l.Dir, "copy.db")
			if copies%2 == 0 {
				l.Run("backup", "--to", file)
			} else {
				l.Run("replica", "restore", "--to", file)
			}
			wholeWith(l, file, before, tenants)
			copies++
		}
		l.Kill()
		stop()
		if rand.IntN(2) == 0 {
			l.LoseDisk()
		}
		l.Serve()
		wholeWith(l, l.Database(), l.Acknowledged(), tenants)
		l.Forget()
		if kills%3 == 2 {
			fromTheFirstVersion(t)
			migrations++
		}
	}
	l.Stop()
	t.Logf("%v: %d tenants by commands, %d copies, %d machines died, %d databases of the first version, acknowledged: %v",
		length, tenants, copies, kills, migrations, l.Kinds)
}

// wholeWith fails the test if a database file is damaged or lacks something. It removes a copy.
func wholeWith(l *daemontest.Ledger, file string, want map[string]func(*store.Store) error, tenants int) {
	s, err := store.Open(l.Context(), db.Options{Path: file, Mode: db.Command})
	l.Must(err)
	for what, there := range want {
		if err := there(s); err != nil {
			l.Errorf("%s: %s was acknowledged: %v", filepath.Base(file), what, err)
		}
	}
	if found, err := s.Check(l.Context()); err != nil || len(found) > 0 {
		l.Errorf("%s: %v %v", filepath.Base(file), found, err)
	}
	all, err := s.Tenants(l.Context(), nil, true, core.Page{Limit: 100_000})
	l.Must(err)
	if len(all) != tenants {
		l.Errorf("%s: %d tenants, %d were made", filepath.Base(file), len(all), tenants)
	}
	l.Must(s.Close())
	if file != l.Database() {
		l.Must(os.Remove(file))
	}
}

// fromTheFirstVersion starts a daemon on a database of the first released version, which it migrates, and another one
// on an empty disk.
func fromTheFirstVersion(t *testing.T) {
	storage := objectstest.New(t)
	p := daemontest.New(t, replicaSettings(storage.URL())...)
	db, err := sql.Open("sqlite", "file:"+p.Database())
	p.Must(err)
	conn, err := db.Conn(t.Context())
	p.Must(err)
	_, err = schema.Migrate(t.Context(), conn, time.Now().UnixMilli(), firstReleased)
	p.Must(err)
	const people = 5000
	_, err = conn.ExecContext(t.Context(), fmt.Sprintf(`
		INSERT INTO tenant (id, name, created_at, updated_at) VALUES ('00000000-0000-4000-8000-000000000001', 'old', 1, 1);
		INSERT INTO list (id, tenant_id, name, created_at, updated_at)
		VALUES ('00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000001', 'old', 1, 1);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO subscription (list_id, id, email, email_key, status, created_at, changed_at)
		SELECT '00000000-0000-4000-8000-000000000002', printf('00000000-0000-4000-8000-%%012x', i),
		       'old' || i || '@example.net', 'old' || i || '@example.net', 'active', 1, 1 FROM n`, people))
	p.Must(err)
	p.Must(conn.Close())
	p.Must(db.Close())
	p.Serve()
	p.Run("admin", "tenant", "create", "--name", "new")
	p.Kill()
	p.LoseDisk()
	p.Serve()
	for query, want := range map[string]int{
		"SELECT count(*) FROM subscription": people, "SELECT count(*) FROM tenant WHERE name IN ('old', 'new')": 2,
	} {
		if n := p.Number(query); n != want {
			t.Errorf("%s: %d in place of %d", query, n, want)
		}
	}
	p.Run("check")
	p.Run("replica", "drill")
	p.Stop()
}
