package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jmoiron/sqlx"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/devices"
	"newsletterd/store/people"
	"newsletterd/store/storetest/faults"
)

// driverCalls returns the call counter of the driver sqlite-faults.
var driverCalls = sync.OnceValue(func() *faults.Calls {
	if err := db.PrepareProcess(); err != nil {
		panic(err)
	}
	c, err := faults.NewCalls("sqlite-faults")
	if err != nil {
		panic(err)
	}
	return c
})

var errBack = errors.New("rolled back")

const insertOfCrowd = "INSERT INTO mark (name, value) VALUES (?, '')"

var ofTheCrowd = []string{
	"BEGIN IMMEDIATE", "ROLLBACK", "PRAGMA data_version", "SAVEPOINT op", "RELEASE op",
	insertOfCrowd,
}

// story runs operations. It repeats each operation with a fault at the first driver call, at the second, and so on,
// until the operation succeeds. An operation that fails must leave no trace in the file, and an operation that succeeds
// must be stored.
type story struct {
	*testing.T
	*Store
	calls                        *faults.Calls
	tenant, list, user, endpoint string
	job                          core.SendJob
	clean                        *sqlx.DB // connection without faults, for checking the file
	crowd                        bool     // whether to run each operation in one transaction with two others
	faultless                    bool     // whether to run each operation once, without a fault
	tries                        int
	told                         map[string]bool
}

// Context returns a context with an administrator as the actor, which gives every change an audit entry.
func (s *story) Context() context.Context { return db.By(s.T.Context(), "command:story", now0) }

func newStory(t *testing.T, undo, crowd bool) *story {
	calls := driverCalls()
	calls.Undo = undo
	path := filepath.Join(t.TempDir(), "story.db")
	// Checkpoints are off, because faults must not hit the writer's work after an operation.
	s, err := Open(t.Context(),
		db.Options{Path: path, Migrate: true, WatchEvery: 1 << 40, ExternalCheckpoints: true, Driver: "sqlite-faults"})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	clean, err := sqlx.Open("sqlite", "file:"+path)
	must(t, err)
	t.Cleanup(func() { _ = clean.Close() })
	clean.SetMaxOpenConns(1)
	return &story{
		T: t, Store: s, calls: calls, clean: clean, crowd: crowd,
		told: map[string]bool{},
	}
}

// version returns a number that changes with every commit of the store.
func (s *story) version() (v int64) {
	s.Helper()
	must(s.T, s.clean.Get(&v, "PRAGMA data_version"))
	return v
}

// severalSteps lists the operations that consist of several transactions. Transactions completed before a fault stay.
var severalSteps = []string{
	"AddMedia", "AddShare", "AnsweredToken", "BulkStep", "ConfirmToken", "Housekeeping", "NewFaultWriter",
	"NewImportUpload", "NewUpload", "Optimize", "Ping", "PlanSync", "PublishPosts", "PurposeKey",
	"StorePicture", "WithdrawPosts",
}

// op runs an operation. It must be at most one transaction unless it is in severalSteps.
func (s *story) op(name string, fn func() error) {
	several := slices.Contains(severalSteps, name)
	s.Helper()
	s.told[name] = true
	if s.faultless {
		must(s.T, fn())
		return
	}
	step := 1
	if s.crowd && os.Getenv("NEWSLETTERD_TORTURE") == "" {
		step = 5 // enough for a daily run, because each fault takes a dozen goroutines
	}
	for n := 1; ; n += step {
		must(
			s.T,
			s.Update(s.T.Context(), func(tx *db.Tx) error { tx.Kick(db.TopicRecords); return nil }),
		) // disables caches that would avoid reads
		before := s.version()
		var skip []string
		if s.crowd {
			skip = ofTheCrowd
		}
		s.calls.FailAt(n, skip...)
		err := s.try(fn)
		at, wrote := s.calls.Stop()
		s.tries++
		if err != nil && strings.Contains(err.Error(), "panic") {
			s.Fatalf("%s, fault at %s: %v", name, at, err)
		}
		switch {
		case at == "" && err != nil:
			s.Fatalf("%s without a fault: %v", name, err)
		case at == "":
			return
		case strings.HasSuffix(at, " ROLLBACK") && (err == nil || s.crowd || several || s.version() == before):
			// The operation failed for its own reason, or was meant to leave nothing. No transaction may be open
			// afterwards.
			if err == nil {
				return
			}
		case err != nil && !errors.Is(err, core.ErrUnavailable):
			s.Errorf("%s, fault at %s: %v; it is no error of the storage", name, at, err)
		case s.crowd:
			if err == nil {
				return
			}
		case err != nil && !several && s.version() != before:
			s.Errorf("%s, fault at %s: refused, and something was committed: %v", name, at, err)
		case err == nil && wrote && s.version() == before:
			s.Errorf("%s, fault at %s: acknowledged, and nothing was committed", name, at)
		case err == nil:
			s.Errorf("%s, fault at %s: swallowed", name, at)
			return
		}
		if n > 5000 {
			s.Fatalf("%s does not come to an end", name)
		}
	}
}

