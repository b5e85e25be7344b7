package workertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
	"newsletterd/worker"
)

// These are the statuses of a person in the model.
const (
	none    = "none"
	pending = "pending"
	active  = "active"
	gone    = "gone" // unsubscribed by the person or an administrator
)

// person is the expected state of one address on one list.
type person struct {
	list, email int
	status      string
	generation  int
	leftAt      core.Instant
	undoable    bool // was active before
	blocked     bool // complained or suppressed, at the send service
	bounced     bool // bounced and not confirmed since
	activeSince core.Instant
	wasBounced  bool // whether a confirmation has lifted it depends on the order of arrival
	erased      bool // erased, so no import may restore it
}

func (p *person) String() string {
	return fmt.Sprintf("list %d email %d (%s, generation %d, blocked %v, bounced %v, erased %v)", p.list, p.email,
		p.status, p.generation, p.blocked, p.bounced, p.erased)
}

type confirmToken struct {
	row        string
	of         *person
	generation int
	madeAt     time.Time
	dead       bool
}

// A World is a member service and a send service in one database or two, with the link between them and a model of
// their subscribers. Either rapid draws the actions (Actions), or a test chooses them. The loops run single steps when
// rapid draws them, or continuously (Run).
type World struct {
	Member, Send *store.Store  // the same if there is one database; replaced after a daemon was killed
	Lists        []core.List   // two of the first tenant, one of the second
	Group        *worker.Group // loops started by Run
	Kills        int           // number of calls of Kill

	tb    Failer
	rt    *rapid.T
	dir   string
	files int
	split bool
	link  *link

	outbox, full, disabler *worker.Loop

	tenants    []string
	emails     []core.Email
	people     []*person
	tokens     []*confirmToken
	disabled   []map[string]bool // by email: tenants, or "" for everywhere
	complained []map[string]bool // by email: tenants
	reports    int
	backup     func() // restores the send service to an earlier state
	unsynced   bool   // the send service was restored, so that only a full sync makes both sides agree
}

// Failer reports a story's failures. It is rapid's T or a test's.
type Failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Master creates a database with the records that every world starts with, and returns its path.
func Master(t testing.TB) string {
	t.Helper()
	s := storetest.Seed(t, nil).At(1)
	for i := range 2 {
		tenant := s.NewTenant()
		for range 2 - i {
			s.NewList(func(in *core.ListInput) { in.TenantID = &tenant.ID })
		}
	}
	s.Must(s.EnsureLoopClient(s.Context(), make([]byte, 32), s.Time()))
	path := filepath.Join(t.TempDir(), "master.db")
	s.Must(copyDatabase(s.Path(), path))
	return path
}

var quiet = slog.New(slog.DiscardHandler)

// NewWorld creates a world from a copy of a master, in a bubble of testing/synctest. If split is true, the send
// service has its own database. Failures are reported to tb.
func NewWorld(t testing.TB, tb Failer, master string, split bool) *World {
	w := &World{
		tb: tb, dir: memoryDir(t), split: split,
		emails: []core.Email{"Ann@example.org", "bob@example.org"}, disabled: []map[string]bool{{}, {}},
		complained: []map[string]bool{{}, {}},
	}
	w.link = &link{w: w}
	w.Member = w.open(master, false)
	w.Send = w.Member
	if split {
		w.Send = w.open(master, true)
	}
	var err error
	w.Lists, err = w.Member.Lists(w.ctx(), nil, true, core.Page{Limit: 10})
	w.must(err)
	slices.SortFunc(w.Lists, func(x, y core.List) int { return strings.Compare(x.TenantID+x.ID, y.TenantID+y.ID) })
	w.tenants = []string{w.Lists[0].TenantID, w.Lists[2].TenantID}
	for list := range w.Lists {
		for email := range w.emails {
			w.people = append(w.people, &person{list: list, email: email, status: none})
		}
	}
	w.wire()
	return w
}

