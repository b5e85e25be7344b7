package worker

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store"
)

// outage is a world whose loops run by themselves.
type outage struct {
	*world
	group *Group
	list  string
	kills int
}

// newOutage is a world whose loops run, in a bubble of its own; split: with a send service elsewhere.
func newOutage(t *testing.T, master string, split bool) *outage {
	time.Sleep(time.Until(worldBegins))
	o := &outage{world: newWorld(t, t, master, split)}
	o.list = o.lists[0].ID
	o.start()
	return o
}

func (o *outage) start() {
	o.group = NewGroup(quiet, o.outbox)
	o.group.Start()
}

// kill ends the daemon as kill -9 does: what goes on is what lies on the disk at this moment.
func (o *outage) kill() {
	o.link.mu.Lock() // nothing is on the way just now
	corpse := filepath.Join(o.dir, "killed"+fmt.Sprint(o.link.posts))
	err := copyDatabase(o.a.Path(), corpse)
	weather := o.link.weather
	o.link.weather = "cut" // the dead are heard no more
	o.link.mu.Unlock()
	o.must(err)
	o.group.Drain(0)
	o.must(o.a.Close())
	o.a = o.open(corpse, false)
	if !o.split {
		o.b = o.a
	}
	o.link.weather = weather
	o.kills++
	o.wire()
	o.start()
}

func (o *outage) say(weather string) {
	o.link.mu.Lock()
	defer o.link.mu.Unlock()
	o.link.weather = weather
}

func (o *outage) activate(email core.Email) (id string) {
	now := core.At(time.Now())
	sub, row, err := o.a.Subscribe(o.ctx(), store.SubscribeRequest{ListID: o.list, Email: email}, now)
	o.must(err)
	token, err := o.a.ConfirmToken(o.ctx(), row, core.ProofMailed)
	o.must(err)
	_, err = o.a.Confirm(o.ctx(), token, core.Origin{}, now)
	o.must(err)
	return sub.ID
}

func (o *outage) let(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// The receiver is down for ten minutes, answers are lost, the secret is wrong for an hour, and the daemon is killed in
// between: no event is lost, none is applied twice, and each subscription's come in their order.
func TestNoTroubleLosesAnEvent(t *testing.T) {
	master := newMaster(t)
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, master, true)
		defer o.close()
		var ids []string
		for phase, weather := range []string{"503", "every other answer lost", "cut", "401", "500"} {
			o.say(weather)
			for i := range 40 {
				ids = append(ids, o.activate(core.Email(fmt.Sprintf("p%d-%d@example.org", phase, i))))
			}
			o.let(5 * time.Minute)
			if phase%2 == 0 {
				o.kill()
			}
			for i, id := range ids {
				if i%5 == phase { // of those of all phases so far
					_, err := o.a.Unsubscribe(o.ctx(), store.UnsubscribeRequest{ListID: o.list, SubscriptionID: id},
						core.At(time.Now()))
					o.must(err)
				}
			}
			o.let(map[string]time.Duration{"401": 55 * time.Minute}[weather] + 5*time.Minute)
			o.kill()
		}
		o.say("fair")
		o.let(3 * time.Hour) // what was refused by 500 waits for its own time
		o.group.Drain(time.Second)
		o.link.mu.Lock()
		bodies := o.link.bodies
		o.link.mu.Unlock()
		seen, words := map[string]bool{}, map[string]string{}
		for _, body := range bodies {
			var e core.Event
			o.must(json.Unmarshal(body, &e))
			if seen[e.ID] {
				t.Errorf("%s was applied twice", e.ID)
			}
			seen[e.ID] = true
			words[e.Subscriber.ID] += e.Subscriber.Status + " "
		}
		if len(words) != len(ids) {
			t.Errorf("%d subscriptions were heard of, want %d", len(words), len(ids))
		}
		heard := len(bodies)
		defer coretest.Held(t, 7, &heard, fmt.Sprintf("events over %d kills and five kinds of trouble", o.kills))
		for i, id := range ids {
			sub, err := o.b.Subscriber(o.ctx(), o.list, core.Email(fmt.Sprintf("p%d-%d@example.org", i/40, i%40)))
			want, word := "active ", core.StatusActive
			if i%5 >= i/40 {
				want, word = "active unsubscribed ", core.StatusUnsubscribed
			}
			if err != nil || words[id] != want || sub.MemberStatus != word {
				t.Errorf("%d: heard %q, want %q; the send side says %s, %v", i, strings.TrimSpace(words[id]), want,
					sub.MemberStatus, err)
			}
		}
	})
}

