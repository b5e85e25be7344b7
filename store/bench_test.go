package store

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// BenchmarkGroupCommit inserts one row per operation, which is durable when the operation returns, from 1, 16 and 64
// producers.
func BenchmarkGroupCommit(b *testing.B) {
	for _, producers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("producers=%d", producers), func(b *testing.B) {
			s := testOpen(b, filepath.Join(b.TempDir(), "a.db"), db.Daemon)
			var n atomic.Int64
			b.SetParallelism(max(producers/2, 1))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := n.Add(1)
					err := s.Update(b.Context(), func(tx *db.Tx) error {
						_, err := tx.Exec("INSERT INTO seen_nonce (client_id, nonce, expires_at) VALUES ('c', ?, 1)",
							fmt.Sprint(i))
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

// BenchmarkSubscribe requests subscriptions for new addresses from 64 producers, and records their emails as sent, as
// the mailer does.
func BenchmarkSubscribe(b *testing.B) {
	s := testOpen(b, filepath.Join(b.TempDir(), "a.db"), db.Daemon)
	listID, tenantID := core.NewID(), core.NewID()
	err := s.Update(b.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec("INSERT INTO tenant (id, name, created_at, updated_at) VALUES (?, 'T', 1, 1)", tenantID)
		if err == nil {
			_, err = tx.Exec("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, 'L', 1, 1)",
				listID, tenantID)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			_, _, err := s.Subscribe(b.Context(), members.SubscribeRequest{
				ListID: listID, Email: core.Email(fmt.Sprintf("new%d@example.net",
					i)), Preferences: `{"first_name":"N"}`,
				Origin: core.Origin{Remote: "192.0.2.1", UserAgent: "Go-http-client/1.1"},
			}, core.Instant(i))
			if err == nil && i%64 == 0 {
				results := make([]tenants.MailResult, 64)
				for k := range results {
					results[k] = tenants.MailResult{ID: i - 64 + int64(k), Sent: true}
				}
				err = s.FinishMails(b.Context(), results, core.Instant(i))
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	st := s.Stats()
	b.ReportMetric(float64(st.Busy.Microseconds())/float64(b.N), "writer-µs/op")
	b.ReportMetric(float64(st.Ops)/float64(st.Batches), "ops/tx")
}
