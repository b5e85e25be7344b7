package replica

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"newsletterd/store/replica/objects"
)

// TestADamagedHeaderOfWhatOthersHave checks that a file of level 0 with an unreadable header, whose changes are also in
// level 1 or a whole copy, causes no errors: neither when a machine starts with the database file or with an empty
// disk, nor when a whole copy repairs the log.
func TestADamagedHeaderOfWhatOthersHave(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		path := filepath.Join(t.TempDir(), "a.db")
		n := 0
		snapshot := time.Now()
		for _, compact := range []bool{true, false} {
			for _, size := range []int{50, 0} {
				a := boot(t, url, path)
				for range 20 {
					must(t, a.add(ctx, n))
					n++
				}
				newest := logFile{level: 0, min: a.ship.txid, max: a.ship.txid}
				if compact {
					must(t, a.upkeep(&[levels]time.Time{}, &snapshot))
				}
				spoil(t, a, newest, size)
				if !compact {
					must(t, a.upkeep(&[levels]time.Time{}, &snapshot))
					if broken, mended := a.Broken(); broken != nil || mended == nil {
						t.Errorf("%d bytes: %v, mended %v", size, broken, mended)
					}
				}
				_, err := a.log.plan(ctx, 0, zeroTime)
				must(t, err)
				a.stop(t)
				a = boot(t, url, path)
				if got := a.numbers(t); !slices.Equal(got, upTo(n)) || len(aside(t, path)) > 0 {
					t.Errorf("%d bytes: numbers %v, set aside %v", size, got, aside(t, path))
				}
				a.stop(t)
			}
		}
		wants(t, elsewhere(t, url), upTo(n))
	})
}

// TestADamagedStrayGivesWay checks that an unreadable file after the end of the log is replaced, at a start or when a
// file of the same name is shipped.
func TestADamagedStrayGivesWay(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		path := filepath.Join(t.TempDir(), "a.db")
		a := boot(t, url, path)
		for i := range 10 {
			must(t, a.add(ctx, i))
		}
		put := func(txid uint64, body string) {
			t.Helper()
			_, err := a.log.bucket.Put(ctx, a.log.key(0, txid, txid), []byte(body), objects.Condition{})
			must(t, err)
		}
		limited, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		put(a.ship.txid+1, "cut off")
		must(t, a.add(limited, 10))
		put(a.ship.txid+1, "")
		must(t, a.add(limited, 11))
		a.stop(t)
		end := a.ship.txid
		put(end+3, "cut off")
		put(end+4, "")
		a = boot(t, url, path)
		for _, txid := range []uint64{end + 3, end + 4} {
			if _, there, err := a.log.exists(ctx, txid); there || err != nil {
				t.Errorf("%d is still there: %v", txid, err)
			}
		}
		if got := a.numbers(t); !slices.Equal(got, upTo(12)) || len(aside(t, path)) > 0 {
			t.Errorf("numbers %v, set aside %v", got, aside(t, path))
		}
		a.die()
		wants(t, elsewhere(t, url), upTo(12))
	})
}
