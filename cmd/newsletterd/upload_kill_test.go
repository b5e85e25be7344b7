package main

import (
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The daemon is killed in the middle of an upload: after the next start nothing of it is left, neither rows nor bytes
// that count against its owner.
func TestKillDuringAnUpload(t *testing.T) {
	sideBySide(t)
	f := newProcess(t)
	f.serve()
	defer f.stop()
	owner := f.command("id", "admin", "user", "create", "--email", "ada@acme.example", "--verified")
	f.token = f.command("access_token", "admin", "token", "create", "--user", owner, "--scope", "models.read models.write")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(f.dir, "newsletterd.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	f.must(err)
	defer db.Close()
	number := func(query string) (n int64) {
		f.Helper()
		f.must(db.QueryRow(query).Scan(&n))
		return n
	}
	const chunks = "SELECT count(*) FROM model_chunk"

	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	f.must(err)
	defer conn.Close()
	fmt.Fprintf(conn,
		"POST /api/models?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", f.token,
		100<<20)
	_, err = conn.Write(make([]byte, 20<<20))
	f.must(err)
	f.every(5*time.Millisecond, func() bool { return number(chunks) >= 10 })
	f.must(syscall.Kill(f.daemon.Process.Pid, syscall.SIGKILL))
	_ = f.daemon.Wait()
	if n := number(chunks); n < 10 {
		t.Fatalf("%d chunks before the next start", n)
	}

	f.serve()
	f.every(20*time.Millisecond, func() bool {
		return number(chunks) == 0 &&
			number("SELECT count(*) FROM model_file") == 0
	})
	if n := number("SELECT coalesce(sum(bytes), 0) FROM model_usage"); n != 0 {
		t.Errorf("%d bytes still count against the owner", n)
	}
	if res, body := f.raw(http.MethodGet, "/api/models", nil); res.StatusCode != http.StatusOK ||
		strings.TrimSpace(string(body)) != "[]" {
		t.Errorf("models: %d %s", res.StatusCode, body)
	}
	f.command("", "check")
	if res, body := f.raw(http.MethodPost, "/api/models?name=y",
		strings.NewReader("whole")); res.StatusCode != http.StatusCreated {
		t.Errorf("the next upload: %d %s", res.StatusCode, body)
	}
}
