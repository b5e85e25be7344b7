package store

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"newsletterd/core"
)

// BenchmarkSending walks a job of 50,000 recipients through the store alone: its recipients are made, claimed and
// recorded as sent, 64 in a commit. The figures are CPU, so they hold on a busy machine too.
func BenchmarkSending(b *testing.B) {
	const n = 50_000
	for b.Loop() {
		b.StopTimer()
		s := testOpen(b, filepath.Join(b.TempDir(), "a.db"), Daemon)
		key := benchList(b, s, n)
		j := benchJob(b, s, key.ListID)
		key.JobNo = j.No
		b.StartTimer()
		measure(b, "expand-ns/row", n, func() {
			for more := true; more; {
				var err error
				more, err = s.ExpandJob(b.Context(), j.No, 1000)
				benchMust(b, err)
			}
		})
		var claims []core.Claim
		measure(b, "claim-ns/row", n, func() {
			for after := int64(0); after < n; after = claims[len(claims)-1].Seq {
				var err error
				claims, err = s.ClaimRecipients(b.Context(), claims[:0], &key, after, 256)
				benchMust(b, err)
			}
		})
		measure(b, "record-ns/row", n, func() {
			batch := make([]core.Outcome, 0, 64)
			for seq := int64(1); seq <= n; seq++ {
				batch = append(batch,
					core.Outcome{JobNo: j.No, TenantID: key.TenantID, Seq: seq, State: core.RecipientSent, Tried: true})
				if len(batch) == 64 || seq == n {
					benchMust(b, s.FinishRecipients(b.Context(), batch, 2000))
					batch = batch[:0]
				}
			}
		})
		if j, err := s.SendJobByNo(b.Context(), j.No); err != nil || j.Sent != n || j.Status != core.JobCompleted {
			b.Fatal(j, err)
		}
	}
}

// measure reports the CPU that fn takes for each of n rows.
func measure(b *testing.B, unit string, n int, fn func()) {
	before := benchCPU()
	fn()
	b.ReportMetric(float64(benchCPU()-before)/float64(n), unit)
}

func benchCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchMust(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// benchList makes a list with n subscribers who have subscriptions, and some suppressed and disabled addresses.
func benchList(b *testing.B, s *Store, n int) ClaimKey {
	name := "Acme"
	tenant, err := core.NewTenant(core.TenantInput{Name: &name}, 1000)
	benchMust(b, err)
	list, err := core.NewList(core.ListInput{TenantID: &tenant.ID, Name: &name}, 1000)
	benchMust(b, err)
	benchMust(b, s.AddTenant(b.Context(), tenant, "test"))
	benchMust(b, s.AddList(b.Context(), list, "test"))
	im, err := s.NewImport(b.Context(), list.ID, core.SubscriptionActive, "test")
	benchMust(b, err)
	defer im.Close()
	for i := range n {
		benchMust(b, im.Put(ImportRow{
			Email:       core.Email(fmt.Sprintf("reader%07d@example.org", i)),
			Preferences: core.Preferences(fmt.Sprintf(`{"first_name":"Reader%d","city":"Town%d"}`, i, i%100)),
		}))
	}
	benchMust(b, im.Write(b.Context(), func() core.Instant { return 1000 }, nil))
	benchMust(b, s.update(b.Context(), func(tx *Tx) error {
		_, err := tx.exec(`INSERT INTO subscriber (list_id, email_key, id, email, word, word_at, preferences,
			created_at, changed_at)
			SELECT list_id, email_key, id, email, 'active', 1000, preferences, 1000, 1000 FROM subscription WHERE
			list_id = ?`, list.ID)
		return err
	}))
	return ClaimKey{TenantID: tenant.ID, ListID: list.ID}
}

func benchJob(b *testing.B, s *Store, list string) core.SendJob {
	j, _, err := s.AddSendJob(b.Context(), JobRequest{
		NewJob: core.NewJob{ListID: list, Subject: "Hi", BodyText: "x"}, Caller: core.CommandCaller("u"),
	}, 1000)
	benchMust(b, err)
	_, err = s.StartDueJobs(b.Context(), 1000)
	benchMust(b, err)
	return j
}