// memoryDir returns a folder in memory, if available. Stories simulate crashes of the process, not power cuts.
func memoryDir(t testing.TB) string {
	if dir, err := os.MkdirTemp("/dev/shm", "agreement"); err == nil {
		return dir // removed by Close
	}
	return t.TempDir()
}

// open opens a copy of a database in its current state on disk. send means that it is for a separate send service.
func (w *World) open(from string, send bool) *store.Store {
	w.files++
	path := filepath.Join(w.dir, strconv.Itoa(w.files)+".db")
	w.must(copyDatabase(from, path))
	s, err := store.Open(w.ctx(), db.Options{
		Path: path, WatchEvery: time.Hour, SendElsewhere: w.split && !send, MemberElsewhere: send,
	})
	w.must(err)
	return s
}

// copyDatabase copies the state that a crash would leave: the file and its -wal from the same moment. A checkpoint
// may run between them.
func copyDatabase(from, to string) error {
	for {
		main, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		wal, err := os.ReadFile(from + "-wal")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		again, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if !bytes.Equal(main, again) {
			continue
		}
		if err := os.WriteFile(to+"-wal", wal, 0o600); err != nil {
			return err
		}
		return os.WriteFile(to, main, 0o600)
	}
}

// wire creates new loops, as at the start of a daemon.
func (w *World) wire() {
	poster := worker.NewPoster(w.Member, "http://send.test", w.link)
	w.outbox, w.full = worker.Outbox(w.Member, poster, quiet), worker.FullSync(w.Member, poster, quiet)
	w.disabler = worker.Disabler(worker.DisablerOptions{
		Store: w.Send, Base: "http://member.test", Transport: w.link, Log: quiet,
		Token: func(context.Context, string, core.Instant) (string, error) { return "t", nil },
	})
}

// Close closes the databases and removes them.
func (w *World) Close() {
	for _, s := range w.stores() {
		w.must(s.Close())
	}
	_ = os.RemoveAll(w.dir)
}

func (w *World) stores() []*store.Store {
	if w.split {
		return []*store.Store{w.Member, w.Send}
	}
	return []*store.Store{w.Member}
}

func (w *World) ctx() context.Context { return context.Background() }

func (w *World) fail(format string, args ...any) {
	w.tb.Helper()
	w.tb.Fatalf(format, args...)
}

func (w *World) must(err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatal(err)
	}
}

// now returns the member service's clock, which sometimes goes back a little.
func (w *World) now() core.Instant {
	return core.At(time.Now()) + rapid.SampledFrom([]core.Instant{0, 0, 2, -2, 1500, -1500}).Draw(w.rt, "skew")
}

func (w *World) who() *person {
	return w.people[rapid.IntRange(0, len(w.people)-1).Draw(w.rt, "person")]
}
func (w *World) anEmail() int { return rapid.IntRange(0, len(w.emails)-1).Draw(w.rt, "email") }

// sameTenant returns the records for p's address on all lists of the tenant, including p.
func (w *World) sameTenant(p *person) (all []*person) {
	for _, q := range w.people {
		if q.email == p.email && w.tenantOf(q) == w.tenantOf(p) {
			all = append(all, q)
		}
	}
	return all
}

func (w *World) person(list, email int) *person { return w.people[list*len(w.emails)+email] }

func (w *World) tenantOf(p *person) string { return w.Lists[p.list].TenantID }

// spelling returns the address in one of its possible spellings.
func (w *World) spelling(p *person) core.Email {
	if rapid.Bool().Draw(w.rt, "capitals") {
		return core.Email(strings.ToUpper(string(w.emails[p.email])))
	}
	return w.emails[p.email]
}

func (w *World) isDisabled(p *person) bool {
	return w.disabled[p.email][""] || w.disabled[p.email][w.tenantOf(p)]
}

