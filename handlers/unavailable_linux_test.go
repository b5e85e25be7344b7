package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/handlers/web"
	"newsletterd/store/storetest"
)

// outage is a daemon whose database is about to fail.
type outage struct {
	*env
	path  string
	tried int // number of checked responses
}

func newOutage(t *testing.T, dir string) *outage {
	path := filepath.Join(dir, "newsletterd.db")
	e := newEnvOn(t, storetest.OpenAt(t, path), modelLimits(core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 30}))
	e.step("person ann")
	e.step("device lamp owner=ann")
	e.step("model cube owner=ann")
	o := &outage{env: e, path: path}
	o.health(200, "ok", "ok")
	return o
}

// lookNow makes the next health check run, however recent the last one was.
func (o *outage) lookNow() {
	p := &o.handler.prober
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = time.Time{}
}

// promised returns the time that something may take: d in `make torture`, otherwise a minute, because other tests may
// use the machine.
func promised(d time.Duration) time.Duration {
	if os.Getenv("NEWSLETTERD_TORTURE") == "" {
		return time.Minute
	}
	return d
}

// health checks the response of the health check. TestHealthAnswersWhateverHangs checks how long it waits.
func (o *outage) health(status int, database, sessions string) {
	o.t.Helper()
	o.tried++
	o.lookNow()
	start := time.Now()
	res, b := o.ask("GET", "/healthz", "ann", nil)
	if took := time.Since(start); took > promised(time.Second) {
		o.t.Errorf("the health check took %v", took)
	}
	var got healthReply
	if err := json.Unmarshal(b, &got); err != nil || res.StatusCode != status || got.Database != database ||
		got.SessionStore != sessions {
		o.t.Errorf("health: %d %s, want %d with database %s and session store %s", res.StatusCode, b, status, database,
			sessions)
	}
}

// degraded checks whether the health check reports that only the disk reserve is left.
func (o *outage) degraded(want bool) {
	o.t.Helper()
	o.lookNow()
	res, b := o.ask("GET", "/healthz", "ann", nil)
	if res.StatusCode != http.StatusOK || o.store.RefusesWrites() != want ||
		want != strings.Contains(string(b), `"status":"degraded","database":"ok","session_store":"ok"`) ||
		want != strings.Contains(string(b), `"degraded":["disk_reserve"]`) {
		o.t.Errorf("health: %d %s, degraded should be %v", res.StatusCode, b, want)
	}
}

// recovers polls the health check until its status is 200, for as long as a recovery may take.
func (o *outage) recovers(within time.Duration) {
	o.t.Helper()
	for end := time.Now().Add(promised(within)); ; {
		res, b := o.ask("GET", "/healthz", "ann", nil)
		if res.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			o.t.Fatalf("not well again after %v: %s", within, b)
		}
	}
}

// write and read send requests about devices and models, and check the form of a 503.
func (o *outage) write(status int) {
	o.t.Helper()
	res, b := o.ask("PATCH", "/api/devices/"+o.value("lamp"), "ann", strings.NewReader(`{"name":"`+core.NewID()+`"}`),
		"Content-Type", "application/json")
	o.hold("write", res, b, status)
}

func (o *outage) read(status int) {
	o.t.Helper()
	o.expect("GET", "/api/models/"+o.value("cube")+"/profile", status)
	o.expect("GET", "/api/models/library?q=cube", status)
	o.expect("GET", "/api/models/"+o.value("cube")+"/download", status)
}

func (o *outage) expect(method, path string, status int) {
	o.t.Helper()
	res, b := o.ask(method, path, "ann", nil)
	o.hold(method+" "+path, res, b, status)
}

func (o *outage) hold(what string, res *http.Response, b []byte, status int) {
	o.t.Helper()
	o.tried++
	if res.StatusCode != status {
		o.t.Errorf("%s: %d %s, want %d", what, res.StatusCode, b, status)
		return
	}
	if status == http.StatusServiceUnavailable {
		checkForm(o.t, web.Device, status, b)
		if res.Header.Get("Retry-After") == "" || !strings.Contains(string(b), `"code":"storage_unavailable"`) {
			o.t.Errorf("%v %s", res.Header, b)
		}
	}
}

