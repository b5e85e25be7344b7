package replica

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/store/replica/objectstest"
)

// dump returns the whole content of a database, and fails if it is corrupt.
func dump(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	must(t, err)
	defer db.Close()
	var b strings.Builder
	for _, q := range []string{
		"PRAGMA integrity_check", "SELECT name || sql FROM sqlite_schema ORDER BY name",
		"SELECT n || ' ' || ifnull(hex(filler), '') FROM number ORDER BY n",
		"SELECT n || ' ' || hex(filler) FROM large ORDER BY n",
	} {
		rows, err := db.QueryContext(t.Context(), q)
		must(t, err)
		for rows.Next() {
			var line string
			must(t, rows.Scan(&line))
			b.WriteString(line + "\n")
		}
		must(t, rows.Err())
		must(t, rows.Close())
	}
	if !strings.HasPrefix(b.String(), "ok\n") {
		t.Errorf("%s: %.200s", path, b.String())
	}
	return b.String()
}

// TestStockLitestreamRestoresTheSame restores with the program in LITESTREAM, which make litestream sets. It restores a
// log as shipped, with a whole database in parts, compacted to each level, with a snapshot, and at a point in time.
func TestStockLitestreamRestoresTheSame(t *testing.T) {
	program := os.Getenv("LITESTREAM")
	if program == "" {
		t.Skip("LITESTREAM is not set: make litestream builds the original program and sets it")
	}
	t.Parallel()
	t.Run("s3", func(t *testing.T) {
		t.Parallel()
		url := objectstest.New(t).URL()
		stockRestores(t, program, url, strings.Replace(url, "path-style", "forcePathStyle", 1))
	})
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		url := "file://" + t.TempDir()
		stockRestores(t, program, url, url)
	})
}

func stockRestores(t *testing.T, program, url, theirs string) {
	ctx := t.Context()
	restore := func(args ...string) string {
		t.Helper()
		to := filepath.Join(t.TempDir(), "restored.db")
		c := exec.CommandContext(ctx, program, append(append([]string{"restore"}, args...), "-o", to, theirs)...)
		c.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "AWS_") })
		for i, name := range []string{"LITESTREAM_ACCESS_KEY_ID", "LITESTREAM_SECRET_ACCESS_KEY"} {
			_, value, _ := strings.Cut(objectstest.Environ("litestream")[i], "=")
			c.Env = append(c.Env, name+"="+value)
		}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return dump(t, to)
	}
	path := filepath.Join(t.TempDir(), "a.db")
	largeFile(t, path, 12) // is split into parts
	a := boot(t, url, path)
	n := 10
	check := func(what string) {
		t.Helper()
		for range 7 {
			must(t, a.add(ctx, n))
			n++
		}
		if restore() != dump(t, path) {
			t.Errorf("%s: restored is another database", what)
		}
	}
	check("as it is shipped")
	must(t, a.checkpointAfterCopy(ctx))
	check("after a checkpoint")
	type instant struct {
		at   time.Time
		want string
	}
	var instants []instant
	remember := func() {
		pass(t, ctx) // the storage has times in whole seconds
		instants = append(instants, instant{time.Now(), dump(t, path)})
		pass(t, ctx)
	}
	remember()
	for level := 1; level < levels; level++ {
		for range 2 {
			check("")
			for below := 1; below <= level; below++ {
				_, err := a.log.compact(ctx, below, a.ship.arrived, a.ship.recentBody)
				must(t, err)
			}
		}
		check(fmt.Sprintf("after a compaction to level %d", level))
	}
	remember()
	must(t, a.log.sweep(ctx, time.Now().Add(time.Hour), time.Now().Add(-time.Hour)))
	check("after what was compacted is removed")
	must(t, a.ship.snapshot(ctx))
	check("after a snapshot")
	remember()
	check("later")
	must(t, a.log.sweep(ctx, time.Now(), time.Now().Add(-time.Hour)))
	for i, in := range instants[1:] {
		if restore("-timestamp", in.at.UTC().Format(time.RFC3339Nano)) != in.want {
			t.Errorf("instant %d: restored is another database", i+1)
		}
	}
	a.stop(t)
	b, err := startMigrated(ctx, url, path)
	must(t, err)
	t.Cleanup(b.die)
	a = b
	check("after a migration")
	must(t, a.log.sweep(ctx, time.Now().Add(time.Hour), time.Now().Add(time.Hour)))
	check("after all before the snapshot is removed")
	wants(t, a.numbers(t), upTo(n))
}

// pass waits until the clock of the storage shows the next second.
func pass(t *testing.T, ctx context.Context) {
	t.Helper()
	must(t, pause(ctx, time.Until(time.Now().Truncate(time.Second).Add(1100*time.Millisecond))))
}
