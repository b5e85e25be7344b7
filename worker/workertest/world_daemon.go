package workertest

import (
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"newsletterd/core/coretest"
	"newsletterd/worker"
)

// Run starts the member service's outbox.
func (w *World) Run() {
	w.Group = worker.NewGroup(quiet, w.outbox)
	w.Group.Start()
}

// Kill ends the member service's daemon like kill -9, and restarts it with the current state on disk.
func (w *World) Kill() {
	w.link.mu.Lock() // no request is in transit now
	corpse := filepath.Join(w.dir, "killed"+strconv.Itoa(w.link.posts))
	err := copyDatabase(w.Member.Path(), corpse)
	weather := w.link.weather
	w.link.weather = "cut" // requests from the killed daemon no longer arrive
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

// SetWeather sets the fate of later requests: "fair" (they arrive), "cut", "answer lost", "every other answer lost",
// "killed" (the daemon is killed between the other side's commit and the response), or a response status.
func (w *World) SetWeather(weather string) {
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	w.link.weather = weather
}

// Posts returns the number of attempted requests.
func (w *World) Posts() int {
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	return w.link.posts
}

// Accepted returns the bodies of the events that the send service has accepted, in order.
func (w *World) Accepted() [][]byte {
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	return slices.Clone(w.link.bodies)
}

// AwaitAccepted waits until the send service has accepted the given number of events, for at most ten seconds. It
// returns how long that took.
func (w *World) AwaitAccepted(events int) time.Duration {
	const step = 100 * time.Millisecond
	for took := time.Duration(0); ; took += step {
		if len(w.Accepted()) >= events || took >= 10*time.Second {
			return took
		}
		coretest.Settle(step)
	}
}
