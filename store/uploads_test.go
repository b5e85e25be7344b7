package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"newsletterd/core"
)

// noise is n bytes that no compression or reuse could pass off as others.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

func at10() core.Instant { return 10 }

func upload(s *Store, owner core.Caller, r io.Reader, limits core.ModelLimits) (core.Model, error) {
	ctx := context.Background()
	m, err := core.NewModel(owner.UserID, core.ModelInput{Name: "m"}, 10)
	if err != nil {
		return m, err
	}
	u := s.NewUpload(owner.UserID, limits)
	defer u.Close(ctx)
	if err := u.ReadFrom(ctx, r, nil, at10); err != nil {
		return m, err
	}
	return u.Commit(ctx, m, "command")
}

func TestFilesComeBackAsTheyWere(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	owner := testUser(t, s, "o@a.co")
	for _, size := range []int{
		0, 1, uploadPatch, uploadPatch + 1, ChunkSize - 1, ChunkSize, ChunkSize + 1,
		3*ChunkSize + 12345,
	} {
		want := noise(size)
		m, err := upload(s, owner, iotest.HalfReader(bytes.NewReader(want)), roomy)
		if err != nil {
			t.Fatal(size, err)
		}
		sum := sha256.Sum256(want)
		if m.Size != int64(size) || m.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%d bytes: %+v", size, m)
		}
		f := s.OpenFile(t.Context(), &m)
		if err := iotest.TestReader(f, want); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if n, err := s.Usage(t.Context(),
		owner.UserID); err != nil || n != 0+1+2*uploadPatch+1+3*ChunkSize+3*ChunkSize+12345 {
		t.Errorf("usage %d %v", n, err)
	}
}

// TestPiecesOutliveTheirRow keeps what the driver gave and reads on over the same connections: no one writes into it.
func TestPiecesOutliveTheirRow(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	want := noise(5 * ChunkSize)
	m, err := upload(s, testUser(t, s, "o@a.co"), bytes.NewReader(want), roomy)
	if err != nil {
		t.Fatal(err)
	}
	f := s.OpenFile(t.Context(), &m)
	var kept []piece
	for no := range int64(5 * ChunkSize / pieceSize) {
		if err := f.load(no); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, f.piece)
	}
	if _, err := s.Library(t.Context(), core.Caller{UserID: m.OwnerID}, LibraryPage{Limit: 5}); err != nil {
		t.Error(err)
	}
	for no, c := range kept {
		if !bytes.Equal(c, want[no*pieceSize:(no+1)*pieceSize]) {
			t.Errorf("piece %d changed", no)
		}
	}
}

func TestABrokenUploadLeavesNothing(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		r      io.Reader
		limits core.ModelLimits
		want   error
	}{
		"at once": {iotest.ErrReader(broken), roomy, broken},
		"in the middle": {
			io.MultiReader(bytes.NewReader(noise(2*ChunkSize+5)), iotest.ErrReader(broken)), roomy,
			broken,
		},
		"model too large": {
			bytes.NewReader(noise(3*ChunkSize + 1)),
			core.ModelLimits{Bytes: 3 * ChunkSize, BytesPerOwner: 1 << 40},
			&core.Error{Kind: core.TooLarge},
		},
		"owner full": {
			bytes.NewReader(noise(3 * ChunkSize)),
			core.ModelLimits{Bytes: 1 << 40, BytesPerOwner: 3*ChunkSize - 1},
			&core.Error{Kind: core.TooLarge},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
			owner := testUser(t, s, "o@a.co")
			if _, err := upload(s, owner, tt.r, tt.limits); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if n, err := s.Usage(t.Context(), owner.UserID); err != nil || n != 0 {
				t.Errorf("usage %d %v", n, err)
			}
			if ms, err := s.Models(t.Context(), owner.UserID, 0, 10); err != nil || len(ms) != 0 {
				t.Errorf("models %+v %v", ms, err)
			}
			for _, table := range []string{"model_file", "model_chunk"} {
				var n int
				if err := s.get(t.Context(), &n, "SELECT count(*) FROM "+table); err != nil || n != 0 {
					t.Errorf("%d rows of %s, %v", n, table, err)
				}
			}
		})
	}
}