func TestDatabaseDeletedOrReplaced(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
		"moved": func(path string) error { return os.Rename(path, path+".away") },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutage(t, t.TempDir())
			defer coretest.Held(t, 13, &o.tried, "answers with the file deleted, replaced or moved")
			o.must(harm(o.path))
			o.write(503)
			o.read(503)
			o.health(503, "database_replaced", "database_replaced")
			if name == "moved" {
				o.must(os.Rename(o.path+".away", o.path))
				o.write(503) // until the daemon restarts
				o.health(503, "database_replaced", "database_replaced")
			}
		})
	}
}

// TestDatabaseLocked lets another program take the write lock. Reads continue. Writes wait 5 s and then get 503. When
// the lock is released, everything works again.
func TestDatabaseLocked(t *testing.T) {
	t.Parallel()
	o := newOutage(t, t.TempDir())
	defer coretest.Held(t, 13, &o.tried, "answers around a lock of another process")
	end := storetest.Foreign(t, o.path, "BEGIN IMMEDIATE")
	o.health(503, "unavailable", "unavailable")
	start := time.Now()
	o.write(503)
	if took := time.Since(start); took < 3*time.Second || took > promised(12*time.Second) {
		t.Errorf("a write waited %v", took)
	}
	o.read(200)
	end()
	o.recovers(2 * time.Second)
	o.write(200)
}

// TestDatabaseReadOnly makes every write to the files fail.
func TestDatabaseReadOnly(t *testing.T) {
	o := newOutage(t, t.TempDir())
	defer coretest.Held(t, 13, &o.tried, "answers around a file that cannot be written")
	end := storetest.ReadOnly(t, o.path)
	o.write(503)
	o.read(200)
	o.health(503, "unavailable", "unavailable")
	end()
	o.recovers(2 * time.Second)
	o.write(200)
}

// TestDiskFull fills a disk of 20 MiB with an upload, which gets 503 and leaves no data. Reads continue. When there is
// space again, everything works.
func TestDiskFull(t *testing.T) {
	dir := storetest.SmallDisk(t, "20")
	o := newOutage(t, dir)
	defer coretest.Held(t, 12, &o.tried, "requests around a full disk (tmpfs of 20 MiB)")
	res, b := o.ask("POST", "/api/models?name=big", "ann", strings.NewReader(strings.Repeat("x", 30<<20)))
	if res.StatusCode != 503 || !strings.Contains(string(b), `"code":"storage_unavailable"`) ||
		res.Header.Get("Retry-After") == "" {
		t.Errorf("upload: %d %s", res.StatusCode, b)
	}
	ballast := filepath.Join(dir, "ballast")
	fillDisk(t, ballast)
	taken, full := int64(len("content of cube")), false
	for size := 4 << 20; size >= 1; size /= 4 { // the unused space in the file and in the -wal holds some of them
		for range 2000 {
			o.tried++
			res, _ := o.ask("POST", "/api/models?name=more", "ann", strings.NewReader(strings.Repeat("x", size)))
			if full = res.StatusCode == 503; full {
				break
			}
			taken += int64(size)
		}
	}
	// an upload that failed releases its space in steps, and a checkpoint releases the space of the -wal
	for round := 0; ; round++ {
		refused := 0
		for range 5000 {
			o.tried++
			res, _ := o.ask("POST", "/api/agents", "ann", strings.NewReader(`{"name":"x"}`), "Content-Type",
				"application/json")
			if res.StatusCode == 503 {
				refused++
			}
			if res.StatusCode != 201 && (res.StatusCode != 503 || refused == 5) {
				break
			}
		}
		fillDisk(t, fmt.Sprint(ballast, round))
		o.lookNow()
		if res, _ := o.ask("GET", "/healthz", "ann", nil); res.StatusCode == 503 {
			break
		}
		if round == 20 {
			t.Fatalf("the disk never was full; %d writes were refused", refused)
		}
	}
	o.read(200)
	o.health(503, "unavailable", "unavailable")
	all, err := filepath.Glob(ballast + "*")
	o.must(err)
	for _, name := range all {
		o.must(os.Remove(name))
	}
	o.recovers(5 * time.Second)
	o.write(200)
	if n, err := o.store.Usage(t.Context(), o.value("ann.id")); err != nil || n != taken {
		t.Errorf("%d bytes are counted, %v, want %d", n, err, taken)
	}
	if found, err := o.store.Check(t.Context()); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}

