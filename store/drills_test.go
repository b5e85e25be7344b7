package store

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
)

func TestDrillsAreRecorded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, db.Daemon)
	if d, err := s.LastDrill(ctx); d != nil || err != nil {
		t.Errorf("before the first: %+v, %v", d, err)
	}
	if text, err := s.DrillStarted(ctx); text != "" || err != nil {
		t.Errorf("before the first: %q, %v", text, err)
	}
	first, err := s.StartDrill(ctx)
	if err != nil || first == "" {
		t.Fatal(first, err)
	}
	second, err := s.StartDrill(ctx)
	if err != nil || second == first {
		t.Fatal(first, second, err)
	}
	for _, want := range []core.Drill{
		{At: 5, Whole: true, TXID: 7, Bytes: 4096, TookMS: 12},
		{At: 9, Findings: []string{"a part is missing"}},
	} {
		if err := s.KeepDrill(ctx, want); err != nil {
			t.Fatal(err)
		}
		if got, err := s.LastDrill(ctx); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%+v, %v; wanted %+v", got, err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = testOpen(t, path, db.Daemon)
	if text, err := s.DrillStarted(ctx); text != second || err != nil {
		t.Errorf("after a start: %q, %v", text, err)
	}
	if n, err := s.DrillCounts(ctx); err != nil || n != (core.DrillCounts{}) {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestWriteCopy(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	folder := t.TempDir()
	path := filepath.Join(folder, "a.db")
	s := testOpen(t, path, db.Daemon)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole := func(to string) error { return copyAs(path, to) }
	torn := func(to string) error { return os.WriteFile(to, []byte("no database"), 0o600) }
	failing := errors.New("the bucket is away")
	to := filepath.Join(folder, "b.db")
	if err := db.WriteCopy(ctx, to, torn); err == nil {
		t.Error("what is no database was taken")
	}
	if err := db.WriteCopy(ctx, to, func(string) error { return failing }); !errors.Is(err, failing) {
		t.Error(err)
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Error("a failed copy got its name")
	}
	if err := db.WriteCopy(ctx, to, whole); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(to); err != nil || fi.Mode().Perm() != 0o600 {
		t.Error(fi.Mode(), err)
	}
	if err := db.WriteCopy(ctx, to, whole); !errors.Is(err, db.ErrExists) {
		t.Errorf("over a file: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(folder, ".copy-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	b := testOpen(t, to, db.Daemon)
	if away, err := b.SettleHome(ctx, false, 1); !away || err != nil {
		t.Errorf("known as a copy: %t, %v", away, err)
	}
}

func copyAs(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}