// An owner has so many models, empty ones too, and all files together have so many bytes.
func TestModelsAreBounded(t *testing.T) {
	s, ctx := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon), t.Context()
	owner, other := testUser(t, s, "o@a.co"), testUser(t, s, "p@a.co")
	limits := core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 40, BytesTotal: 3 * ChunkSize, PerOwner: 3}
	var first core.Model
	for i := range 3 {
		if err := s.MayAddModel(ctx, owner.UserID, limits); err != nil {
			t.Fatal(err)
		}
		m, err := upload(s, owner, bytes.NewReader(noise(i*1000)), limits)
		if err != nil {
			t.Fatal(err)
		}
		first = m
	}
	if err := s.MayAddModel(ctx, owner.UserID, limits); core.KindOf(err) != core.Conflict {
		t.Errorf("before a fourth: %v", err)
	}
	if _, err := upload(s, owner, strings.NewReader(""), limits); core.KindOf(err) != core.Conflict {
		t.Errorf("a fourth: %v", err)
	}
	if _, err := upload(s, other, bytes.NewReader(noise(3*ChunkSize-3000+1)), limits); !errors.Is(err,
		core.ErrStorage) {
		t.Errorf("a byte more than the total: %v", err)
	}
	if _, err := upload(s, other, bytes.NewReader(noise(3*ChunkSize-3000)), limits); err != nil {
		t.Errorf("up to the total: %v", err)
	}
	if err := s.DeleteModel(ctx, first.ID, owner.UserID, "command", 20); err != nil {
		t.Fatal(err)
	}
	if _, err := upload(s, owner, strings.NewReader("x"), limits); !errors.Is(err, core.ErrStorage) {
		t.Errorf("before the file is removed: %v", err)
	}
	for more := true; more; {
		var err error
		if more, err = s.removeFiles(ctx, 20); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := upload(s, owner, strings.NewReader("x"), limits); err != nil {
		t.Errorf("after the file is removed: %v", err)
	}
	if found, err := s.Check(ctx); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	limits.BytesTotal = 0
	if total, err := s.modelBytes(limits); err != nil || total < 1<<20 {
		t.Errorf("half of the disk is %d, %v", total, err)
	}
}

func TestAnUploadIsInvisibleUntilItIsWhole(t *testing.T) {
	s, ctx := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon), t.Context()
	owner := testUser(t, s, "o@a.co")
	u := s.NewUpload(owner.UserID, roomy)
	if err := u.ReadFrom(ctx, bytes.NewReader(noise(2*ChunkSize)), nil, at10); err != nil {
		t.Fatal(err)
	}
	if ms, err := s.Library(ctx, owner, LibraryPage{Limit: 5}); err != nil || len(ms) != 0 {
		t.Errorf("library %+v %v", ms, err)
	}
	m, _ := core.NewModel(owner.UserID, core.ModelInput{Name: "m"}, 10)
	if _, err := u.Commit(ctx, m, "command"); err != nil {
		t.Fatal(err)
	}
	u.Close(ctx)
	if ms, err := s.Library(ctx, owner, LibraryPage{Limit: 5}); err != nil || len(ms) != 1 {
		t.Errorf("library %+v %v", ms, err)
	}
	if err := s.DeleteModel(ctx, m.ID, owner.UserID, "command", 20); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Usage(ctx, owner.UserID); err != nil || n != 0 {
		t.Errorf("usage after the delete: %d %v", n, err)
	}
	drained(t, s)
}

// TestUploadsAtOnceStayWithinTheOwnersRoom lets 8 uploads of 2 MiB race for 9 MiB.
func TestUploadsAtOnceStayWithinTheOwnersRoom(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	owner := testUser(t, s, "o@a.co")
	limits := core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 9 * ChunkSize}
	var kept atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := upload(s, owner, bytes.NewReader(noise(2*ChunkSize)), limits); err == nil {
				kept.Add(1)
			} else if core.KindOf(err) != core.TooLarge {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n, err := s.Usage(t.Context(),
		owner.UserID); err != nil || n != 2*ChunkSize*kept.Load() || n > limits.BytesPerOwner {
		t.Errorf("usage %d after %d uploads, %v", n, kept.Load(), err)
	}
}

