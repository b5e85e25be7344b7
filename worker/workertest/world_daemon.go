package workertest

import (
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"newsletterd/core/coretest"
	"newsletterd/worker"
)

// Run lets the outbox of the member service run by itself.
func (w *World) Run() {
	w.Group = worker.NewGroup(quiet, w.outbox)
	w.Group.Start()
}

// Kill ends the daemon of the member service as kill -9 does, and starts it again: what goes on is what lies on the
// disk at this moment.
func (w *World) Kill() {
	w.link.mu.Lock() // nothing is on the way just now
	corpse := filepath.Join(w.dir, "killed"+strconv.Itoa(w.link.posts))
	err := copyDatabase(w.Member.Path(), corpse)
	weather := w.link.weather
	w.link.weather = "cut" // the dead are heard no more
	w.link.mu.Unlock()
	w.must(err)
	w.Group.Drain(0)
	w.must(w.Member.Close())
	w.Member = w.open(corpse, false)
	if !w.split {
		w.Send = w.Member
	}
	w.Kills++
	w.wire()
	w.SetWeather(weather)
	w.Run()
}

// SetWeather says what becomes of posts from now on: "fair" (they arrive), "cut", "answer lost", "every other answer
// lost", "killed" (the daemon, between the commit of the other side and the answer), or a status to answer with.
func (w *World) SetWeather(weather string) {
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	w.link.weather = weather
}

// Posts returns how many posts were tried.
func (w *World) Posts() int {
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	return w.link.posts
}

// Accepted returns the bodies of the events that the send service has accepted, in their order.
func (w *World) Accepted() [][]byte {
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	return slices.Clone(w.link.bodies)
}

// AwaitAccepted lets time pass until so many events have been accepted, ten seconds at most, and returns how much.
func (w *World) AwaitAccepted(events int) time.Duration {
	const step = 100 * time.Millisecond
	for took := time.Duration(0); ; took += step {
		if len(w.Accepted()) >= events || took >= 10*time.Second {
			return took
		}
		coretest.Settle(step)
	}
}
