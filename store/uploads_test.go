package store_test

import (
	"bytes"
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
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/devices"
	"newsletterd/store/files"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// noise returns n bytes that can't be compressed or deduplicated.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

func TestFilesComeBackAsTheyWere(t *testing.T) {
	s := storetest.Seed(t, nil).At(10)
	owner := s.NewCaller("o@a.co")
	for _, size := range []int{
		0, 1, files.UploadPatch, files.UploadPatch + 1, files.ChunkSize - 1, files.ChunkSize, files.ChunkSize + 1,
		3*files.ChunkSize + 12345,
	} {
		want := noise(size)
		m, err := s.TryModel(owner.UserID, core.ModelInput{Name: "m"}, iotest.HalfReader(bytes.NewReader(want)), roomy)
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
		owner.UserID); err != nil || n != 0+1+2*files.UploadPatch+1+3*files.ChunkSize+3*files.ChunkSize+12345 {
		t.Errorf("usage %d %v", n, err)
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
			io.MultiReader(bytes.NewReader(noise(2*files.ChunkSize+5)), iotest.ErrReader(broken)), roomy,
			broken,
		},
		"model too large": {
			bytes.NewReader(noise(3*files.ChunkSize + 1)),
			core.ModelLimits{Bytes: 3 * files.ChunkSize, BytesPerOwner: 1 << 40},
			&core.Error{Kind: core.TooLarge},
		},
		"owner full": {
			bytes.NewReader(noise(3 * files.ChunkSize)),
			core.ModelLimits{Bytes: 1 << 40, BytesPerOwner: 3*files.ChunkSize - 1},
			&core.Error{Kind: core.TooLarge},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.Seed(t, nil).At(10)
			owner := s.NewCaller("o@a.co")
			if _, err := s.TryModel(owner.UserID, core.ModelInput{Name: "m"}, tt.r, tt.limits); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if n, err := s.Usage(t.Context(), owner.UserID); err != nil || n != 0 {
				t.Errorf("usage %d %v", n, err)
			}
			if ms, err := s.Models(t.Context(), owner.UserID, 0, 10); err != nil || len(ms) != 0 {
				t.Errorf("models %+v %v", ms, err)
			}
			for _, table := range []string{"model_file", "model_chunk"} {
				if n := s.Count("SELECT count(*) FROM " + table); n != 0 {
					t.Errorf("%d rows of %s", n, table)
				}
			}
		})
	}
}

// The number of models per owner, including empty ones, and the total size of all files are limited.
func TestModelsAreBounded(t *testing.T) {
	s, ctx := storetest.Seed(t, nil).At(10), t.Context()
	owner, other := s.NewCaller("o@a.co"), s.NewCaller("p@a.co")
	limits := core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 40, BytesTotal: 3 * files.ChunkSize, PerOwner: 3}
	var first core.Model
	for i := range 3 {
		if err := s.MayAddModel(ctx, owner.UserID, limits); err != nil {
			t.Fatal(err)
		}
		m, err := s.TryModel(owner.UserID, core.ModelInput{Name: "m"}, bytes.NewReader(noise(i*1000)), limits)
		if err != nil {
			t.Fatal(err)
		}
		first = m
	}
	if err := s.MayAddModel(ctx, owner.UserID, limits); core.KindOf(err) != core.Conflict {
		t.Errorf("before a fourth: %v", err)
	}
	if _, err := s.TryModel(owner.UserID, core.ModelInput{Name: "m"}, strings.NewReader(""),
		limits); core.KindOf(err) != core.Conflict {
		t.Errorf("a fourth: %v", err)
	}
	if _, err := s.TryModel(other.UserID, core.ModelInput{Name: "m"}, bytes.NewReader(noise(3*files.ChunkSize-3000+1)),
		limits); !errors.Is(err,
		core.ErrStorage) {
		t.Errorf("a byte more than the total: %v", err)
	}
	if _, err := s.TryModel(other.UserID, core.ModelInput{Name: "m"}, bytes.NewReader(noise(3*files.ChunkSize-3000)),
		limits); err != nil {
		t.Errorf("up to the total: %v", err)
	}
	if err := s.DeleteModel(ctx, first.ID, owner.UserID, "command", 20); err != nil {
		t.Fatal(err)
	}
	if _, err := s.TryModel(owner.UserID, core.ModelInput{Name: "m"}, strings.NewReader("x"), limits); !errors.Is(err,
		core.ErrStorage) {
		t.Errorf("before the file is removed: %v", err)
	}
	s.Clean(people.Retention{})
	if _, err := s.TryModel(owner.UserID, core.ModelInput{Name: "m"}, strings.NewReader("x"), limits); err != nil {
		t.Errorf("after the file is removed: %v", err)
	}
	if found, err := s.Check(ctx); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}

func TestAnUploadIsInvisibleUntilItIsWhole(t *testing.T) {
	s, ctx := storetest.Seed(t, nil).At(10), t.Context()
	owner := s.NewCaller("o@a.co")
	u := s.NewUpload(owner.UserID, roomy)
	if err := u.ReadFrom(ctx, bytes.NewReader(noise(2*files.ChunkSize)), nil, s.Time); err != nil {
		t.Fatal(err)
	}
	if ms, err := s.Library(ctx, owner, devices.LibraryPage{Limit: 5}); err != nil || len(ms) != 0 {
		t.Errorf("library %+v %v", ms, err)
	}
	m, _ := core.NewModel(owner.UserID, core.ModelInput{Name: "m"}, 10)
	if _, err := u.Commit(ctx, m, "command"); err != nil {
		t.Fatal(err)
	}
	u.Close(ctx)
	if ms, err := s.Library(ctx, owner, devices.LibraryPage{Limit: 5}); err != nil || len(ms) != 1 {
		t.Errorf("library %+v %v", ms, err)
	}
	if err := s.DeleteModel(ctx, m.ID, owner.UserID, "command", 20); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Usage(ctx, owner.UserID); err != nil || n != 0 {
		t.Errorf("usage after the delete: %d %v", n, err)
	}
	drained(s)
}