func (w *World) disabledNow(email int, tenant string) {
	w.disabled[email][tenant] = true
	for _, p := range w.people {
		if p.email == email && (p.status == pending || p.status == active) && (tenant == "" || w.tenantOf(p) == tenant) {
			p.status, p.undoable = gone, false
		}
	}
}

func (w *World) activated(p *person) {
	p.bounced, p.activeSince = false, core.At(time.Now().Add(2*time.Second)) // for imports that are not applied yet
	if sub, err := w.Member.Subscription(w.ctx(), w.Lists[p.list].ID, w.emails[p.email]); err == nil &&
		sub.Status == core.SubscriptionActive {
		p.activeSince = max(sub.ChangedAt, sub.EventAt)
	}
}

// heard reports whether the send service already knows that the person is active. An undelivered message would lift a
// bounce.
func (w *World) heard(p *person) bool {
	sub, err := w.Send.Subscriber(w.ctx(), w.Lists[p.list].ID, w.emails[p.email])
	w.must(err)
	return sub.MemberStatusAt >= p.activeSince
}

// known reports whether the send service has a record of the person on the list.
func (w *World) known(p *person) bool {
	_, err := w.Send.Subscriber(w.ctx(), w.Lists[p.list].ID, w.emails[p.email])
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		w.must(err)
	}
	return err == nil
}

func (w *World) step(l *worker.Loop) {
	l.Step(w.ctx(), time.Now())
	w.bury()
}

// bury restarts the daemon with the database that the killed one has left.
func (w *World) bury() {
	from := w.link.corpse
	if from == "" {
		return
	}
	old := w.Member
	w.Member = w.open(from, false)
	if !w.split {
		w.Send = w.Member
	}
	w.must(old.Close())
	w.link.corpse, w.link.weather = "", "fair"
	w.wire()
}

// refuse turns all due events into dead letters, so that later events overtake them.
func (w *World) refuse(*rapid.T) {
	weather := w.link.weather
	w.link.weather = "422"
	w.step(w.outbox)
	w.link.weather = weather
}

func (w *World) otherLoops(*rapid.T) {
	w.step(w.full)
	for more := true; more; {
		var err error
		more, err = w.Send.RemoveAbsent(w.ctx(), core.At(time.Now()))
		w.must(err)
	}
	w.step(w.disabler)
}

// SyncAll requests a full sync of every list.
func (w *World) SyncAll() {
	time.Sleep(10 * time.Second) // lets the clock catch up with the timestamps of changes
	for _, l := range w.Lists {
		_, err := w.Member.RequestSync(w.ctx(), l.ID, core.At(time.Now()))
		w.must(err)
	}
	w.unsynced = false
}

// redeliver posts an event that was accepted before. It must not count twice.
func (w *World) redeliver(rt *rapid.T) {
	if len(w.link.bodies) == 0 {
		return
	}
	body := w.link.bodies[rapid.IntRange(0, len(w.link.bodies)-1).Draw(rt, "event")]
	if status := w.link.accept(EventPath, body); status != http.StatusConflict && !w.unsynced {
		w.fail("an event again: %d", status)
	}
}

func (w *World) wait(rt *rapid.T) {
	time.Sleep(rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, time.Minute, 40 * time.Minute,
		3 * time.Hour,
	}).Draw(rt, "time"))
}

// crash ends a daemon without a clean stop, and restarts it.
func (w *World) crash(rt *rapid.T) {
	if w.split && rapid.Bool().Draw(rt, "the send service") {
		old := w.Send
		w.Send = w.open(old.Path(), true)
		w.must(old.Close())
		w.wire()
		return
	}
	w.link.corpse = filepath.Join(w.dir, "crashed"+strconv.Itoa(w.files))
	w.must(copyDatabase(w.Member.Path(), w.link.corpse))
	weather := w.link.weather
	w.bury()
	w.link.weather = weather
}

