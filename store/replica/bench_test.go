package replica

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/replica/objectstest"
	"newsletterd/store/storetest"
)

// ways lists the configurations of the benchmarks: without a replica, with a replica that no one waits for, and with
// waiting for a storage in this process that adds a latency to each request.
var ways = []struct {
	name    string
	replica bool
	waits   bool
	latency time.Duration
}{
	{"alone", false, false, 0},
	{"asynchronous", true, false, 0},
	{"acknowledged=0ms", true, true, 0},
	{"acknowledged=5ms", true, true, 5 * time.Millisecond},
	{"acknowledged=30ms", true, true, 30 * time.Millisecond},
}

// benchStore opens a store in one of the configurations. It also returns the replica and its storage, which are nil if
// replica is false.
func benchStore(b *testing.B, replica, waits bool, latency time.Duration) (
	s *store.Store, r *Replica, server *objectstest.Server,
) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "a.db")
	o := db.Options{Path: path, Migrate: true}
	if replica {
		server = objectstest.New(b)
		var err error
		r, err = New(Options{URL: server.URL(), Env: objectstest.Env("bench"), Path: path})
		if err != nil {
			b.Fatal(err)
		}
		o.Replica, o.ReplicaLags = r, !waits
	}
	s, err := store.Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if replica {
		server.Set(objectstest.Faults{Latency: latency})
	}
	return s, r, server
}

// BenchmarkAcknowledgedSubscribe subscribes new addresses from 64 and 512 callers. Each caller waits until its request
// is in the replica. By Little's law the rate is at most the number of callers divided by the duration of an
// acknowledgement.
func BenchmarkAcknowledgedSubscribe(b *testing.B) {
	for _, callers := range []int{64, 512} {
		for _, w := range ways {
			b.Run(fmt.Sprintf("callers=%d/%s", callers, w.name), func(b *testing.B) {
				s, r, server := benchStore(b, w.replica, w.waits, w.latency)
				list := storetest.Seed(b, s).NewList()
				var n, waited atomic.Int64
				before := counts(server)
				b.ResetTimer()
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for {
							i := n.Add(1)
							if i > int64(b.N) {
								return
							}
							_, _, err := s.Subscribe(b.Context(), members.SubscribeRequest{
								ListID: list.ID, Email: core.Email(fmt.Sprintf("new%d@example.net", i)),
								Preferences: `{"first_name":"N"}`, Origin: core.Origin{Remote: "192.0.2.1", UserAgent: "Go"},
							}, core.Instant(i))
							began := time.Now()
							if err == nil {
								err = s.Acknowledged(b.Context())
							}
							waited.Add(int64(time.Since(began)))
							if err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.StopTimer()
				report(b, r, server, before, float64(callers), time.Duration(waited.Load()))
			})
		}
	}
}

// BenchmarkAcknowledgedOutcomes records emails as sent, at most 256 in a commit. The window limits the number of emails
// that are being sent or not yet acknowledged. The result is the rate that the replica allows for a campaign without
// other costs.
func BenchmarkAcknowledgedOutcomes(b *testing.B) {
	for _, window := range []int{64, 256, 1024} {
		for _, w := range ways {
			b.Run(fmt.Sprintf("window=%d/%s", window, w.name), func(b *testing.B) {
				s, r, server := benchStore(b, w.replica, w.waits, w.latency)
				benchOutcomes(b, s, r, server, window)
			})
		}
	}
}

func benchOutcomes(b *testing.B, s *store.Store, r *Replica, server *objectstest.Server, window int) {
	seed := storetest.Seed(b, s).At(1000)
	l := seed.NewList()
	im, err := s.NewImport(b.Context(), l.ID, core.SubscriptionActive, "test")
	seed.Must(err)
	for k := range b.N {
		seed.Must(im.Put(imports.ImportRow{Email: storetest.Reader(k)}))
	}
	seed.Must(im.Write(b.Context(), seed.Time, nil))
	im.Close()
	seed.Readers(l, b.N)
	j := seed.NewJob(l.ID)
	_, err = s.StartDueJobs(b.Context(), seed.Now)
	seed.Must(err)
	key := campaigns.ClaimKey{TenantID: l.TenantID, ListID: l.ID, JobNo: j.No}
	for more := true; more; {
		more, err = s.ExpandJob(b.Context(), j.No, 1000)
		seed.Must(err)
	}
	for after, claims := int64(0), []core.Claim(nil); after < int64(b.N); after = claims[len(claims)-1].Seq {
		claims, err = s.ClaimRecipients(b.Context(), claims[:0], &key, after, 256)
		seed.Must(err)
	}
	seed.Must(s.Acknowledged(b.Context()))
	slots, sent := make(chan struct{}, window), make(chan int64, window)
	before := counts(server)
	var waited atomic.Int64
	b.ResetTimer()
	go func() {
		for seq := range int64(b.N) {
			slots <- struct{}{}
			sent <- seq + 1
		}
		close(sent)
	}()
	for open := true; open; {
		var batch []core.Outcome
		var seq int64
		for seq, open = <-sent; open; {
			batch = append(batch, core.Outcome{
				JobNo: j.No, TenantID: key.TenantID, Seq: seq, State: core.RecipientSent, Tried: true,
			})
			if len(batch) == 256 || len(sent) == 0 {
				break
			}
			seq, open = <-sent
		}
		if len(batch) == 0 {
			break
		}
		if err := s.FinishRecipients(b.Context(), batch, 2000); err != nil {
			b.Fatal(err)
		}
		n, began := len(batch), time.Now()
		s.OnceAcknowledged(func(err error) {
			if err != nil {
				b.Error(err)
			}
			waited.Add(int64(n) * int64(time.Since(began)))
			for range n {
				<-slots
			}
		})
	}
	seed.Must(s.Acknowledged(b.Context()))
	b.StopTimer()
	report(b, r, server, before, float64(window), time.Duration(waited.Load()))
}

func counts(server *objectstest.Server) map[string]int {
	if server == nil {
		return nil
	}
	return server.Counts()
}

// report reports the rate, the duration of an acknowledgement, the resulting maximum rate, and the number of operations
// per file of the log.
func report(
	b *testing.B, r *Replica, server *objectstest.Server, before map[string]int, inFlight float64, waited time.Duration,
) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(0, "ns/op")
	if r == nil {
		return
	}
	b.ReportMetric(r.Stats().Put.Seconds()*1000, "ms-put")
	if mean := waited.Seconds() / float64(b.N); mean > 1e-6 { // otherwise no one waits
		b.ReportMetric(mean*1000, "ms-acknowledged")
		b.ReportMetric(inFlight/mean, "ceiling/s")
	}
	if puts := server.Counts()["PUT"] - before["PUT"]; puts > 0 {
		b.ReportMetric(float64(b.N)/float64(puts), "ops/file")
	}
}
