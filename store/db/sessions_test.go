package db

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"newsletterd/core"
)

func TestSessionsLiveInTheSameFile(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	sessions := s.Sessions()
	if err := sessions.Commit("tok", []byte("data"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := sessions.Commit("old", []byte("data"), time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if b, ok, err := sessions.Find("tok"); !ok || err != nil || string(b) != "data" {
		t.Errorf("find: %q %v %v", b, ok, err)
	}
	if _, ok, err := sessions.Find("old"); ok || err != nil {
		t.Errorf("expired: %v %v", ok, err)
	}
	if err := sessions.Delete("tok"); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := sessions.Find("tok"); ok {
		t.Error("deleted session found")
	}
	_ = s.Close()
	if _, _, err := sessions.Find("tok"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("closed: %v; want unavailable, never another store", err)
	}
}
