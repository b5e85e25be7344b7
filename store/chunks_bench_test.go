package store_test

import (
	"bytes"
	"io"
	"sync"
	"testing"

	"newsletterd/core"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// BenchmarkUpload uploads 64 MiB per iteration, without HTTP.
func BenchmarkUpload(b *testing.B) {
	s := storetest.Seed(b, nil).At(10)
	owner := s.NewCaller("o@a.co")
	file := noise(64 << 20)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		m, err := s.TryModel(owner.UserID, core.ModelInput{Name: "m"}, bytes.NewReader(file),
			core.ModelLimits{Bytes: 1 << 40, BytesPerOwner: 1 << 50})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.DeleteModel(b.Context(), m.ID, m.OwnerID, "command", 1); err != nil {
			b.Fatal(err)
		}
		s.Clean(people.Retention{})
		b.StartTimer()
	}
}

// BenchmarkDownload reads the same file repeatedly.
func BenchmarkDownload(b *testing.B) {
	s := storetest.Seed(b, nil).At(10)
	file := noise(64 << 20)
	m, err := s.TryModel(s.NewCaller("o@a.co").UserID, core.ModelInput{Name: "m"}, bytes.NewReader(file), roomy)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{s.OpenFile(b.Context(), &m)},
			make([]byte, 32<<10)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDownloadEight reads eight files concurrently.
func BenchmarkDownloadEight(b *testing.B) {
	s := storetest.Seed(b, nil).At(10)
	owner, file := s.NewCaller("o@a.co"), noise(16<<20)
	var ms []core.Model
	for range 8 {
		m, err := s.TryModel(owner.UserID, core.ModelInput{Name: "m"}, bytes.NewReader(file), roomy)
		if err != nil {
			b.Fatal(err)
		}
		ms = append(ms, m)
	}
	b.SetBytes(8 * int64(len(file)))
	for b.Loop() {
		var wg sync.WaitGroup
		for i := range ms {
			wg.Go(func() {
				if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard},
					struct{ io.Reader }{s.OpenFile(b.Context(), &ms[i])}, make([]byte, 32<<10)); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
