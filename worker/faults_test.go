package worker_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// hardship has all loops, and a database that fails again and again.
type hardship struct {
	*workertest.Harness
	faults   *storetest.Faults
	shared   *smtptest.Sender // the daemon's relay
	own      *smtptest.Sender // that of the neighbor
	neighbor *workertest.Harness
	members  core.List    // its subscriptions are on this member side
	came     atomic.Int64 // events that reached an endpoint of the tenant
	tracker  *worker.Tracker
	loops    *worker.Group
}

// sure repeats an operation until it succeeds, as a client would until it gets a response.
func (d *hardship) sure(do func() error) {
	d.Helper()
	for range 1000 {
		err := do()
		if err == nil {
			return
		}
		if core.KindOf(err) != core.Unavailable {
			d.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	d.Fatal("a thousand tries were in vain")
}

func newHardship(t *testing.T) *hardship {
	d := &hardship{faults: storetest.NewFaults(t), shared: &smtptest.Sender{}, own: &smtptest.Sender{}}
	d.Harness = workertest.NewOn(t, storetest.OpenWith(t, db.Options{Driver: d.faults.Driver}), d.shared)
	d.Must(d.EnsureLoopClient(t.Context(), make([]byte, 32), core.At(time.Now())))
	d.Readers(d.List, 700)
	d.neighbor = d.Harness.Neighbor(200)
	d.members = d.NewList()
	d.SetRelays(d.neighbor.List.TenantID, core.Relay{Host: "own.example.org"})
	d.Opts.Connections, d.Opts.BounceDomain = 3, "bounces.example"
	d.Opts.Relay = func(*core.Relay) smtp.Sender { return d.own }
	d.Opts.Limits = core.SendLimits{PerSecond: 50, PerPeriod: 2000, PeriodSeconds: 60, PerDay: 5000}
	d.DKIMKey(core.DKIMRSA, "one")
	d.NewEndpoint(core.EndpointInput{URL: new("http://hook.test")})
	d.Opts.Signers = worker.NewSigners(d.Store)
	return d
}

// start runs all loops.
func (d *hardship) start() {
	relay := d.Opts.Relay
	d.Harness.Start()
	mailer := d.MailerOptions()
	mailer.Tenants = true
	both := workertest.Services{Member: d.Store, Send: d.Store}
	poster := worker.NewPoster(d.Store, "http://send.test", both)
	hook := &http.Client{Transport: coretest.Transport(func(*http.Request) (*http.Response, error) {
		d.came.Add(1)
		return coretest.Response(http.StatusOK, ""), nil
	})}
	d.tracker = worker.NewTracker(d.Store, d.Opts.Log)
	d.loops = worker.NewGroup(d.Opts.Log, worker.Outbox(d.Store, poster, d.Opts.Log),
		worker.FullSync(d.Store, poster, d.Opts.Log),
		worker.Endpoints(d.Store, worker.NewEndpointPoster(d.Store, hook), d.Opts.Log),
		worker.Mailer(mailer), worker.TenantMailer(mailer, relay), d.tracker.Loop(),
		worker.NewSelfCheck(d.Store, time.Hour, false, d.Opts.Log).Loop(),
		worker.Housekeeping(d.Store, people.Retention{}, d.Opts.Log), worker.Imports(d.Store, nil, d.Opts.Log),
		worker.Snapshot(d.Store, d.TempDir()+"/snapshot.db", 4*time.Hour, d.Opts.Log),
		worker.Disabler(worker.DisablerOptions{
			Store: d.Store, Base: "http://member.test", Transport: both, Log: d.Opts.Log,
			Token: func(context.Context, string, core.Instant) (string, error) { return "t", nil },
		}))
	d.loops.Start()
	d.Cleanup(func() { d.loops.Drain(time.Minute) })
}

// join subscribes people and confirms. Some of them then unsubscribe.
func (d *hardship) join(n int) {
	ctx := d.Context()
	for i := range n {
		now := func() core.Instant { return core.At(time.Now()) }
		var sub core.Subscription
		var row, token string
		d.sure(func() (err error) {
			sub, row, err = d.Subscribe(ctx, members.SubscribeRequest{
				ListID: d.members.ID,
				Email:  core.Email(fmt.Sprintf("join%d@example.org", i)),
			}, now())
			return err
		})
		d.sure(func() (err error) { token, err = d.ConfirmToken(ctx, row, core.ProofMailed); return err })
		d.sure(func() error { _, err := d.Confirm(ctx, token, core.Origin{}, now()); return err })
		if i%3 == 0 {
			d.sure(func() error {
				_, err := d.Unsubscribe(ctx, members.UnsubscribeRequest{ListID: d.members.ID, SubscriptionID: sub.ID}, now())
				return err
			})
		}
	}
}

// TestEverybodyIsServedAmongFaults makes some statements fail for hours while jobs, emails, events, full syncs,
// complaints and clicks are in progress. Nothing may be sent twice because of that, and everything must be done once
// the disk works again.
func TestEverybodyIsServedAmongFaults(t *testing.T) {
	failed, seeds := 0, 2 // one for each kind of fault
	if os.Getenv("NEWSLETTERD_TORTURE") != "" {
		seeds = 10
	}
	defer coretest.Held(t, 12, &failed, "statements that failed under the workers, and all was done in the end")
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			d := newHardship(t)
			d.start()
			jobs := []core.SendJob{
				d.Job(func(n *core.NewJob) { n.TrackClick, n.BodyHTML = true, `<a href="https://a.example/">a</a>` }),
				d.neighbor.Job(),
			}
			var file strings.Builder
			file.WriteString("email\n")
			for i := range 1200 {
				fmt.Fprintf(&file, "import%d@example.org\n", i)
			}
			imported := d.NewImportJob(d.NewList().ID, file.String())
			if seed%2 == 0 {
				d.faults.FailOften(15+10*(seed%4), uint64(seed))
			} else { // every statement at its first, third or fifth time
				times := map[string]int{}
				d.faults.FailWhen(func(query string) bool { times[query]++; return times[query] == seed })
			}
			d.join(30)
			d.sure(func() error { _, err := d.RequestSync(t.Context(), d.members.ID, core.At(time.Now())); return err })
			d.sure(func() error { return d.AddTestMail(t.Context(), &jobs[0], "me@example.org", core.At(time.Now())) })
			d.sure(func() error {
				return d.ApplyReports(t.Context(), []core.ProviderReport{{Event: core.ProviderEvent{
					Type: "complaint", MessageID: "m", Email: storetest.Reader(5), TenantID: d.List.TenantID,
					OccurredAt: core.At(time.Now()),
				}, Provider: "p", Key: []byte("k")}}, core.At(time.Now()))
			})
			d.sure(func() error {
				_, err := d.RunImport(t.Context(), imported.ID, core.ImportInput{
					SubscriberStatus: core.SubscriptionActive,
				}, "user:1", core.At(time.Now()))
				return err
			})
			d.tracker.Add(core.Engagement{
				JobNo: jobs[0].No, Seq: 1, LinkNo: 1, At: core.At(time.Now()),
				Last: core.At(time.Now()), Times: 1,
			})
			time.Sleep(26 * time.Hour)
			d.faults.FailAt(0)
			time.Sleep(26 * time.Hour) // for delayed retries, and the check at night
			synctest.Wait()
			d.check(jobs)
			imported, err := d.ImportJob(t.Context(), imported.ID)
			if err != nil || imported.Status != core.ImportCompleted || imported.Added != 1200 {
				t.Errorf("seed %d: %+v, %v", seed, imported, err)
			}
			l, err := d.CountedList(t.Context(), imported.ListID)
			if err != nil || l.Counts.Active != 1200 {
				t.Errorf("seed %d: %+v of 1200 imported subscriptions, %v", seed, l.Counts, err)
			}
			failed += d.faults.Failed()
		})
	}
}