func TestADownloadEndsWhenItsModelGoes(t *testing.T) {
	s, ctx := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon), t.Context()
	owner := testUser(t, s, "o@a.co")
	m, err := upload(s, owner, bytes.NewReader(noise(2*ChunkSize)), roomy)
	if err != nil {
		t.Fatal(err)
	}
	f := s.OpenFile(ctx, &m)
	if _, err := io.CopyN(io.Discard, f, 100); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteModel(ctx, m.ID, owner.UserID, "command", 20); err != nil {
		t.Fatal(err)
	}
	drained(t, s)
	n, err := io.Copy(io.Discard, f)
	if !errors.Is(err, core.ErrNotFound) || !errors.Is(f.Err(), core.ErrNotFound) || n != pieceSize-100 {
		t.Errorf("%d bytes, %v, %v", n, err, f.Err())
	}
}

// TestAnUploadThatItsProcessForgotGoes shows the two ways out for a process that is gone: a daemon's uploads end with
// the next start, a command's after a while.
func TestAnUploadThatItsProcessForgotGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	owner := testUser(t, s, "o@a.co")
	command := testOpen(t, path, Command)
	u := command.NewUpload(owner.UserID, roomy)
	if err := u.ReadFrom(t.Context(), bytes.NewReader(noise(10)), nil, at10); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Housekeeping(t.Context(), Retention{}, core.Instant(10).Add(uploadDead)); err != nil {
		t.Fatal(err)
	}
	if err := u.ReadFrom(t.Context(), bytes.NewReader(noise(10)), nil, at10); err != nil {
		t.Errorf("a living upload: %v", err)
	}
	if _, err := s.Housekeeping(t.Context(), Retention{}, core.Instant(11).Add(uploadDead)); err != nil {
		t.Fatal(err)
	}
	if err := u.ReadFrom(t.Context(), bytes.NewReader(noise(10)), nil, at10); !errors.Is(err, errSlowUpload) {
		t.Errorf("after its time: %v", err)
	}
	u.Close(t.Context())
	drained(t, s)
}

// TestUploadChild is no test but the victim of the next one.
func TestUploadChild(t *testing.T) {
	path := os.Getenv("STORE_UPLOAD_CHILD")
	if path == "" {
		t.Skip("the victim of TestKillDuringAnUploadLeavesNothing")
	}
	s, err := Open(context.Background(), Options{Path: path, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	user := testUser(t, s, core.NewID()+"@a.co")
	r := io.TeeReader(endless{}, &counter{})
	_, err = upload(s, user, r, roomy)
	t.Fatal(err)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// counter says when a chunk has gone.
type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) {
	if before := c.n; (before+len(p))/ChunkSize > before/ChunkSize {
		fmt.Println("chunk")
	}
	c.n += len(p)
	return len(p), nil
}

func TestKillDuringAnUploadLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	for round := range 3 {
		cmd, lines := child(t, "STORE_UPLOAD_CHILD="+path, "-test.run=^TestUploadChild$")
		for n := 0; n < 4+round && lines.Scan(); {
			if lines.Text() == "chunk" {
				n++
			} else {
				t.Log(lines.Text())
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s := testOpen(t, path, Daemon)
		var left, arriving int
		if err := s.get(t.Context(), &left, "SELECT count(*) FROM model_chunk"); err != nil || left == 0 {
			t.Errorf("the kill came too early: %d chunks, %v", left, err)
		}
		if err := s.get(t.Context(), &arriving,
			"SELECT count(*) FROM model_file WHERE state <> 2"); err != nil || arriving != 0 {
			t.Errorf("%d files are not let go after the start, %v", arriving, err)
		}
		drained(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Files fill the -wal at once: it is moved into the file in smaller steps then, since everyone waits for each.
func TestUploadsMakeSmallCheckpoints(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	if _, err := upload(s, testUser(t, s, "o@a.co"), bytes.NewReader(noise(2*checkpointAt)), roomy); err != nil {
		t.Fatal(err)
	}
	if n := walSize(s.path); n > 2*checkpointFile {
		t.Errorf("the -wal has %d bytes, want %d at most", n, 2*checkpointFile)
	}
}
