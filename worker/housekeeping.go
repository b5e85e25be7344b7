package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/people"
)

const (
	housekeepingEvery = 10 * time.Minute
	housekeepingPause = 50 * time.Millisecond // between batches, to give requests priority
	optimizeEvery     = 24 * time.Hour
)

// Housekeeping returns the loop that deletes expired records in small batches. At startup and once a day, the loop also
// runs SQLite's optimizer.
func Housekeeping(s *store.Store, keep people.Retention, log *slog.Logger) *Loop {
	var optimize time.Time // time of the next optimizer run
	return &Loop{Name: "housekeeping", Step: func(ctx context.Context, now time.Time) time.Time {
		more, err := s.Housekeeping(ctx, keep, core.At(now))
		switch {
		case err != nil:
			log.Warn("housekeeping", slog.Any("error", err))
		case more:
			return now.Add(housekeepingPause)
		case !now.Before(optimize):
			optimize = now.Add(optimizeEvery)
			if err := s.Optimize(ctx); err != nil {
				log.Warn("database: optimize", slog.Any("error", err))
			}
		}
		return now.Add(housekeepingEvery)
	}}
}

const (
	issuesAtOnce = 20          // issues whose texts are stored in one transaction
	issuesRetry  = time.Minute // delay if the disk is full or failing
)

// Issues returns the loop that stores the text of issues that were sent by an old version, which didn't store it. Newer
// issues get their text when they are sent. The function text generates the text of an issue.
func Issues(s *store.Store, text func(context.Context, *core.Issue) (campaigns.IssueText, error),
	log *slog.Logger,
) *Loop {
	l := &Loop{Name: "issues"}
	l.Step = func(ctx context.Context, _ time.Time) time.Time {
		for more := true; more && !l.stoppingOr(ctx); {
			var err error
			more, err = s.FillIssues(ctx, issuesAtOnce, func(i *core.Issue) (campaigns.IssueText, error) {
				return text(ctx, i)
			})
			if err != nil {
				log.Warn("archive: the texts of issues can't be added", slog.Any("error", err))
				return time.Now().Add(issuesRetry)
			}
		}
		return Never
	}
	return l
}

const (
	pagePause = 20 * time.Millisecond // between pages, to give requests priority
	pageRetry = time.Minute           // delay after an error
)

// Pages returns the loop that moves the recipients of ended jobs to pages, which are faster to read.
func Pages(s *store.Store, log *slog.Logger) *Loop {
	return &Loop{Name: "pages", Step: func(ctx context.Context, now time.Time) time.Time {
		no, err := campaigns.UnpagedJob(ctx, s.DB)
		if errors.Is(err, core.ErrNotFound) {
			return now.Add(housekeepingEvery)
		}
		if err == nil {
			_, err = campaigns.AddPage(ctx, s.DB, no)
		}
		if err != nil {
			log.Warn("segments: recipients can't be stored in pages", slog.Any("error", err))
			return now.Add(pageRetry)
		}
		return now.Add(pagePause)
	}}
}

// Removals returns the loop that unsubscribes subscribers who were missing from a full sync. It is a separate loop, so
// that no other loop waits for its work, which gets only a share of the store's writer.
func Removals(s *store.Store, log *slog.Logger) *Loop {
	l := &Loop{Name: "removals", Step: func(ctx context.Context, now time.Time) time.Time {
		more, err := s.RemoveAbsent(ctx, core.At(now))
		switch {
		case err != nil:
			log.Error("full sync: subscribers can't be removed", slog.Any("error", err))
			return now.Add(schedulerRetry)
		case more:
			return now
		}
		return Never
	}}
	s.OnKick(db.TopicSync, l.Kick)
	return l
}