// TestAFullDiskSendsNothingTwice fills the disk. Due emails and events can still be read, but their results can't be
// stored. Even so, each must be sent only once.
func TestAFullDiskSendsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHardship(t)
		d.join(1)
		d.neighbor.Pending(d.neighbor.List.ID, storetest.Reader(1))
		d.faults.FailWhen(func(query string) bool { return query == "BEGIN IMMEDIATE" })
		d.start()
		time.Sleep(10 * time.Minute)
		d.faults.FailAt(0)
		coretest.Settle(10 * time.Minute)
		if n := d.came.Load(); n != 2 {
			t.Errorf("%d posts of 2 events", n)
		}
		for kind, s := range map[string]*smtptest.Sender{"daemon": d.shared, "tenant": d.own} {
			if n := s.Sum(); n != 1 {
				t.Errorf("the %s's relay got %d of 1 mail: %v", kind, n, s.Count())
			}
		}
	})
}

func (d *hardship) check(jobs []core.SendJob) {
	for i, j := range jobs {
		j, err := d.SendJob(d.Context(), j.ID)
		if d.Must(err); j.Status != core.JobCompleted || j.Sent+j.Skipped != j.Recipients || i == 1 && j.Sent != 200 {
			d.Errorf("%s: sent %d, skipped %d, failed %d of %d", j.Status, j.Sent, j.Skipped, j.Failed, j.Recipients)
		}
	}
	for _, s := range []*smtptest.Sender{d.shared, d.own} {
		for to, n := range s.Count() {
			if n != 1 {
				d.Errorf("%s got %d mails", to, n)
			}
		}
	}
	if n := d.own.Sum(); n != 200 {
		d.Errorf("%d of the neighbor's mails", n)
	}
	if n := d.came.Load(); n < 40 { // 30 people joined and 10 unsubscribed; more if a response could not be stored
		d.Errorf("%d events came to the tenant's own receiver", n)
	}
	if st, err := d.OutboxState(d.Context()); err != nil || st.Waiting+st.Dead > 0 {
		d.Errorf("%+v, %v", st, err)
	}
	for i := range 30 {
		email := core.Email(fmt.Sprintf("join%d@example.org", i))
		want := core.StatusActive
		if i%3 == 0 {
			want = core.StatusUnsubscribed
		}
		if sub, err := d.Subscriber(d.Context(), d.members.ID, email); err != nil || sub.MemberStatus != want {
			d.Errorf("%s is %s, %v; want %s", email, sub.MemberStatus, err, want)
		}
	}
	disabled, err := d.DisabledAddresses(d.Context(), "", core.Suppressed{}, 2)
	if err != nil || len(disabled) != 1 || disabled[0].Email != string(storetest.Reader(5)) {
		d.Errorf("the complaint did not come to the member service: %v, %v", disabled, err)
	}
}
