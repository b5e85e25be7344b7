package worker_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// agreeing is a list of a tenant that identifies subscribers only if they agreed. It records what each subscriber has
// decided and how that was proved, by rules of its own, for comparison.
type agreeing struct {
	*workertest.Harness
	rt        *rapid.T
	mu        sync.Mutex
	tokens    map[core.Email][]string // tokens of the last email
	withdraws map[core.Email]bool     // by a link in the last email
	reader    map[core.Email]*agreeingReader
	jobs      []core.SendJob
	asked     []askedToken
}

type agreeingReader struct {
	status         string
	generation     int
	wants, refuses bool              // according to the preferences, whatever the status
	named          map[[2]int64]bool // recipients with opens or clicks recorded while they agreed
}

func (r *agreeingReader) agrees() bool { return r.status == core.SubscriptionActive && r.wants }

type askedToken struct {
	email  core.Email
	token  string
	ticked bool
}

var agreeingReaders = []core.Email{"ann@example.org", "bob@example.org", "cyd@example.org"}

// TestNoReaderIsNamedWithoutConsent runs random actions of subscribers, strangers, files and API clients. No email may
// contain the token of a subscriber who has not agreed. Once a subscriber no longer agrees, opens of earlier emails
// must be recorded without the subscriber, too.
func TestNoReaderIsNamedWithoutConsent(t *testing.T) {
	setChecks(t)
	rapid.Check(t, func(rt *rapid.T) {
		bubble(t, func(t *testing.T) {
			a := newAgreeing(t, rt)
			rt.Repeat(map[string]func(*rapid.T){
				"subscribe": a.subscribe, "confirm": a.confirm, "page": a.page, "api": a.api, "import": a.importRow,
				"leave": a.leave, "undo": a.undo, "send": a.send, "open": a.open,
			})
			a.send(rt)
			a.open(rt)
			a.Group.Drain(time.Minute)
		})
	})
}

func newAgreeing(t *testing.T, rt *rapid.T) *agreeing {
	a := &agreeing{
		rt: rt, tokens: map[core.Email][]string{}, withdraws: map[core.Email]bool{},
		reader: map[core.Email]*agreeingReader{},
	}
	s := &smtptest.Sender{Message: func(e *smtp.Envelope) {
		a.mu.Lock()
		defer a.mu.Unlock()
		text := strings.ReplaceAll(string(e.Data), "=\r\n", "")
		a.withdraws[core.Email(e.To)] = strings.Contains(text, "/preferences?token=3D")
		for _, f := range trackToken.FindAllStringSubmatch(text, -1) {
			a.tokens[core.Email(e.To)] = append(a.tokens[core.Email(e.To)], f[2])
		}
	}}
	a.Harness = workertest.New(t, s)
	a.ChangeTenant(a.List.TenantID, core.TenantInput{TrackingConsent: new(true)})
	a.Start()
	for _, e := range agreeingReaders {
		a.reader[e] = &agreeingReader{named: map[[2]int64]bool{}}
	}
	return a
}

func (a *agreeing) pick(rt *rapid.T) (core.Email, *agreeingReader) {
	e := rapid.SampledFrom(agreeingReaders).Draw(rt, "reader")
	return e, a.reader[e]
}

// agreeingWords are preferences that contain a decision about tracking, or none.
type agreeingWords struct {
	core.Preferences
	agrees, refuses, nothing bool
}

func (a *agreeing) said(rt *rapid.T) agreeingWords {
	n := rapid.IntRange(0, 6).Draw(rt, "said")
	return agreeingWords{[]core.Preferences{
		`{"_tracking": true}`, `{"_tracking": "0123456789ab"}`, `{}`, `{"_tracking": "true"}`, `{"_tracking": false}`,
		`{"x": {"_tracking": true}}`, `{"_tracking": 1}`,
	}[n], n < 2, n == 4, n == 2 || n == 5}
}

func (a *agreeing) tick() { time.Sleep(time.Second) }

func (a *agreeing) now() core.Instant { return core.At(time.Now()) }

// must ignores refusals, and fails on any other error.
func (a *agreeing) must(err error) (done bool) {
	if err != nil && core.KindOf(err) != core.NotFound && core.KindOf(err) != core.Invalid {
		a.Fatal(err)
	}
	return err == nil
}