// restoreSend makes a backup of the send service, or restores the last one.
func (w *World) restoreSend(*rapid.T) {
	if w.backup != nil {
		w.backup()
		w.backup = nil
		return
	}
	w.files++
	saved := filepath.Join(w.dir, "backup"+strconv.Itoa(w.files))
	w.must(copyDatabase(w.Send.Path(), saved))
	then := make([]person, len(w.people))
	for i, p := range w.people {
		then[i] = *p
	}
	w.backup = func() {
		old := w.Send
		w.Send = w.open(saved, true)
		w.must(old.Close())
		w.wire()
		w.unsynced = true
		for i, p := range w.people { // providers' later reports are lost with the file
			p.blocked, p.bounced = p.blocked && then[i].blocked, p.bounced && then[i].bounced
			p.wasBounced = p.wasBounced || then[i].wasBounced || then[i].blocked
		}
	}
}

func (w *World) retryDead(*rapid.T) {
	_, err := w.Member.RetryDead(w.ctx(), tenants.OutboxFilter{}, 500, "test", core.At(time.Now()))
	w.must(err)
}

// Settle waits until everything on its way has arrived.
func (w *World) Settle() {
	w.link.weather = "fair"
	for range 40 {
		w.retryDead(nil)
		w.step(w.outbox)
		w.otherLoops(nil)
		state, err := w.Member.OutboxState(w.ctx())
		w.must(err)
		open, err := w.Member.OpenSyncs(w.ctx(), 10)
		w.must(err)
		due, err := w.Send.NextPendingDisable(w.ctx())
		w.must(err)
		if state.Waiting+state.Dead == 0 && len(open) == 0 && due == 0 && !w.repeatFailed() {
			return
		}
		time.Sleep(3 * time.Hour)
	}
	w.fail("it does not come to rest")
}

// repeatFailed requests failed full syncs again, like the nightly self-check, and reports whether there were any. It
// leaves out the rest of the self-check, because that would repair the errors that a test should find.
func (w *World) repeatFailed() (any bool) {
	for _, l := range w.Lists {
		failed, err := w.Member.SyncFailed(w.ctx(), l.ID)
		w.must(err)
		if failed {
			_, err := w.Member.RequestSync(w.ctx(), l.ID, core.At(time.Now()))
			w.must(err)
			any = true
		}
	}
	return any
}

// Agree compares both sides with each other and with the model.
func (w *World) Agree(when string) {
	mailable := w.mailable()
	for _, p := range w.people {
		list, email := w.Lists[p.list].ID, w.emails[p.email]
		sub, err := w.Member.Subscription(w.ctx(), list, email)
		status := map[string]string{"pending": pending, "active": active, "unsubscribed": gone, "": none}[sub.Status]
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			w.must(err)
		}
		if status != p.status {
			w.fail("%s: %s: the member says %q", when, p, sub.Status)
		}
		send, err := w.Send.Subscriber(w.ctx(), list, email)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			w.must(err)
		}
		if !w.unsynced && (p.status == active) != (send.MemberStatus == core.StatusActive) {
			w.fail("%s: %s: the send side's word is %q", when, p, send.MemberStatus)
		}
		if !w.unsynced && p.status == active && send.Preferences != sub.Preferences {
			w.fail("%s: %s: preferences %s here, %s there", when, p, sub.Preferences, send.Preferences)
		}
		must := p.status == active && !p.blocked && !p.wasBounced && !w.isDisabled(p)
		may := p.status == active && !p.blocked && !p.bounced && !w.isDisabled(p)
		if is := mailable[list+string(email.Key())]; !w.unsynced && (is && !may || must && !is) {
			w.fail("%s: %s is mailable: %v; disabled %v, send side %+v", when, p, is, w.isDisabled(p), send)
		}
	}
	if !w.split {
		for _, l := range w.Lists {
			d, err := w.Member.Drift(w.ctx(), l.ID, 5)
			w.must(err)
			if d.Total()+d.InFlight != 0 {
				w.fail("%s: %+v", when, d)
			}
		}
	}
}