// try runs an operation. In a crowd, it shares a transaction with two others, whose data must be stored if and only if
// they succeeded.
func (s *story) try(fn func() error) (err error) {
	s.Helper()
	if !s.crowd {
		return fn()
	}
	var wg sync.WaitGroup
	held, release, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		_ = s.Update(context.Background(), func(*db.Tx) error { close(held); <-release; return errBack })
	})
	<-held // makes the writer wait for the other operations
	wg.Go(func() { defer close(over); err = fn() })
	s.queued(1, over)
	var errs [2]error
	row := func(i int) string { return fmt.Sprint("crowd", s.tries, " ", i) }
	for i, do := range []func(context.Context, func(*db.Tx) error) error{s.Update, s.UpdateRepeatable} {
		wg.Go(func() {
			errs[i] = do(context.Background(), func(tx *db.Tx) error {
				_, err := tx.Exec(insertOfCrowd,
					row(i))
				return err
			})
		})
		s.queued(2+i, over)
	}
	close(release)
	wg.Wait()
	at, _ := s.calls.Stop()
	for i, err := range errs {
		var there bool
		must(s.T, s.clean.Get(&there, "SELECT EXISTS (SELECT 1 FROM mark WHERE name = ?)", row(i)))
		if there != (err == nil) {
			s.Errorf("one of the crowd was told %v, and its row is there: %v (fault at %s)", err, there, at)
		}
	}
	return err
}

// queued returns when n operations wait for the writer, or when one has ended without waiting.
func (s *story) queued(n int, over <-chan struct{}) {
	for ; s.Stats().Waiting < n; runtime.Gosched() {
		select {
		case <-over:
			return
		default:
		}
	}
}

// ask calls a method with arbitrary arguments.
func (s *story) ask(m reflect.Value, word string) []reflect.Value {
	if m.Type().IsVariadic() {
		return m.CallSlice(s.arguments(m.Type(), word))
	}
	return m.Call(s.arguments(m.Type(), word))
}

// ofEngine reports whether a method is a building block of operations: it takes functions, statements or a destination
// for rows.
func ofEngine(name string, m reflect.Type) bool {
	_, engine := reflect.TypeFor[*db.DB]().MethodByName(name)
	made := engine && (m.IsVariadic() || name == "TouchRecord" || name == "RemoveRecord")
	for i := range m.NumIn() {
		made = made || engine && m.In(i).Kind() == reflect.Func || m.In(i) == reflect.TypeFor[any]()
	}
	return made
}

// elsewhere lists the methods to which statement faults don't apply, and where they are tested.
var elsewhere = []string{
	"Close", "DiskState", // they run no statements
	"Backup", "Snapshot", // they use their own connections; see backup_test.go
	"QuickCheckInBackground",
	"RemoveFiles", "RemoveMedia", "SyncList", // they are steps of Housekeeping and RequestSync
	"MendReplica", // it runs no statements; see store/replica
}

func (s *story) arguments(m reflect.Type, word string) (in []reflect.Value) {
	for i := range m.NumIn() {
		var v any
		switch m.In(i) {
		case reflect.TypeFor[context.Context]():
			v = s.Context()
		case reflect.TypeFor[string]():
			v = word
		case reflect.TypeFor[[]string]():
			v = []string{word}
		case reflect.TypeFor[core.Email]():
			v = core.Email("bob@example.org")
		case reflect.TypeFor[core.Instant]():
			v = now0.Add(day)
		case reflect.TypeFor[core.Page]():
			v = core.Page{Limit: 10}
		case reflect.TypeFor[*core.SendJob]():
			v = &s.job
		case reflect.TypeFor[campaigns.ClaimKey]():
			v = campaigns.ClaimKey{JobNo: s.job.No, TenantID: s.tenant, ListID: s.list}
		case reflect.TypeFor[devices.LibraryPage]():
			v = devices.LibraryPage{Limit: 10, Query: "m"}
		case reflect.TypeFor[core.Caller]():
			v = core.Caller{UserID: s.user}
		case reflect.TypeFor[people.UndoRequest]():
			v = people.UndoRequest{ListID: s.list}
		default:
			switch m.In(i).Kind() {
			case reflect.Int, reflect.Int64:
				v = reflect.ValueOf(1).Convert(m.In(i)).Interface()
			case reflect.Bool:
				v = true
			case reflect.Pointer:
				v = reflect.New(m.In(i).Elem()).Interface()
			default:
				v = reflect.Zero(m.In(i)).Interface()
			}
		}
		in = append(in, reflect.ValueOf(v))
	}
	return in
}
