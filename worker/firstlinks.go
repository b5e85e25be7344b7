package worker

import (
	"context"
	"log/slog"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// Intervals for checking links. A link that does not respond is checked again before it pauses a campaign.
const (
	linksAgain = time.Minute
	linksRetry = 10 * time.Second // after an error
)

const linksName = "links of first few"

// firstLinks checks the links of jobs that wait after their first recipients.
type firstLinks struct {
	store *store.Store
	dead  func(context.Context, *core.SendJob) (string, error)
	log   *slog.Logger
	asked map[int64]core.Instant // job number → time of the next check; 0: no more checks
}

// FirstLinks returns the loop that pauses a job after its first recipients if one of its links fails twice within a
// minute. dead describes the failed link, such as "https://example.org/x responds with Not Found". It returns an empty
// string if all links work.
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
	w.asked = map[int64]core.Instant{} // forgets jobs that are no longer held
	for i := range jobs {
		if at, known := before[jobs[i].No]; known {
			w.asked[jobs[i].No] = at
		}
	}
	for i := range jobs {
		at, err := w.ask(ctx, &jobs[i], now)
		if err != nil { // the other jobs are still checked
			w.log.Error(linksName, slog.String("job_id", jobs[i].ID), slog.Any("error", err))
			at = now.Add(linksRetry)
		}
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next, nil
}

// ask checks a job's links if a check is due. It returns when the next check is due, or 0 if there are no more checks.
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
