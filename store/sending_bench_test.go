package store_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/campaigns"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

// BenchmarkSending creates and claims the 50,000 recipients of a job and records them as sent, 64 per commit. It uses
// only the store. It measures CPU time, so that the results are valid on a busy machine too.
func BenchmarkSending(b *testing.B) {
	const n = 50_000
	for b.Loop() {
		b.StopTimer()
		s := storetest.Seed(b, nil).At(1000)
		l := s.NewList()
		im, err := s.NewImport(b.Context(), l.ID, core.SubscriptionActive, "test") // on the member side
		s.Must(err)
		for k := range n {
			s.Must(im.Put(imports.ImportRow{Email: storetest.Reader(k)}))
		}
		s.Must(im.Write(b.Context(), s.Time, nil))
		im.Close()
		s.Readers(l, n)
		j := s.NewJob(l.ID)
		_, err = s.StartDueJobs(b.Context(), s.Now)
		s.Must(err)
		key := campaigns.ClaimKey{TenantID: l.TenantID, ListID: l.ID, JobNo: j.No}
		b.StartTimer()
		measure(b, "expand-ns/row", n, func() {
			for more := true; more; {
				var err error
				more, err = s.ExpandJob(b.Context(), j.No, 1000)
				s.Must(err)
			}
		})
		var claims []core.Claim
		measure(b, "claim-ns/row", n, func() {
			for after := int64(0); after < n; after = claims[len(claims)-1].Seq {
				var err error
				claims, err = s.ClaimRecipients(b.Context(), claims[:0], &key, after, 256)
				s.Must(err)
			}
		})
		measure(b, "record-ns/row", n, func() {
			batch := make([]core.Outcome, 0, 64)
			for seq := int64(1); seq <= n; seq++ {
				batch = append(batch,
					core.Outcome{JobNo: j.No, TenantID: key.TenantID, Seq: seq, State: core.RecipientSent, Tried: true})
				if len(batch) == 64 || seq == n {
					s.Must(s.FinishRecipients(b.Context(), batch, 2000))
					batch = batch[:0]
				}
			}
		})
		if j, err := s.SendJobByNo(b.Context(), j.No); err != nil || j.Sent != n || j.Status != core.JobCompleted {
			b.Fatal(j, err)
		}
	}
}

// measure reports the CPU time that fn takes per row.
func measure(b *testing.B, unit string, n int, fn func()) {
	before := coretest.CPU()
	fn()
	b.ReportMetric(float64(coretest.CPU()-before)/float64(n), unit)
}
