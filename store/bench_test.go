package store

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// BenchmarkGroupCommit inserts one row an operation, durable before it returns, from 1, 16 and 64 producers.
func BenchmarkGroupCommit(b *testing.B) {
	for _, producers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("producers=%d", producers), func(b *testing.B) {
			s := testOpen(b, filepath.Join(b.TempDir(), "a.db"), Daemon)
			var n atomic.Int64
			b.SetParallelism(max(producers/2, 1))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := n.Add(1)
					err := s.update(b.Context(), func(tx *Tx) error {
						_, err := tx.exec("INSERT INTO seen_nonce (client_id, nonce, expires_at) VALUES ('c', ?, 1)", fmt.Sprint(i))
						return err
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
			st := s.Stats()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			b.ReportMetric(float64(st.Ops)/float64(st.Batches), "ops/tx")
		})
	}
}
