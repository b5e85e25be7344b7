package replica

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/store/replica/objectstest"
)

// soak is a machine that works for a long time, and the numbers it has acknowledged.
type soak struct {
	t      *testing.T
	server *objectstest.Server
	url    string
	m      *machine
	path   string

	mu           sync.Mutex
	acknowledged []int
	number       atomic.Int64

	restores, backups, checkpoints, machines, migrations int
}

// TestSoak runs a machine for the duration SOAK, which is 30 s in make torture. Four callers and a command write,
// checkpoints run every few hundred pages, backups are made, the log is compacted and swept, whole copies are written,
// and the storage fails occasionally. Meanwhile the log is restored and each backup is opened: both must be intact and
// have everything acknowledged before. Sometimes the machine dies and another one continues, or it stops and starts
// with a migration.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil && os.Getenv("NEWSLETTERD_TORTURE") == "" {
		t.Skip("SOAK is not set (as 30m)")
	}
	if err != nil {
		length = 30 * time.Second
	}
	server := objectstest.New(t)
	s := &soak{t: t, server: server, url: server.URL(), path: filepath.Join(t.TempDir(), "0.db")}
	largeFile(t, s.path, 10)
	db, err := sql.Open("sqlite", "file:"+s.path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), "DELETE FROM number")
	must(t, err)
	must(t, db.Close())
	s.m = boot(t, s.url, s.path)
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		s.work(min(20*time.Second, time.Until(end)))
		s.change()
	}
	t.Logf("%s: %d acknowledged, %d checkpoints, %d restores, %d backups, %d machines died, %d migrations", length,
		len(s.acknowledged), s.checkpoints, s.restores, s.backups, s.machines, s.migrations)
}

// work lets the machine work for the given time, and makes restores and backups meanwhile.
func (s *soak) work(length time.Duration) {
	ctx, cancel := context.WithTimeout(s.t.Context(), length)
	defer cancel()
	foreign, err := sql.Open("sqlite", "file:"+s.path+"?_pragma=busy_timeout(5000)&_pragma=wal_autocheckpoint(0)"+
		"&_pragma=synchronous(FULL)&_txlock=immediate")
	must(s.t, err)
	defer foreign.Close()
	var all sync.WaitGroup
	for i := range 5 {
		m := s.m
		if i == 0 {
			m = &machine{Replica: m.Replica, db: foreign}
		}
		all.Go(func() { s.write(ctx, m) })
	}
	all.Go(func() { s.checkpointOften(ctx) })
	all.Go(func() { s.keepShortOften(ctx) })
	all.Go(func() {
		for ctx.Err() == nil {
			s.restore(ctx)
			s.backup(ctx)
			s.fail()
		}
	})
	all.Wait()
	s.server.Set(objectstest.Faults{})
}

func (s *soak) write(ctx context.Context, m *machine) {
	for ctx.Err() == nil {
		n := int(s.number.Add(1))
		m.lane.Lock()
		_, err := m.db.ExecContext(ctx, "INSERT INTO number VALUES (?, ?)", n, sumFiller(n))
		if err == nil && n%9 == 0 {
			_, err = m.db.ExecContext(ctx, "UPDATE large SET filler = randomblob(4000) WHERE n = ?", 1+n%2500)
		}
		s.m.Committed()
		m.lane.Unlock()
		if err == nil {
			err = s.m.Wait(ctx)
		}
		switch {
		case err == nil:
			s.mu.Lock()
			s.acknowledged = append(s.acknowledged, n)
			s.mu.Unlock()
		case strings.Contains(err.Error(), "SQLITE_BUSY"): // it timed out while waiting, and nothing was acknowledged
		case ctx.Err() == nil:
			s.t.Errorf("write %d: %v", n, err)
			return
		}
		_ = pause(ctx, time.Duration(rand.IntN(4))*time.Millisecond)
	}
}

// sumFiller returns the filler stored with a number.
func sumFiller(n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%08d", n), 20+n%60)
}

func (s *soak) checkpointOften(ctx context.Context) {
	most := uint32(200 + rand.IntN(400)) // in frames
	for pause(ctx, 5*time.Millisecond) == nil {
		if now, err := readIndex(s.path); err != nil || now.frames < most {
			continue
		}
		if s.m.checkpoint(ctx) == nil {
			s.checkpoints++
			most = uint32(200 + rand.IntN(400))
		}
	}
}