// TestNoBytesFree checks that a disk without a free byte is unhealthy even before a write fails, and is healthy again
// when there is space.
func TestNoBytesFree(t *testing.T) {
	dir := storetest.SmallDisk(t, "20")
	o := newOutage(t, dir)
	o.health(200, "ok", "ok")
	ballast := filepath.Join(dir, "ballast")
	fillDisk(t, ballast)
	if !o.store.RefusesWrites() {
		t.Error("the full disk refuses nothing")
	}
	o.health(503, "unavailable", "unavailable")
	o.read(200)
	o.must(os.Remove(ballast))
	o.lookNow()
	o.health(200, "ok", "ok")
	if o.store.RefusesWrites() {
		t.Error("with room again, writes are refused")
	}
	o.write(200)
}

func fillDisk(t *testing.T, name string) {
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// TestDiskReserve fills a disk of 20 MiB up to its reserve. Writes that strangers cause are refused, and everything
// else continues.
func TestDiskReserve(t *testing.T) {
	dir := storetest.SmallDisk(t, "20")
	o := newOutage(t, dir)
	for _, step := range []string{
		"tenant acme", "list weekly tenant=acme", "person bob",
		`account una email=una@user.example password="correct horse battery" verified`,
		"sent-issue issue list=weekly email=eve@user.example",
		"unsubscribe-link leave list=weekly email=eve@user.example",
		"unsubscribe-link click list=weekly email=eve@user.example", "user root operator",
	} {
		o.step(step)
	}
	jsonBody := func(b string) []string { return []string{b, jsonType} }
	registration := jsonBody(`{"email":"n@user.example","password":"correct horse"}`)
	leaving := jsonBody(`{"token":"` + o.value("leave") + `"}`)
	form := func(b string) []string { return []string{b, formType} }
	list := o.value("weekly")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, path, as string, body []string) (*http.Response, []byte) {
		o.tried++
		req, err := http.NewRequestWithContext(t.Context(), method, o.url+path,
			strings.NewReader(strings.Join(body[:min(1, len(body))], "")))
		o.must(err)
		if body != nil {
			req.Header.Set("Content-Type", body[1])
		}
		if as != "" {
			req.Header.Set("Authorization", "Bearer "+o.value(as))
		}
		res, err := client.Do(req)
		o.must(err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		o.must(err)
		return res, b
	}
	var pending struct {
		Token string `json:"confirm_token"`
	}
	_, b := ask("POST", "/api/newsletter/subscribe", "", jsonBody(`{"list_id":"`+list+`","email":"pen@user.example"}`))
	o.must(json.Unmarshal(b, &pending))
	ballast := filepath.Join(dir, "ballast")
	var st syscall.Statfs_t
	o.must(syscall.Statfs(dir, &st))
	o.must(os.WriteFile(ballast, make([]byte, int64(st.Bavail)*st.Bsize-900<<10), 0o600))
	// the last measurement is valid for a second
	for pixel := "/t/o/" + o.value("issue.pixel") + ".gif"; ; time.Sleep(20 * time.Millisecond) {
		if res, _ := ask("GET", pixel, "", nil); res.StatusCode == http.StatusServiceUnavailable {
			break
		}
	}
	o.degraded(true)
	for _, tt := range []struct {
		name, method, path, as string
		body                   []string // body and its media type
		want                   int
	}{
		{"register", "POST", "/api/auth/register", "", registration, 503},
		{
			"subscribe", "POST", "/api/newsletter/subscribe", "",
			jsonBody(`{"list_id":"` + list + `","email":"new@user.example"}`), 503,
		},
		{"subscribe form", "POST", "/l/" + list, "", form("email=new@user.example"), 503},
		{"register, page", "POST", "/register", "", form("email=new@user.example&password=correct+horse+battery"), 503},
		{"forgot", "POST", "/api/auth/password/forgot", "", jsonBody(`{"email":"new@user.example"}`), 503},
		{"forgot, page", "POST", "/password/forgot", "", form("email=new@user.example"), 503},
		{
			"unsubscribe token", "POST", "/api/newsletter/unsubscribe-token", "",
			jsonBody(`{"list_id":"` + list + `","email":"n@user.example"}`), 503,
		},
		{"open", "GET", "/t/o/" + o.value("issue.pixel") + ".gif", "", nil, 503},
		{"upload", "POST", "/api/models?name=more", "ann", []string{"a model", "application/octet-stream"}, 503},
		{"empty upload", "POST", "/api/models?name=none", "ann", nil, 503},
		{
			"share", "POST", "/api/models/" + o.value("cube") + "/shares", "ann",
			jsonBody(`{"email":"bob@user.example","permission":"view"}`), 503,
		},
		{"click", "GET", "/t/c/" + o.value("issue.click"), "", nil, 302},
		{
			"sign in", "POST", "/api/auth/login", "",
			form("grant_type=password&username=una@user.example&password=correct+horse+battery"), 200,
		},
		{"confirm", "GET", "/api/newsletter/confirm?token=" + pending.Token, "", nil, 200},
		{"unsubscribe", "POST", "/api/newsletter/unsubscribe", "", leaving, 200},
		{
			"one click", "POST", "/api/newsletter/unsubscribe?token=" + o.value("click"), "",
			form("List-Unsubscribe=One-Click"), 200,
		},
		{"preferences", "POST", "/preferences", "", form("list=" + list + "&email=pen@user.example"), 200},
		{"a tenant", "POST", "/api/admin/tenants", "root", jsonBody(`{"name":"Other"}`), 201},
		{"a device", "PATCH", "/api/devices/" + o.value("lamp"), "ann", jsonBody(`{"name":"x"}`), 200},
		{"delete", "DELETE", "/api/models/" + o.value("cube"), "ann", nil, 204},
	} {
		res, b := ask(tt.method, tt.path, tt.as, tt.body)
		if res.StatusCode != tt.want {
			t.Errorf("%s: %d %s, want %d", tt.name, res.StatusCode, b, tt.want)
		}
		if tt.want == 503 && (res.Header.Get("Retry-After") != "60" ||
			!strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") &&
				!strings.Contains(string(b), `"error":"storage_unavailable"`)) {
			t.Errorf("%s: %v %s", tt.name, res.Header, b)
		}
	}
	if _, err := o.store.Subscription(t.Context(), list, "new@user.example"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("the refused subscription: %v", err)
	}
	o.must(os.Remove(ballast))
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		res, b := ask("POST", "/api/newsletter/subscribe", "",
			jsonBody(`{"list_id":"`+list+`","email":"new@user.example"}`))
		if res.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("with room again: %d %s", res.StatusCode, b)
		}
	}
	o.degraded(false)
}

// TestSessionStoreFails removes the table of sessions. The database is healthy, the session store is not, and no other
// store replaces it.
func TestSessionStoreFails(t *testing.T) {
	o := newOutage(t, t.TempDir())
	defer coretest.Held(t, 14, &o.tried, "answers around a session store that fails")
	storetest.Foreign(t, o.path, "ALTER TABLE sessions RENAME TO sessions_away")()
	o.health(503, "ok", "unavailable")
	o.write(200) // has a token and no session
	storetest.Foreign(t, o.path, "ALTER TABLE sessions_away RENAME TO sessions")()
	o.health(200, "ok", "ok")
}