// TestUploadsAtOnceStayWithinTheOwnersRoom runs 8 concurrent uploads of 2 MiB with space for 9 MiB.
func TestUploadsAtOnceStayWithinTheOwnersRoom(t *testing.T) {
	s := storetest.Seed(t, nil).At(10)
	owner := s.NewCaller("o@a.co")
	limits := core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 9 * files.ChunkSize}
	var kept atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := s.TryModel(owner.UserID, core.ModelInput{Name: "m"}, bytes.NewReader(noise(2*files.ChunkSize)),
				limits); err == nil {
				kept.Add(1)
			} else if core.KindOf(err) != core.TooLarge {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n, err := s.Usage(t.Context(),
		owner.UserID); err != nil || n != 2*files.ChunkSize*kept.Load() || n > limits.BytesPerOwner {
		t.Errorf("usage %d after %d uploads, %v", n, kept.Load(), err)
	}
}

func TestADownloadEndsWhenItsModelGoes(t *testing.T) {
	s, ctx := storetest.Seed(t, nil).At(10), t.Context()
	owner := s.NewCaller("o@a.co")
	m, err := s.TryModel(owner.UserID, core.ModelInput{Name: "m"}, bytes.NewReader(noise(2*files.ChunkSize)), roomy)
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
	drained(s)
	n, err := io.Copy(io.Discard, f)
	if !errors.Is(err, core.ErrNotFound) || !errors.Is(f.Err(), core.ErrNotFound) || n != files.PieceSize-100 {
		t.Errorf("%d bytes, %v, %v", n, err, f.Err())
	}
}

// TestAnUploadThatItsProcessForgotGoes checks how the uploads of a process that ended are removed: a daemon's at the
// next start, a command's after some time.
func TestAnUploadThatItsProcessForgotGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := storetest.Seed(t, storetest.OpenAt(t, path)).At(10)
	owner := s.NewCaller("o@a.co")
	command, err := store.Open(t.Context(), db.Options{Path: path, Mode: db.Command})
	s.Must(err)
	defer command.Close()
	u := command.NewUpload(owner.UserID, roomy)
	if err := u.ReadFrom(t.Context(), bytes.NewReader(noise(files.ChunkSize)), nil, s.Time); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Housekeeping(t.Context(), people.Retention{}, core.Instant(10).Add(store.UploadDead)); err != nil {
		t.Fatal(err)
	}
	if err := u.ReadFrom(t.Context(), bytes.NewReader(noise(files.ChunkSize)), nil, s.Time); err != nil {
		t.Errorf("a living upload: %v", err)
	}
	if _, err := s.Housekeeping(t.Context(), people.Retention{}, core.Instant(11).Add(store.UploadDead)); err != nil {
		t.Fatal(err)
	}
	err = u.ReadFrom(t.Context(), bytes.NewReader(noise(files.ChunkSize)), nil, s.Time)
	if !errors.Is(err, devices.ErrSlowUpload) {
		t.Errorf("after its time: %v", err)
	}
	u.Close(t.Context())
	drained(s)
}

// TestUploadChild is not a test: it runs the process that the next test kills.
func TestUploadChild(t *testing.T) {
	path := os.Getenv("STORE_UPLOAD_CHILD")
	if path == "" {
		t.Skip("the victim of TestKillDuringAnUploadLeavesNothing")
	}
	file, in := io.Pipe()
	go func() { // reports each chunk sent
		for chunk := make([]byte, files.ChunkSize); ; fmt.Println("chunk") {
			if _, err := in.Write(chunk); err != nil {
				return
			}
		}
	}()
	s := storetest.Seed(t, storetest.OpenAt(t, path)).At(10)
	user := s.NewCaller(core.Email(core.NewID() + "@a.co"))
	_, err := s.TryModel(user.UserID, core.ModelInput{Name: "m"}, file, roomy)
	t.Fatal(err)
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
		s := storetest.Seed(t, storetest.OpenAt(t, path)).At(10)
		if s.Count("SELECT count(*) FROM model_chunk") == 0 {
			t.Error("the kill came too early: there are no chunks")
		}
		if n := s.Count("SELECT count(*) FROM model_file WHERE state <> 2"); n != 0 {
			t.Errorf("%d files are not let go after the start", n)
		}
		drained(s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Uploads fill the -wal quickly. Checkpoints therefore run in smaller steps, because other operations wait for each
// step.
func TestUploadsMakeSmallCheckpoints(t *testing.T) {
	s := storetest.Seed(t, nil).At(10)
	if _, err := s.TryModel(s.NewCaller("o@a.co").UserID, core.ModelInput{Name: "m"},
		bytes.NewReader(noise(2*db.CheckpointAt)), roomy); err != nil {
		t.Fatal(err)
	}
	wal, err := os.Stat(s.Path() + "-wal")
	if s.Must(err); wal.Size() > 2*db.CheckpointFile {
		t.Errorf("the -wal has %d bytes, want %d at most", wal.Size(), 2*db.CheckpointFile)
	}
}
