package worker_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
	"newsletterd/worker/workertest"
)

// TestNoTroubleLosesAnEvent makes the receiver unavailable for ten minutes, loses responses, uses a wrong secret for an
// hour, and kills the daemon in between. No event may be lost or applied twice, and the events of each subscription
// must arrive in order.
func TestNoTroubleLosesAnEvent(t *testing.T) {
	master := workertest.Master(t)
	coretest.Bubble(t, func(t *testing.T) {
		w := workertest.NewWorld(t, t, master, true)
		defer w.Close()
		list := w.Lists[0].ID
		w.Run()
		var ids []string
		for phase, weather := range []string{"503", "every other answer lost", "cut", "401", "500"} {
			w.SetWeather(weather)
			for range 40 {
				ids = append(ids, storetest.Seed(t, w.Member).Active(list, storetest.Reader(len(ids))).ID)
			}
			coretest.Settle(5 * time.Minute)
			if phase%2 == 0 {
				w.Kill()
			}
			for i := range ids {
				if i%5 == phase { // those of all phases so far
					storetest.Seed(t, w.Member).Leave(list, storetest.Reader(i))
				}
			}
			coretest.Settle(map[string]time.Duration{"401": 55 * time.Minute}[weather] + 5*time.Minute)
			w.Kill()
		}
		w.SetWeather("fair")
		coretest.Settle(3 * time.Hour) // events refused with 500 wait for their own time
		w.Group.Drain(time.Second)
		bodies := w.Accepted()
		seen, words := map[string]bool{}, map[string]string{}
		for _, body := range bodies {
			var e core.Event
			if err := json.Unmarshal(body, &e); err != nil {
				t.Fatal(err)
			}
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
		defer coretest.Held(t, 7, &heard, fmt.Sprintf("events over %d kills and five kinds of trouble", w.Kills))
		for i, id := range ids {
			sub, err := w.Send.Subscriber(t.Context(), list, storetest.Reader(i))
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

// TestAllIsThereSoonAfterAnOutage checks that all events arrive within ten seconds after the receiver is available, or
// the secret is right, again. The outage takes ten minutes, or hours with kills in between. At full length it takes
// nearly all of the 72 hours for which events are kept.
func TestAllIsThereSoonAfterAnOutage(t *testing.T) {
	master := workertest.Master(t)
	came, kills, latest := 0, 0, time.Duration(0)
	longest := 8 * time.Hour
	if os.Getenv("NEWSLETTERD_TORTURE") != "" {
		longest = 71 * time.Hour
	}
	for _, c := range []struct {
		weather string
		down    time.Duration
		kills   int
	}{{"503", 10 * time.Minute, 0}, {"401", time.Hour, 1}, {"cut", time.Hour, 2}, {"503", longest, 9}} {
		t.Run(fmt.Sprint(c.weather, c.down), func(t *testing.T) {
			coretest.Bubble(t, func(t *testing.T) {
				w := workertest.NewWorld(t, t, master, false)
				defer w.Close()
				list := w.Lists[0].ID
				w.Run()
				w.SetWeather(c.weather)
				for i := range 60 {
					storetest.Seed(t, w.Member).Active(list, storetest.Reader(i))
				}
				for range c.kills {
					coretest.Settle(c.down / time.Duration(c.kills+1))
					w.Kill()
				}
				coretest.Settle(c.down / time.Duration(c.kills+1))
				posts := w.Posts()
				w.SetWeather("fair")
				lag := w.AwaitAccepted(60)
				w.Group.Drain(time.Second)
				if st, err := w.Member.OutboxState(t.Context()); err != nil || st.Waiting+st.Dead > 0 || len(w.Accepted()) != 60 {
					t.Errorf("%+v, %v; %d came", st, err, len(w.Accepted()))
				}
				if most := 1200 * (1 + int(c.down/time.Hour)); posts > most {
					t.Errorf("%d posts in %v", posts, c.down)
				}
				came, kills, latest = came+len(w.Accepted()), kills+w.Kills, max(latest, lag)
			})
		})
	}
	coretest.Held(t, 7, &came,
		fmt.Sprintf("events of outages of 10 minutes to %v with %d kills, there %v after the end at the latest",
			longest, kills, latest))
}

// TestEventsAreKeptFor72Hours checks that an event which no receiver accepted for 72 hours becomes a dead letter. The
// dead letter is kept and can be sent again.
func TestEventsAreKeptFor72Hours(t *testing.T) {
	master := workertest.Master(t)
	coretest.Bubble(t, func(t *testing.T) {
		w := workertest.NewWorld(t, t, master, false)
		defer w.Close()
		list := w.Lists[0].ID
		w.Run()
		w.SetWeather("500") // each event fails by itself, so each is retried at its own times
		for i := range 20 {
			storetest.Seed(t, w.Member).Active(list, storetest.Reader(i))
		}
		for hours := range 80 {
			coretest.Settle(time.Hour)
			st, err := w.Member.OutboxState(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if hours < 71 && st.Waiting != 20 || hours == 79 && st.Dead != 20 {
				t.Fatalf("after %d hours: %+v", hours+1, st)
			}
			if hours%16 == 15 {
				w.Kill()
			}
		}
		w.SetWeather("fair")
		n, err := w.Member.RetryDead(t.Context(), tenants.OutboxFilter{}, 500, "test", core.At(time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		w.AwaitAccepted(20)
		w.Group.Drain(time.Second)
		if n != 20 || len(w.Accepted()) != 20 {
			t.Errorf("%d sent again, %d came", n, len(w.Accepted()))
		}
		came := len(w.Accepted())
		coretest.Held(t, 7, &came, "events sent again after 72 hours of refusal")
	})
}
