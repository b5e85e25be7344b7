package store

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"newsletterd/core"
)

// TestPiecesOutliveTheirRow keeps what the driver gave and reads on over the same connections: no one writes into it.
func TestPiecesOutliveTheirRow(t *testing.T) {
	s, ctx := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon), t.Context()
	want := make([]byte, 5*ChunkSize)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(want)
	user := core.NewUser("o@a.co", 1)
	must(t, s.AddUser(ctx, user, "", 1))
	u := s.NewUpload(user.ID, core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 40})
	defer u.Close(ctx)
	must(t, u.ReadFrom(ctx, bytes.NewReader(want), nil, func() core.Instant { return 10 }))
	m, err := core.NewModel(user.ID, core.ModelInput{Name: "m"}, 10)
	must(t, err)
	m, err = u.Commit(ctx, m, "command")
	must(t, err)
	f := s.OpenFile(ctx, &m)
	var kept []piece
	for no := range int64(5 * ChunkSize / pieceSize) {
		must(t, f.load(no))
		kept = append(kept, f.piece)
	}
	if _, err := s.Library(ctx, core.Caller{UserID: m.OwnerID}, LibraryPage{Limit: 5}); err != nil {
		t.Error(err)
	}
	for no, c := range kept {
		if !bytes.Equal(c, want[no*pieceSize:(no+1)*pieceSize]) {
			t.Errorf("piece %d changed", no)
		}
	}
}

// Without a setting, all files together may have half of the disk.
func TestModelsMayHaveHalfOfTheDisk(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	if total, err := s.modelBytes(core.ModelLimits{}); err != nil || total < 1<<20 {
		t.Errorf("half of the disk is %d, %v", total, err)
	}
}
