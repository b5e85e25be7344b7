//go:build linux && (amd64 || arm64)

package db

import (
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/libc"
)

func (a *pageArena) used() int {
	a.Lock()
	defer a.Unlock()
	return int(a.next-a.begin)/arenaSlot - len(a.free)
}

// TestPagesLieInTheArena checks that cached pages are in the arena, and that its slots have the right size. Another
// version of SQLite may have larger page headers.
func TestPagesLieInTheArena(t *testing.T) {
	if err := PrepareProcess(); err != nil {
		t.Fatal(err)
	}
	before := arena.used()
	s, err := open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "a.db"), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), func(tx *Tx) error {
		if _, err := tx.Exec("CREATE TABLE many (a INTEGER PRIMARY KEY, b TEXT) STRICT"); err != nil {
			return err
		}
		_, err := tx.Exec("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT " +
			"INTO many (b) SELECT printf('%3000d', i) FROM n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := arena.used() - before; n < 500 {
		t.Errorf("%d pages in the arena, want more than 500", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := arena.used() - before; n > 50 {
		t.Errorf("%d pages in the arena after the end", n)
	}
}

// TestArenaGrowsOut checks that the arena serves every block of the size of a page, including blocks that grow to that
// size.
func TestArenaGrowsOut(t *testing.T) {
	if err := PrepareProcess(); err != nil {
		t.Fatal(err)
	}
	tls := libc.NewTLS()
	defer tls.Close()
	before := arena.used()
	p := arenaMalloc(tls, 4200)
	if !arena.holds(p) || arena.used() != before+1 || arenaSize(tls, p) != arenaSlot || arenaRealloc(tls, p,
		4300) != p {
		t.Fatal("4200 bytes are not in the arena")
	}
	libc.Xmemset(tls, p, 'x', 4200)
	p = arenaRealloc(tls, p, 10_000)
	if arena.holds(p) || arena.used() != before || arenaSize(tls, p) < 10_000 {
		t.Fatal("10000 bytes are in the arena")
	}
	if b := libc.GoBytes(p, 4200); string(b) != strings.Repeat("x", 4200) {
		t.Fatal("its bytes changed")
	}
	arenaFree(tls, p)
	if p = arenaMalloc(tls, 100); arena.holds(p) {
		t.Fatal("100 bytes are in the arena")
	}
	if p = arenaRealloc(tls, p, 4200); p == 0 || arenaSize(tls, p) < 4200 {
		t.Fatal("100 bytes do not grow")
	}
	arenaFree(tls, p)
}
