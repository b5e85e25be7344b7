package files

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

func TestPiecesAreReadByKey(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for _, q := range []string{readPiece, ReadMediaPiece} {
		plan, err := s.Explain(t.Context(), q)
		must(t, err)
		for _, step := range plan {
			if strings.HasPrefix(step, "SCAN") {
				t.Error(step)
			}
		}
	}
}

// TestPiecesOutliveTheirRow keeps bytes from the driver while it continues to read on the same connections. The driver
// must not overwrite these bytes.
func TestPiecesOutliveTheirRow(t *testing.T) {
	s, ctx := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon), t.Context()
	const chunks = 5
	want := make([]byte, chunks*ChunkSize)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(want)
	s.SQL("INSERT INTO model_file (no, owner_id, state, by_daemon, size, chunks, touched_at) VALUES (1, 'o', 1, 0, ?, ?, 1)",
		len(want), chunks)
	for i := range chunks {
		s.SQL("INSERT INTO model_chunk (file_no, chunk_no, data) VALUES (1, ?, ?)", i, want[i*ChunkSize:(i+1)*ChunkSize])
	}
	f := s.OpenPieces(ctx, readPiece, 1, int64(len(want)))
	var kept []piece
	for no := range int64(chunks * ChunkSize / PieceSize) {
		must(t, f.load(no))
		kept = append(kept, f.piece)
	}
	_ = s.Count("SELECT sum(length(data)) FROM model_chunk")
	for no, c := range kept {
		if !bytes.Equal(c, want[no*PieceSize:(no+1)*PieceSize]) {
			t.Errorf("piece %d changed", no)
		}
	}
}