// subscribe sends the form, which anyone can send for any address.
func (a *agreeing) subscribe(rt *rapid.T) {
	a.tick()
	e, r := a.pick(rt)
	p := a.said(rt)
	ask := members.SubscribeRequest{ListID: a.List.ID, Email: e, Preferences: p.Preferences}
	_, row, err := a.Subscribe(a.Context(), ask, a.now())
	a.Must(err)
	token, err := a.AnsweredToken(a.Context(), row, core.ProofMailed, ask, a.now())
	a.Must(err)
	if r.status == "" || r.status == core.SubscriptionUnsubscribed {
		r.status = core.SubscriptionPending
		r.generation++
	}
	if r.status == core.SubscriptionPending {
		r.wants, r.refuses = p.agrees, p.refuses
	}
	a.asked = append(a.asked, askedToken{e, token, p.agrees})
}

func (a *agreeing) confirm(rt *rapid.T) {
	if len(a.asked) == 0 {
		return
	}
	a.tick()
	t := rapid.SampledFrom(a.asked).Draw(rt, "token")
	_, err := a.Confirm(a.Context(), t.token, core.Origin{}, a.now())
	if r := a.reader[t.email]; a.must(err) && r.status == core.SubscriptionPending {
		r.status, r.wants = core.SubscriptionActive, r.wants && t.ticked
	}
}

func (a *agreeing) page(rt *rapid.T) {
	a.tick()
	e, r := a.pick(rt)
	agrees := rapid.Bool().Draw(rt, "agrees")
	_, err := a.SetTracking(a.Context(), members.TrackingRequest{ListID: a.List.ID, Email: e, Agrees: agrees}, a.now())
	if a.must(err) {
		r.wants, r.refuses = agrees, !agrees
	} else if agrees && r.status == core.SubscriptionActive {
		rt.Fatalf("%s can't agree: %v", e, err)
	}
}

func (a *agreeing) api(rt *rapid.T) {
	a.tick()
	e, r := a.pick(rt)
	p := a.said(rt)
	_, err := a.SetPreferences(a.Context(), a.List.ID, e, p.Preferences, a.now())
	if a.must(err) && !p.nothing && (r.status == core.SubscriptionActive || !p.agrees) {
		r.wants, r.refuses = p.agrees, p.refuses
	}
}

// importRow imports a row of an operator's file. It restores neither a person who has unsubscribed nor a withdrawn
// consent.
func (a *agreeing) importRow(rt *rapid.T) {
	a.tick()
	e, r := a.pick(rt)
	p := a.said(rt)
	a.Import(a.List.ID, core.SubscriptionActive, imports.ImportRow{Email: e, Preferences: p.Preferences})
	if r.status == core.SubscriptionUnsubscribed || r.status == core.SubscriptionPending && r.generation > 1 {
		return
	}
	switch {
	case !p.nothing && !r.refuses:
		r.wants, r.refuses = p.agrees, p.refuses
	case r.status != core.SubscriptionActive: // a stranger may have checked the box
		r.wants = false
	}
	r.status, r.generation = core.SubscriptionActive, max(r.generation, 1)
}

func (a *agreeing) leave(rt *rapid.T) {
	a.tick()
	e, r := a.pick(rt)
	if _, err := a.Unsubscribe(a.Context(), a.Leaving(a.List.ID, e), a.now()); a.must(err) {
		r.status = core.SubscriptionUnsubscribed
	}
}

func (a *agreeing) undo(rt *rapid.T) {
	a.tick()
	e, r := a.pick(rt)
	sub, err := a.Subscription(a.Context(), a.List.ID, e)
	if errors.Is(err, core.ErrSubscriptionNotFound) || sub.Status != core.SubscriptionUnsubscribed {
		return
	}
	_, err = a.Undo(a.Context(),
		people.UndoRequest{ListID: a.List.ID, SubscriptionID: sub.ID, LeftAt: sub.ChangedAt}, a.now())
	if a.must(err) {
		r.status = core.SubscriptionActive
	}
}

// send emails all subscribers, and checks whose tokens are sent.
func (a *agreeing) send(rt *rapid.T) {
	a.tick()
	a.Deliver()
	a.mu.Lock()
	a.tokens = map[core.Email][]string{}
	a.mu.Unlock()
	j := a.Wait(a.Job(func(n *core.NewJob) {
		n.TrackOpen, n.TrackClick, n.BodyHTML = true, true, `<p><a href="https://a.example/">a</a></p>`
	}))
	if j.Failed > 0 {
		rt.Fatalf("%+v", j)
	}
	a.jobs = append(a.jobs, j)
	a.mu.Lock()
	defer a.mu.Unlock()
	for e, r := range a.reader {
		mailed := a.tokens[e]
		if (len(mailed) > 0) != (r.status == core.SubscriptionActive) {
			rt.Fatalf("%s is %s and has %d tokens", e, r.status, len(mailed))
		}
		if len(mailed) > 0 && a.withdraws[e] != r.agrees() {
			rt.Fatalf("the mail of %s, who agrees: %v, has a link to withdraw: %v", e, r.agrees(), a.withdraws[e])
		}
		for _, token := range mailed {
			if _, seq, _, ok := a.Opts.Ident.ParseTrack(token); !ok || (seq != 0) != r.agrees() {
				rt.Fatalf("the mail of %s, who agrees: %v, names recipient %d (%v)", e, r.agrees(), seq, ok)
			}
		}
	}
}