func (s *soak) keepShortOften(ctx context.Context) {
	var snapshot time.Time
	for pause(ctx, time.Second) == nil {
		last := [levels]time.Time{3: time.Now().Add(-time.Duration(rand.IntN(100)) * time.Minute)}
		if rand.IntN(15) > 0 {
			snapshot = time.Now()
		} else {
			snapshot = time.Time{}
		}
		if err := s.m.upkeep(&last, &snapshot); err != nil && ctx.Err() == nil {
			s.t.Logf("keep the log short: %v", err)
		}
	}
}

// restore restores the log while the machine works.
func (s *soak) restore(ctx context.Context) {
	s.mu.Lock()
	want := slices.Clone(s.acknowledged)
	s.mu.Unlock()
	to := filepath.Join(s.t.TempDir(), "restored.db")
	defer os.Remove(to)
	if _, err := s.m.log.restore(ctx, to, 0, time.Time{}); err != nil {
		if ctx.Err() == nil {
			s.t.Logf("restore: %v", err)
		}
		return
	}
	s.compare("restored", to, want)
	s.restores++
}

// backup copies the database with SQLite's backup while the machine works.
func (s *soak) backup(ctx context.Context) {
	s.mu.Lock()
	want := slices.Clone(s.acknowledged)
	s.mu.Unlock()
	to := filepath.Join(s.t.TempDir(), "backup.db")
	defer os.Remove(to)
	db, err := sql.Open("sqlite", "file:"+s.path+"?mode=ro")
	must(s.t, err)
	defer db.Close()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		if ctx.Err() == nil {
			s.t.Errorf("backup: %v", err)
		}
		return
	}
	s.compare("backup", to, want)
	s.backups++
}

// compare fails if the database at path is corrupt or lacks a number.
func (s *soak) compare(what, path string, want []int) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	must(s.t, err)
	defer db.Close()
	there := map[int]bool{}
	rows, err := db.QueryContext(s.t.Context(), "SELECT n, filler FROM number")
	must(s.t, err)
	defer rows.Close()
	for rows.Next() {
		var n int
		var filler sql.RawBytes
		must(s.t, rows.Scan(&n, &filler))
		there[n] = true
		if !bytes.Equal(filler, sumFiller(n)) {
			s.t.Errorf("%s: %d has other content", what, n)
			return
		}
	}
	must(s.t, rows.Err())
	lost := 0
	for _, n := range want {
		if !there[n] {
			lost++
		}
	}
	if lost > 0 {
		s.t.Errorf("%s: %d of %d are missing", what, lost, len(want))
	}
	var whole string
	var large int
	must(s.t, db.QueryRowContext(s.t.Context(), "PRAGMA integrity_check").Scan(&whole))
	must(s.t, db.QueryRowContext(s.t.Context(), "SELECT count(*) FROM large").Scan(&large))
	if whole != "ok" || large != 10<<20/4096 {
		s.t.Errorf("%s: %s, %d rows of %d", what, whole, large, 10<<20/4096)
	}
}

// fail sets other random faults of the storage, or none.
func (s *soak) fail() {
	kinds := []objectstest.Kind{objectstest.Error500, objectstest.Cut, objectstest.LostAnswer, objectstest.HalfAnswer}
	kind, share := kinds[rand.IntN(len(kinds))], rand.IntN(8)-3
	s.server.Set(objectstest.Faults{
		Latency: time.Duration(rand.IntN(8)) * time.Millisecond,
		Decide: func(objectstest.Request) objectstest.Fault {
			if rand.IntN(20) < share {
				return objectstest.Fault{Kind: kind}
			}
			return objectstest.Fault{}
		},
	})
}

// change ends the machine in a random way and continues with another one.
func (s *soak) change() {
	ctx := s.t.Context()
	switch rand.IntN(4) {
	case 0:
		s.m.stop(s.t)
		m, err := startMigrated(ctx, s.url, s.path)
		must(s.t, err)
		s.t.Cleanup(m.die)
		must(s.t, m.add(ctx, -int(s.number.Add(1))))
		_, err = m.db.ExecContext(ctx, "DELETE FROM number WHERE n < 0")
		must(s.t, err)
		m.Committed()
		s.m = m
		s.migrations++
		return
	case 1:
		s.m.stop(s.t)
	case 2:
		s.m.die()
		s.machines++
	default:
		s.m.die()
		s.path = filepath.Join(s.t.TempDir(), "n.db")
		s.machines++
	}
	s.m = boot(s.t, s.url, s.path)
	s.mu.Lock()
	want := slices.Clone(s.acknowledged)
	s.mu.Unlock()
	must(s.t, s.m.Wait(ctx))
	s.compare("the next machine", s.path, want)
}
