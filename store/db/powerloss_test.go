package db

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/core/coretest"
)

// sectorSize is the smallest unit that a disk writes atomically.
const sectorSize = 512

// recorded runs operations that each write several rows and pages. It returns the database as a crash would leave it,
// and the used size of the -wal at each acknowledgement.
func recorded(t *testing.T, operations int) (file, wal []byte, acked []int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	must(t, testOpen(t, path, Daemon).Close()) // the schema is in the file, and the -wal restarts
	s := testOpen(t, path, Daemon)
	for i := range operations {
		must(t, s.Update(t.Context(), func(tx *Tx) error {
			for part := range 3 {
				if _, err := tx.Exec("INSERT INTO mark (name, value) VALUES (?, ?)", fmt.Sprintf("op%03d-%d", i, part),
					strings.Repeat("x", 3000)); err != nil {
					return err
				}
			}
			return nil
		}))
		index, err := os.ReadFile(path + "-shm") // the -wal file can be longer than its used part
		must(t, err)
		// mxFrame of the WAL-index header, sqlite.org/walformat.html section 2.1
		frames := binary.NativeEndian.Uint32(index[16:])
		acked = append(acked, 32+int64(frames)*(24+4096))
	}
	file, err := os.ReadFile(path)
	must(t, err)
	wal, err = os.ReadFile(path + "-wal")
	must(t, err)
	return file, wal[:acked[operations-1]], acked
}

// TestPowerLossSurvives ends the -wal at each sector: truncated, followed by zeros, or followed by a corrupt sector.
// Operations acknowledged up to there must be complete, each later one complete or absent, and the file intact.
func TestPowerLossSurvives(t *testing.T) {
	step := 24 // in sectors
	if os.Getenv("NEWSLETTERD_TORTURE") != "" {
		step = 1
	}
	images := 0
	defer coretest.Held(t, 2, &images, "crash images whose -wal ends at any sector")
	file, whole, acked := recorded(t, 16)
	path := filepath.Join(t.TempDir(), "image.db")
	for at := 0; at <= len(whole); at += step * sectorSize {
		cut := whole[:at]
		zeroed := append(append([]byte{}, cut...), make([]byte, len(whole)-at)...)
		torn := append([]byte{}, whole...)
		for i := at; i < min(at+sectorSize, len(torn)); i++ {
			torn[i] ^= 0xff
		}
		want := 0
		for _, end := range acked {
			if end <= int64(at) {
				want++
			}
		}
		for how, wal := range map[string][]byte{"cut": cut, "zeroed": zeroed, "torn": torn} {
			must(t, os.WriteFile(path, file, 0o600))
			must(t, os.WriteFile(path+"-wal", wal, 0o600))
			holds(t, path, want, fmt.Sprintf("%s at %d", how, at))
			images++
		}
	}
}

// holds fails unless the image has at least the want acknowledged operations, and no operation in part.
func holds(t *testing.T, path string, want int, how string) {
	t.Helper()
	defer removeDatabase(path)
	s, err := open(t.Context(), Options{Path: path})
	if err != nil {
		t.Errorf("%s: %v", how, err)
		return
	}
	defer s.Close()
	var names []string
	must(t, s.All(t.Context(), &names,
		"SELECT name FROM mark WHERE name LIKE 'op%' AND length(value) = 3000 ORDER BY name"))
	if n := len(names); n%3 != 0 || n < 3*want || n > 0 && names[n-1] != fmt.Sprintf("op%03d-2",
		n/3-1) { // more if only zeros were lost
		t.Errorf("%s: %d rows, want the %d of %d operations", how, n, 3*want, want)
	}
	if found, err := s.CheckFile(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("%s: %v %v", how, found, err)
	}
}