// open opens every email ever sent with the token that identifies its recipient, and checks what is recorded.
func (a *agreeing) open(rt *rapid.T) {
	a.tick()
	a.Deliver()
	time.Sleep(core.MachineDelay + core.OpeningDelay)
	for i := range a.jobs {
		j := &a.jobs[i]
		var es []core.Engagement
		of := map[int64]core.Email{}
		for seq := int64(1); seq <= j.Recipients; seq++ {
			_, sub, err := a.MailedTo(a.Context(), j.No, seq)
			a.Must(err)
			of[seq] = sub.Email
			es = append(es, core.Engagement{JobNo: j.No, Seq: seq, At: a.now(), Last: a.now(), Times: 1})
			if r := a.reader[sub.Email]; r.agrees() {
				r.named[[2]int64{j.No, seq}] = true
			}
		}
		before, err := a.JobView(a.Context(), j.ID)
		a.Must(err)
		_, err = a.AddEngagements(a.Context(), es)
		a.Must(err)
		v, err := a.JobView(a.Context(), j.ID)
		a.Must(err)
		named, people := int64(0), int64(0)
		for _, r := range a.reader {
			for at := range maps.Keys(r.named) {
				named += int64(map[bool]int{true: 1}[at[0] == j.No])
			}
		}
		for _, e := range of {
			if r := a.reader[e]; !r.agrees() {
				people++
			}
		}
		if v.People != named || v.PeopleOpened-before.PeopleOpened != people || v.Opened != named+v.PeopleOpened {
			rt.Fatalf("job %d names %d who have opened, want %d; others %d, want %d more than %d", j.No, v.People, named,
				v.PeopleOpened, people, before.PeopleOpened)
		}
	}
}

// TestFiguresWithConsent checks the figures of a job of a tenant that requires consent: subscribers who agreed are
// counted as people, and opens of others only as times, and there is no rate. Without this setting, nothing changes.
func TestFiguresWithConsent(t *testing.T) {
	for _, asks := range []bool{false, true} {
		t.Run(fmt.Sprint(asks), func(t *testing.T) {
			coretest.Bubble(t, func(t *testing.T) {
				h := workertest.New(t, &smtptest.Sender{})
				if asks {
					h.ChangeTenant(h.List.TenantID, core.TenantInput{TrackingConsent: new(true)})
				}
				f := h.Batch(h.List, core.NewID(), 1, 2)
				for k := range 4 {
					p := core.Preferences(`{}`)
					if k == 0 {
						p = `{"_tracking":true}`
					}
					f.Subscribers = append(f.Subscribers, core.EventSubscriber{
						ID: core.NewID(), Email: storetest.Reader(k), Status: "active", Preferences: p,
					})
				}
				h.Must(h.ApplyBatch(h.Context(), h.Nonce(), f, h.Time()))
				h.Start()
				j := h.Wait(h.Job(func(n *core.NewJob) {
					n.TrackOpen, n.TrackClick, n.BodyHTML = true, true, `<p><a href="https://a.example/">a</a></p>`
				}))
				tracker := worker.NewTracker(h.Store, h.Opts.Log)
				time.Sleep(time.Hour)
				for seq := int64(1); seq <= 4; seq++ {
					at := core.At(time.Now())
					for _, link := range []int64{0, 1} {
						tracker.Add(core.Engagement{JobNo: j.No, Seq: seq, LinkNo: link, At: at, Last: at, Times: 1})
					}
				}
				h.Must(tracker.Flush(h.Context()))
				v, err := h.JobView(h.Context(), j.ID)
				h.Must(err)
				said := v.Opens.Words() + " | " + v.Clicks.Words()
				want := "people: at least 4 (100.0%); privacy proxies only: 0; link scanners only: 0 | " +
					"people: 4 (100.0%); link scanners only: 0"
				if asks {
					const rest = "; anonymous totals: 3 by people, 0 by privacy proxies, 0 by link scanners"
					want = "people: at least 1; privacy proxies only: 0; link scanners only: 0" + rest + " | " +
						"people: 1; link scanners only: 0" + rest
				}
				if said != want || v.Opened != 4 || v.Clicked != 4 || v.MachineOpened != 0 {
					t.Errorf("%s; opened %d, clicked %d", said, v.Opened, v.Clicked)
				}
				h.Group.Drain(time.Minute)
			})
		})
	}
}
