package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/replica"
	"newsletterd/store/replica/objectstest"
	"newsletterd/store/storetest"
)

// drilled is a served database that is kept in a bucket.
type drilled struct {
	store  *store.Store
	bucket *objectstest.Server
	drill  *drill
}

func newDrilled(t *testing.T) *drilled {
	t.Helper()
	bucket, path := objectstest.New(t), filepath.Join(t.TempDir(), "newsletterd.db")
	r, err := replica.New(replica.Options{
		URL: bucket.URL(), Env: objectstest.Env("daemon"), Path: path, TTL: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), db.Options{Path: path, Migrate: true, Replica: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		bucket.Set(objectstest.Faults{})
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	seed := storetest.Seed(t, s)
	list := seed.NewList()
	for _, who := range []core.Email{"a@example.org", "b@example.org"} {
		seed.Active(list.ID, who)
	}
	cfg := &config.Config{Database: config.Database{Path: path}, Replica: config.Replica{
		URL: bucket.URL(), TTL: config.Duration(10 * time.Second), Acknowledge: true,
	}}
	return &drilled{s, bucket, &drill{cfg: cfg, env: objectstest.Env("drill"), store: s, serves: true}}
}

func (k *drilled) try(t *testing.T) core.Drill {
	t.Helper()
	d, err := k.drill.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if last, err := k.store.LastDrill(t.Context()); err != nil || last == nil || last.At != d.At || last.Whole != d.Whole {
		t.Errorf("kept: %+v, %v", last, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(k.store.Path()), drillFolder+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	return d
}

func TestDrillOfAWholeReplica(t *testing.T) {
	t.Parallel()
	k := newDrilled(t)
	if d := k.try(t); !d.Whole || len(d.Findings) > 0 || d.TXID == 0 || d.Bytes < 1<<16 {
		t.Errorf("%+v", d)
	}
	old := filepath.Join(filepath.Dir(k.store.Path()), drillFolder+"1")
	recent := filepath.Join(filepath.Dir(k.store.Path()), drillFolder+"2")
	for _, folder := range []string{old, recent} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	removeOldDrills(filepath.Dir(k.store.Path()))
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("what a killed drill left: %v", err)
	}
	if _, err := os.Stat(recent); err != nil {
		t.Errorf("what another drill uses: %v", err)
	}
}

func TestDrillFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	k := newDrilled(t)
	want := func(d core.Drill, finding string) {
		t.Helper()
		if d.Whole || !slices.ContainsFunc(d.Findings, func(f string) bool { return strings.Contains(f, finding) }) {
			t.Errorf("%+v, and not: %s", d, finding)
		}
	}
	// The replica is late, but arrived says that it isn't.
	k.bucket.Set(objectstest.Faults{Decide: func(r objectstest.Request) (f objectstest.Fault) {
		if r.Op == "PUT" && strings.Contains(r.Key, "0000/") {
			f.Kind = objectstest.Error500
		}
		return f
	}})
	k.drill.arrived = func(context.Context) error { return nil }
	want(k.try(t), "lacks the last write")
	k.bucket.Set(objectstest.Faults{})
	k.drill.arrived = nil
	if d := k.try(t); !d.Whole {
		t.Errorf("%+v", d)
	}
	// The files of the log are damaged. The daemon may compact it meanwhile, and replace several files with an intact
	// one.
	var d core.Drill
	for range 3 {
		for _, key := range k.bucket.Keys() {
			if body, ok := k.bucket.Object(key); ok && strings.HasSuffix(key, ".ltx") {
				body = bytes.Clone(body)
				body[len(body)/2]++
				k.bucket.Store(key, body)
			}
		}
		if d = k.try(t); !d.Whole {
			break
		}
	}
	want(d, "log")
}

// TestDrillByACommandNextToTheDaemon checks that the command detects that this machine's daemon serves the database,
// and records the result there.
func TestDrillByACommandNextToTheDaemon(t *testing.T) {
	t.Parallel()
	k := newDrilled(t)
	var out, errs bytes.Buffer
	p := newProgram(strings.NewReader(""), &out, &errs, nil)
	p.Env = append(objectstest.Environ("command"), "NEWSLETTERD_DATABASE_PATH="+k.store.Path(),
		"NEWSLETTERD_REPLICA_URL="+k.bucket.URL())
	if code := p.run(t.Context(), []string{"newsletterd", "replica", "drill", "--json"}); code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var d core.Drill
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	last, err := k.store.LastDrill(t.Context())
	if err != nil || last == nil || last.At != d.At || !d.Whole {
		t.Errorf("printed %+v, kept %+v, %v", d, last, err)
	}
}

// TestDrillMendsWhatItFinds checks that the daemon ships the whole database again if the restore test finds a damaged
// log. Meanwhile the health check reports the replica as broken. Then the replica is intact, and the findings are kept.
func TestDrillMendsWhatItFinds(t *testing.T) {
	t.Parallel()
	k := newDrilled(t)
	k.drill.mends = true
	h, err := handlers.New(handlers.Options{Store: k.store})
	if err != nil {
		t.Fatal(err)
	}
	health := func(want string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", http.NoBody))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"replica":"`+want+`"`) {
			t.Errorf("%d %s, and not %s", w.Code, w.Body, want)
		}
	}
	damage := func() {
		t.Helper()
		for _, key := range k.bucket.Keys() {
			if body, ok := k.bucket.Object(key); ok && strings.HasSuffix(key, ".ltx") {
				body[len(body)/2]++
				k.bucket.Store(key, body)
			}
		}
	}
	damage()
	refuses := atomic.Bool{}
	refuses.Store(true)
	k.bucket.Set(objectstest.Faults{Decide: func(r objectstest.Request) (f objectstest.Fault) {
		if refuses.Load() && strings.Contains(r.Key, "0009/") && r.Op != "LIST" {
			f.Kind = objectstest.Conflict // for the copy of the whole database
		}
		return f
	}})
	if d := k.try(t); d.Whole || !strings.Contains(strings.Join(d.Findings, " "), "replica could not be repaired") {
		t.Errorf("%+v", d)
	}
	health("replica_broken")
	refuses.Store(false)
	d := k.try(t)
	if !d.Whole || len(d.Findings) > 0 || !strings.Contains(strings.Join(d.Mended, " "), "log") {
		t.Errorf("%+v", d)
	}
	health("ok")
	wantFinding(t, k.replicaFindings(t, true), "restore test", core.LevelWarning, "a full copy was needed")
	if d := k.try(t); !d.Whole || len(d.Mended) > 0 {
		t.Errorf("%+v", d)
	}
	state, _ := k.store.ReplicaState()
	if state.Broken != nil || state.Mended == nil {
		t.Errorf("%+v", state)
	}
}

// TestNoDrillInAnOutage checks that without a reachable bucket, there is an early error but no restore test and no
// finding.
func TestNoDrillInAnOutage(t *testing.T) {
	t.Parallel()
	k := newDrilled(t)
	k.bucket.Set(objectstest.Faults{Decide: func(objectstest.Request) objectstest.Fault {
		return objectstest.Fault{Kind: objectstest.Hang}
	}})
	begin := time.Now()
	_, err := k.drill.run(t.Context())
	if !errors.Is(err, errNotMade) {
		t.Errorf("%v", err)
	}
	if took := time.Since(begin); took > 3*drillReaches {
		t.Errorf("it took %s", took)
	}
	k.bucket.Set(objectstest.Faults{})
	if last, err := k.store.LastDrill(t.Context()); err != nil || last != nil {
		t.Errorf("kept: %+v, %v", last, err)
	}
}
