package worker

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

// BenchmarkOutbox delivers events over loopback to a receiver that only reads them. It measures signing, posting and
// recording.
func BenchmarkOutbox(b *testing.B) {
	s := storetest.Seed(b, nil)
	list, now := s.NewList(), s.Time()
	s.Must(s.EnsureLoopClient(b.Context(), make([]byte, 32), now))
	for done := 0; done < b.N; { // an import announces only its first thousand changes one by one
		im, err := s.NewImport(b.Context(), list.ID, core.SubscriptionActive, "bench")
		s.Must(err)
		for range 2 {
			rows := make([]imports.ImportRow, min(500, b.N-done))
			for i := range rows {
				rows[i].Email = core.Email(fmt.Sprintf("s%d@bench.example", done+i))
			}
			s.Must(im.Add(b.Context(), rows, now))
			done += len(rows)
		}
	}
	var got atomic.Int64
	all := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if got.Add(1) == int64(b.N) {
			close(all)
		}
	}))
	defer srv.Close()
	b.ResetTimer()
	quiet := slog.New(slog.DiscardHandler)
	g := NewGroup(quiet, Outbox(s.Store, NewPoster(s.Store, srv.URL, nil), quiet))
	g.Start()
	<-all
	g.Drain(time.Second)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
