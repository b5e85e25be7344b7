package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/picture/picturetest"
)

// gone measures the work that a daemon still does for a client that has disconnected.
type gone struct {
	*daemontest.Process

	hook, secret string // the webhook client, of Signed
}

// TestWorkOfThoseWhoLeave sends the largest inputs to a daemon, closes the connection during the work, and measures the
// CPU time and the time until the daemon is idle (`make work`).
func TestWorkOfThoseWhoLeave(t *testing.T) {
	if os.Getenv(coretest.WorkEnv) == "" {
		t.Skip("make work")
	}
	g := &gone{Process: daemontest.New(t)}
	g.Build()
	g.Serve()
	g.Records()
	g.TokenOf("op@acme.example", core.ScopeSend+" "+core.ScopeAdmin)
	client := g.Record("admin", "webhook-client", "create", "--tenant", g.Tenant, "--name", "Outside")
	g.hook, g.secret = client["id"].(string), client["secret"].(string)
	for _, c := range g.cases() {
		g.measure(c.name, c.size, c.request)
	}
}

// goneCase is an input of a certain size and the way it is sent. A request may need a new signature each time.
type goneCase struct {
	name    string
	size    int
	request func() []byte
}

func (g *gone) cases() (all []goneCase) {
	filled := func(piece string, n int) string { return strings.Repeat(piece, n/len(piece)) }
	picture := func(name, kind string, data []byte) {
		r := g.request("POST", "/api/media?name=a&tenant_id="+g.Tenant, data, "Content-Type", "image/"+kind)
		all = append(all, goneCase{name, len(data), func() []byte { return r }})
	}
	var noisy bytes.Buffer
	g.Must(png.Encode(&noisy, picturetest.Noisy(2400, 2900)))
	picture("JPEG, 19 scans", "jpeg", picturetest.ScansOf(true, 8000, 4900, 19))
	picture("JPEG, 100 scans", "jpeg", picturetest.ScansOf(true, 2760, 2760, 100))
	picture("JPEG of one scan", "jpeg", picturetest.Plain(8000, 5000, 0, 0x11, 0x11, 0x11))
	picture("PNG of 64 bits", "png", picturetest.Unfolded(5000, 4400, 16, 6))
	picture("PNG of noise", "png", noisy.Bytes())
	picture("GIF", "gif", picturetest.Frames(5000, 8))
	picture("WebP, lossless", "webp", picturetest.Transformed(5000, 5000))
	picture("WebP, lossy", "webp", picturetest.Lossy(5000, 5000, 9<<20))

	content := func(name, kind, source string) {
		made := g.Send("POST", "/api/campaigns", map[string]any{
			"list_ids": []string{g.List}, "subject": "a", "content": map[string]any{"kind": kind, "source": source},
		}).Wants(201)
		var campaign struct{ ID string }
		made.JSON(&campaign)
		r := g.request("POST", "/api/campaigns/"+campaign.ID+"/check", []byte("{}"))
		all = append(all, goneCase{name, len(source), func() []byte { return r }})
	}
	content("Markdown", "markdown", filled("a\n\n", 512<<10))
	content("blocks", "blocks", `{"version":1,"blocks":[{"type":"text","text":"`+filled(`- a\n`, 512<<10-100)+`"}]}`)

	template := func(name, body string) {
		b, err := json.Marshal(map[string]any{"tenant_id": g.Tenant, "body_html": body})
		g.Must(err)
		r := g.request("POST", "/api/admin/template-preview", b)
		all = append(all, goneCase{name, len(body), func() []byte { return r }})
	}
	template("template, tags", filled("<textarea></", 1<<20))
	template("template, a comment", "{% comment %}"+filled("{% ", 1<<20-40))

	const sync = "/webhooks/lists/full-sync"
	batch := []byte(`{"subscribers":[` + filled(`{},`, 8<<20-40) + `{}]}`)
	return append(all, goneCase{"full sync", len(batch), func() []byte { return g.signed(sync, batch) }})
}

// request returns the bytes of a request.
func (g *gone) request(method, path string, body []byte, headers ...string) []byte {
	r, err := http.NewRequestWithContext(g.Context(), method, g.URL+path, bytes.NewReader(body))
	g.Must(err)
	r.Header.Set("Authorization", "Bearer "+g.Token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	var b bytes.Buffer
	g.Must(r.Write(&b))
	return b.Bytes()
}

func (g *gone) signed(path string, body []byte) []byte {
	key, err := auth.ParseSecret(g.secret)
	g.Must(err)
	at, nonce := time.Now().Unix(), auth.NewNonce()
	return g.request("POST", path, body, auth.HeaderClientID, g.hook, auth.HeaderNonce, nonce, auth.HeaderTimestamp,
		strconv.FormatInt(at, 10), auth.HeaderSignature, auth.Sign(key, path, g.hook, at, nonce, body))
}

// The daemon counts as idle after it has used no CPU for this time.
const rest = 300 * time.Millisecond

// measure sends a complete request, and disconnects after the daemon has done a part of its work.
func (g *gone) measure(name string, size int, request func() []byte) {
	const longest = time.Second
	g.rests()
	begun := daemontest.CPU(g.PID())
	c := g.Dial()
	status, _, err := c.Do(request())
	c.Close()
	g.Must(err)
	g.rests()
	whole := daemontest.CPU(g.PID()) - begun
	var cpu, wall time.Duration
	for part := time.Duration(3); part <= 7; part += 2 {
		r, begun := request(), daemontest.CPU(g.PID())
		c := g.Dial()
		_, err := c.Write(r)
		g.Must(err)
		g.Every(time.Millisecond, func() bool {
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err := c.Read(make([]byte, 1))
			answered := !errors.Is(err, os.ErrDeadlineExceeded)
			return answered || daemontest.CPU(g.PID())-begun >= part*whole/10
		})
		c.Close()
		left, at := daemontest.CPU(g.PID()), time.Now()
		ended := g.rests()
		cpu, wall = max(cpu, daemontest.CPU(g.PID())-left), max(wall, ended.Sub(at))
	}
	fmt.Printf("| %s | %d KiB | %v | %v of CPU, %v, once the client has gone (answer %d) |\n",
		name, size>>10, whole, cpu, wall.Round(10*time.Millisecond), status)
	if cpu > longest {
		g.Errorf("%s: %v of CPU after the client has gone", name, cpu)
	}
}

// rests waits until the daemon is idle, and returns the time since which it is.
func (g *gone) rests() (since time.Time) {
	last := daemontest.CPU(g.PID())
	since = time.Now()
	g.Every(5*time.Millisecond, func() bool {
		if now := daemontest.CPU(g.PID()); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > rest
	})
	return since
}
