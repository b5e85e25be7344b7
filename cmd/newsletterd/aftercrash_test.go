package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// TestCheckAfterACrash starts the daemon on a database that was not closed. A small database must be checked before the
// daemon listens, and refused if it is damaged. A large one must be checked while the daemon runs, and the log and
// /healthz must show the damage.
func TestCheckAfterACrash(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	running, err := store.Open(t.Context(), db.Options{Path: path, Migrate: true, Mode: db.Daemon})
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	files := map[string][]byte{}
	for _, end := range []string{"", "-wal"} { // the files that a kill leaves
		if files[end], err = os.ReadFile(path + end); err != nil {
			t.Fatal(err)
		}
	}
	if len(files[""]) < 100*4096 {
		t.Fatalf("the main file has %d bytes: its pages are still in the -wal", len(files[""]))
	}
	write := func(name string, main []byte) string {
		to := filepath.Join(dir, name+".db")
		for end, b := range map[string][]byte{"": main, "-wal": files["-wal"]} {
			if err := os.WriteFile(to+end, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return to
	}
	var damaged []byte
	for page := len(files[""])/4096 - 1; page > 0 && damaged == nil; page-- { // damage of some pages prevents opening
		bad := bytes.Clone(files[""])
		copy(bad[page*4096:], bytes.Repeat([]byte{0xff}, 4096))
		s, err := store.Open(t.Context(), db.Options{Path: write("bad", bad), Mode: db.Daemon})
		if err != nil {
			continue
		}
		if found, err := s.QuickCheck(t.Context()); err == nil && len(found) > 0 {
			damaged = bad
		}
		s.Close()
	}
	try := func(name string, main []byte, first int64) (string, db.CheckState, error) {
		s, err := store.Open(t.Context(), db.Options{Path: write(name, main), Mode: db.Daemon})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer s.Close()
		var log daemontest.Log
		err = checkAfterCrash(t.Context(), s, first, slog.New(slog.NewJSONHandler(&log, nil)))
		daemontest.Await(t, "the check", func() bool { return s.CheckState() != db.CheckRunning })
		if err == nil {
			daemontest.Await(t, "the log", func() bool { return log.Has("is intact") || log.Has(`"level":"ERROR"`) })
		}
		return log.String(), s.CheckState(), err
	}
	if log, state, err := try("small", files[""], checkedFirst); err != nil || state != "" ||
		!strings.Contains(log, "the database is intact") || strings.Contains(log, "background") {
		t.Errorf("a small one: %v, %q, %s", err, state, log)
	}
	if _, _, err := try("small-damaged", damaged, checkedFirst); err == nil ||
		!strings.Contains(err.Error(), "the database is damaged") {
		t.Errorf("a small damaged one: %v", err)
	}
	if log, state, err := try("large", files[""], 0); err != nil || state != "" ||
		!strings.Contains(log, "in the background") || !strings.Contains(log, "the database is intact") {
		t.Errorf("a large one: %v, %q, %s", err, state, log)
	}
	if log, state, err := try("large-damaged", damaged, 0); err != nil || state != db.CheckDamaged ||
		!strings.Contains(log, "the database is damaged") {
		t.Errorf("a large damaged one: %v, %q, %s", err, state, log)
	}
}

// TestKillWithALargeDamagedDatabase kills a daemon with a large database and damages a page. The next daemon answers
// requests, and /healthz shows the damage once the check has found it.
func TestKillWithALargeDamagedDatabase(t *testing.T) {
	daemontest.Parallel(t)
	p := daemontest.New(t)
	p.Serve()
	p.Stop()
	p.Records()
	storetest.Foreign(t, p.Database(), `BEGIN;
		INSERT INTO model_file (owner_id, state, by_daemon, touched_at) VALUES ('none', 1, 0, 1);
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 24000)
			INSERT INTO model_chunk (file_no, chunk_no, data) SELECT 1, i, zeroblob(1500) FROM n;
		COMMIT`)()
	subscribe := func(email string) {
		t.Helper()
		p.Send("POST", "/api/newsletter/subscribe", map[string]string{"list_id": p.List, "email": email}).OK()
	}
	p.Serve()
	subscribe("before@example.org")
	p.Kill()
	damageLeaf(t, p.Database())
	p.Start()
	answers := func(status int) func() bool {
		return func() bool {
			r, err := p.Try(http.MethodGet, "/healthz", nil)
			return err == nil && (status == 0 || r.StatusCode == status)
		}
	}
	p.Every(time.Millisecond, answers(0))
	subscribe("during@example.org")
	p.Every(10*time.Millisecond, answers(http.StatusServiceUnavailable))
	if r := p.Send("GET", "/healthz", nil); !strings.Contains(r.Text, `"database":"damaged"`) {
		t.Errorf("after the check: %s", r.Text)
	}
	subscribe("after@example.org")
	p.Kill()
	if said := p.Out.String(); !strings.Contains(said, "in the background") || !strings.Contains(said, "is damaged") {
		t.Errorf("the log says %s", said)
	}
}

// damageLeaf overwrites a leaf page of the largest table, which is in the middle of the file.
func damageLeaf(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() <= checkedFirst {
		t.Fatalf("%d bytes, %v", info.Size(), err)
	}
	const leaf = 0x0d
	page := make([]byte, 4096)
	for at := info.Size() / 2 / 4096 * 4096; ; at += 4096 {
		if _, err := file.ReadAt(page, at); err != nil {
			t.Fatal(err)
		}
		if page[0] == leaf {
			_, err := file.WriteAt(bytes.Repeat([]byte{0xff}, len(page)), at)
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}