// When the receiver is back, or the secret is right again, everything is there within ten seconds: after ten minutes,
// and after nearly all of the 72 hours that events are kept for, with kills in between.
func TestAllIsThereSoonAfterAnOutage(t *testing.T) {
	master := newMaster(t)
	came, kills, latest := 0, 0, time.Duration(0)
	for _, c := range []struct {
		weather string
		down    time.Duration
		kills   int
	}{{"503", 10 * time.Minute, 0}, {"401", time.Hour, 1}, {"cut", time.Hour, 2}, {"503", 71 * time.Hour, 9}} {
		t.Run(fmt.Sprint(c.weather, c.down), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(t, master, false)
				defer o.close()
				o.say(c.weather)
				for i := range 60 {
					o.activate(core.Email(fmt.Sprintf("s%d@example.org", i)))
				}
				for range c.kills {
					o.let(c.down / time.Duration(c.kills+1))
					o.kill()
				}
				o.let(c.down / time.Duration(c.kills+1))
				posts := o.posts()
				o.say("fair")
				lag := o.lag(60)
				o.group.Drain(time.Second)
				if st, err := o.a.OutboxState(o.ctx()); err != nil || st.Waiting+st.Dead > 0 || len(o.link.bodies) != 60 {
					t.Errorf("%+v, %v; %d came", st, err, len(o.link.bodies))
				}
				if most := 1200 * (1 + int(c.down/time.Hour)); posts > most {
					t.Errorf("%d posts in %v", posts, c.down)
				}
				came, kills, latest = came+len(o.link.bodies), kills+o.kills, max(latest, lag)
			})
		})
	}
	coretest.Held(t, 7, &came,
		fmt.Sprintf("events of outages of 10 minutes to 71 hours with %d kills, there %v after the end at the latest", kills,
			latest))
}

func (o *outage) posts() int {
	o.link.mu.Lock()
	defer o.link.mu.Unlock()
	return o.link.posts
}

// lag lets time pass until so many events have come, ten seconds at most.
func (o *outage) lag(events int) time.Duration {
	const step = 100 * time.Millisecond
	for took := time.Duration(0); ; took += step {
		o.link.mu.Lock()
		n := len(o.link.bodies)
		o.link.mu.Unlock()
		if n >= events || took >= 10*time.Second {
			return took
		}
		o.let(step)
	}
}

// What no receiver took for 72 hours is a dead letter, which stays and can be sent again.
func TestEventsAreKeptFor72Hours(t *testing.T) {
	master := newMaster(t)
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, master, false)
		defer o.close()
		o.say("500") // of each event's own, so that each is retried at its own times
		for i := range 20 {
			o.activate(core.Email(fmt.Sprintf("s%d@example.org", i)))
		}
		for hours := range 80 {
			o.let(time.Hour)
			st, err := o.a.OutboxState(o.ctx())
			o.must(err)
			if hours < 71 && st.Waiting != 20 || hours == 79 && st.Dead != 20 {
				t.Fatalf("after %d hours: %+v", hours+1, st)
			}
			if hours%16 == 15 {
				o.kill()
			}
		}
		o.say("fair")
		n, err := o.a.RetryDead(o.ctx(), "", 500, "test", core.At(time.Now()))
		o.must(err)
		o.lag(20)
		o.group.Drain(time.Second)
		if n != 20 || len(o.link.bodies) != 20 {
			t.Errorf("%d sent again, %d came", n, len(o.link.bodies))
		}
		came := len(o.link.bodies)
		coretest.Held(t, 7, &came, "events sent again after 72 hours of refusal")
	})
}
