package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/storetest"
)

// outage is a daemon whose database is about to fail.
type outage struct {
	*env
	path  string
	tried int // answers that were looked at
}

func newOutage(t *testing.T, dir string) *outage {
	path := filepath.Join(dir, "newsletterd.db")
	e := newEnvOn(t, storetest.OpenAt(t, path))
	e.handler.options.ModelLimits = core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 30}
	e.step("person ann")
	e.step("device lamp owner=ann")
	e.step("model cube owner=ann")
	o := &outage{env: e, path: path}
	o.health(200, "ok", "ok")
	return o
}

// lookNow lets the next health check look, however short ago the last one was.
func (o *outage) lookNow() {
	p := &o.handler.prober
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = time.Time{}
}

// health looks at the health check, which must answer within a second.
func (o *outage) health(status int, database, sessions string) {
	o.t.Helper()
	o.tried++
	o.lookNow()
	start := time.Now()
	res, b := o.ask("GET", "/healthz", "ann", nil)
	if took := time.Since(start); took > time.Second {
		o.t.Errorf("the health check took %v", took)
	}
	var got healthReply
	if err := json.Unmarshal(b, &got); err != nil || res.StatusCode != status || got.Database != database || got.SessionStore != sessions {
		o.t.Errorf("health: %d %s, want %d with database %s and session store %s", res.StatusCode, b, status, database, sessions)
	}
}

// recovers asks for a health of status 200 until it is there, for as long as a recovery may take.
func (o *outage) recovers(within time.Duration) {
	o.t.Helper()
	for end := time.Now().Add(within); ; {
		res, b := o.ask("GET", "/healthz", "ann", nil)
		if res.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			o.t.Fatalf("not well again after %v: %s", within, b)
		}
	}
}

// write and read ask the device and model backend and hold a 503 against its form.
func (o *outage) write(status int) {
	o.t.Helper()
	res, b := o.ask("PATCH", "/api/devices/"+o.value("lamp"), "ann", strings.NewReader(`{"name":"`+core.NewID()+`"}`), "Content-Type", "application/json")
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
		checkForm(o.t, device, status, b)
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
				o.write(503) // until the daemon starts again
				o.health(503, "database_replaced", "database_replaced")
			}
		})
	}
}

// TestDatabaseLocked has another program take the write lock: reads go on, writes wait 5 s and are 503 then; without it
// everything works again by itself.
func TestDatabaseLocked(t *testing.T) {
	t.Parallel()
	o := newOutage(t, t.TempDir())
	defer coretest.Held(t, 13, &o.tried, "answers around a lock of another process")
	end := storetest.Foreign(t, o.path, "BEGIN IMMEDIATE")
	o.health(503, "unavailable", "unavailable")
	start := time.Now()
	o.write(503)
	if took := time.Since(start); took < 3*time.Second || took > 12*time.Second {
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

// TestDiskFull fills a disk of 20 MiB by an upload: it is 503 and leaves nothing, reads go on; with room again
// everything works by itself.
func TestDiskFull(t *testing.T) {
	dir := storetest.SmallDisk(t, "20")
	o := newOutage(t, dir)
	defer coretest.Held(t, 12, &o.tried, "requests around a full disk (tmpfs of 20 MiB)")
	res, b := o.ask("POST", "/api/models?name=big", "ann", strings.NewReader(strings.Repeat("x", 30<<20)))
	if res.StatusCode != 503 || !strings.Contains(string(b), `"code":"storage_unavailable"`) || res.Header.Get("Retry-After") == "" {
		t.Errorf("upload: %d %s", res.StatusCode, b)
	}
	ballast := filepath.Join(dir, "ballast")
	fillDisk(t, ballast)
	taken, full := int64(len("content of cube")), false
	for size := 4 << 20; size >= 1; size /= 4 { // what is left in the file and in the -wal takes some
		for range 2000 {
			o.tried++
			res, _ := o.ask("POST", "/api/models?name=more", "ann", strings.NewReader(strings.Repeat("x", size)))
			if full = res.StatusCode == 503; full {
				break
			}
			taken += int64(size)
		}
	}
	for round := 0; ; round++ { // an upload that failed gives back what it took, in steps, and a checkpoint the room of the -wal
		refused := 0
		for range 5000 {
			o.tried++
			res, _ := o.ask("POST", "/api/agents", "ann", strings.NewReader(`{"name":"x"}`), "Content-Type", "application/json")
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

// TestSessionStoreFails takes the table of sessions away: the database is well, the session store is not, and no other
// takes its place.
func TestSessionStoreFails(t *testing.T) {
	o := newOutage(t, t.TempDir())
	defer coretest.Held(t, 14, &o.tried, "answers around a session store that fails")
	storetest.Foreign(t, o.path, "ALTER TABLE sessions RENAME TO sessions_away")()
	o.health(503, "ok", "unavailable")
	o.write(200) // carries a token, no session
	storetest.Foreign(t, o.path, "ALTER TABLE sessions_away RENAME TO sessions")()
	o.health(200, "ok", "ok")
}
