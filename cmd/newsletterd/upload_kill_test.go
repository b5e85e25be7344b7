package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
)

// TestKillDuringAnUpload kills the daemon during an upload. After the next start, nothing of the upload may be left: no
// rows, and no bytes that count against its owner.
func TestKillDuringAnUpload(t *testing.T) {
	daemontest.Parallel(t)
	f := daemontest.New(t)
	f.Serve()
	defer f.Stop()
	owner := f.Field("id", "admin", "user", "create", "--email", "ada@acme.example", "--verified")
	f.TokenOf(owner, "models.read models.write")
	const chunks = "SELECT count(*) FROM model_chunk"

	conn, err := net.Dial("tcp", strings.TrimPrefix(f.URL, "http://"))
	f.Must(err)
	defer conn.Close()
	fmt.Fprintf(conn,
		"POST /api/models?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n",
		f.Token,
		100<<20)
	_, err = conn.Write(make([]byte, 20<<20))
	f.Must(err)
	f.Every(5*time.Millisecond, func() bool { return f.Number(chunks) >= 10 })
	f.Kill()
	if n := f.Number(chunks); n < 10 {
		t.Fatalf("%d chunks before the next start", n)
	}

	f.Serve()
	f.Every(20*time.Millisecond, func() bool {
		return f.Number(chunks) == 0 &&
			f.Number("SELECT count(*) FROM model_file") == 0
	})
	if n := f.Number("SELECT coalesce(sum(bytes), 0) FROM model_usage"); n != 0 {
		t.Errorf("%d bytes still count against the owner", n)
	}
	if models := f.Get("/api/models").OK(); strings.TrimSpace(models.Text) != "[]" {
		t.Errorf("models: %s", models.Text)
	}
	f.Run("check")
	f.Send("POST", "/api/models?name=y", "whole", "Content-Type", "model/stl").Wants(http.StatusCreated)
}
