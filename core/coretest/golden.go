package coretest

import (
	"bytes"
	"os"
	"testing"
)

// Golden compares what a test got with a file, or writes the file (update).
func Golden(t testing.TB, update bool, path string, got []byte) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs (%v); got:\n%s", path, err, got)
	}
}
