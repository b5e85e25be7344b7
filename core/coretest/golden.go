package coretest

import (
	"bytes"
	"os"
	"testing"
)

// Golden compares got with a golden file. If update is set, it writes the file instead.
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
