package worker

import (
	"context"
	"log/slog"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// A link that does not answer is asked again before it holds up a mailing.
const (
	linksAgain = time.Minute
	linksRetry = 10 * time.Second // after a failure
)

const linksName = "links of first few"

// firstLinks asks the links of jobs while the rest of their readers waits.
type firstLinks struct {
	store *store.Store
	dead  func(context.Context, *core.SendJob) (string, error)
	log   *slog.Logger
	asked map[int64]core.Instant // job number → when to ask again; 0: not any more
}

// FirstLinks returns the loop that pauses a job after its first few where one of its links does not answer, twice
// within a minute. dead says which and why, as "https://example.org/x answers Not Found"; empty: none.
func FirstLinks(s *store.Store, dead func(context.Context, *core.SendJob) (string, error), log *slog.Logger) *Loop {
	w := &firstLinks{store: s, dead: dead, log: log, asked: map[int64]core.Instant{}}
	loop := &Loop{Name: linksName}
	loop.Step = func(ctx context.Context, now time.Time) time.Time {
		next, err := w.step(ctx, core.At(now))
		if err != nil {
			log.Error(linksName, slog.Any("error", err))
			return now.Add(linksRetry)
		}
		return next.Time()
	}
	s.OnKick(db.TopicHolds, loop.Kick)
	return loop
}

func (w *firstLinks) step(ctx context.Context, now core.Instant) (next core.Instant, err error) {
	jobs, err := w.store.HeldJobs(ctx, now)
	if err != nil {
		return 0, err
	}
	before := w.asked
	w.asked = map[int64]core.Instant{} // what is no longer held is forgotten
	for i := range jobs {
		if at, known := before[jobs[i].No]; known {
			w.asked[jobs[i].No] = at
		}
	}
	for i := range jobs {
		at, err := w.ask(ctx, &jobs[i], now)
		if err != nil { // the others are asked all the same
			w.log.Error(linksName, slog.String("job_id", jobs[i].ID), slog.Any("error", err))
			at = now.Add(linksRetry)
		}
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next, nil
}

// ask asks the links of a job where it is time, and returns when to ask again; 0: not any more.
func (w *firstLinks) ask(ctx context.Context, j *core.SendJob, now core.Instant) (core.Instant, error) {
	at, again := w.asked[j.No]
	if again && (at == 0 || at > now) {
		return at, nil
	}
	link, err := w.dead(ctx, j)
	if err != nil {
		return 0, err
	}
	at = 0
	switch {
	case link != "" && again:
		err = w.store.StopFirst(ctx, j.No, link, now)
	case link != "":
		at = now.Add(linksAgain)
	}
	if err == nil {
		w.asked[j.No] = at
	}
	return at, err
}
