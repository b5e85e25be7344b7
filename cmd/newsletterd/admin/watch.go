package admin

import (
	"errors"
	"fmt"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
)

const (
	watchEvery = 500 * time.Millisecond // interval at which `admin job watch` reads the job
	rateOver   = 10 * time.Second       // period over which the rate is averaged
)

// watchJob shows the progress of a job until it ends.
func (p commands) watchJob(c *cli.Context, _ *config.Config, s *store.Store) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var w watch
	live, last := cli.IsTerminal(p.Out) && !cli.JSONWanted(c), ""
	for {
		j, err := s.JobView(c.Context, c.String("id"))
		if err != nil {
			return cli.Missing(err, "job", c.String("id"))
		}
		w.look(&j, time.Now())
		if live {
			fmt.Fprint(p.Out, "\r"+w.line(&j)+"\x1b[K")
		} else if line := plainProgress(&j); line != last && !cli.JSONWanted(c) && !j.Status.Final() {
			fmt.Fprintln(p.Out, line)
			last = line
		}
		if j.Status.Final() {
			if live {
				fmt.Fprintln(p.Out)
			}
			return errors.Join(p.printJob(c, s, j.ID), unlessCompleted(&j))
		}
		if waitsForPerson(&j) {
			if live {
				fmt.Fprintln(p.Out)
			}
			return errors.Join(p.printJob(c, s, j.ID), pausedError(&j))
		}
		if onlyDeferred(&j) && !c.Bool("to-the-end") {
			if live {
				fmt.Fprintln(p.Out)
			}
			fmt.Fprintf(p.Err, "All other recipients are done; %s. To wait for them, pass "+
				"--to-the-end.\n", Deferral(&j.Stats))
			return p.printJob(c, s, j.ID)
		}
		select {
		case <-c.Context.Done():
			return c.Context.Err()
		case <-tick.C:
		}
	}
}

// waitsForPerson reports whether a job is paused until a person resumes or cancels it. All other waits end
// automatically.
func waitsForPerson(j *core.JobView) bool { return !j.Status.Final() && j.PausedAt != 0 }

func pausedError(j *core.JobView) error {
	return fmt.Errorf("the job is paused (%s). Resume it with newsletterd admin job resume, or cancel "+
		"it", j.PauseReason)
}

// onlyDeferred reports whether all recipients of a running job have a result or are waiting for a retry.
func onlyDeferred(j *core.JobView) bool {
	return j.Status == core.JobRunning && j.Expanded && j.Deferred > 0 && done(j)+j.Deferred == j.Recipients
}

// Deferral describes how many recipients are waiting for a retry, and how long they are retried.
func Deferral(s *core.Stats) string {
	line := fmt.Sprintf("%d deferred", s.Deferred)
	if s.NextAttemptAt > 0 {
		line += ", next try " + s.NextAttemptAt.Time().UTC().Format(time.RFC3339)
	}
	if s.GivesUpAt > 0 {
		line += ", gives up " + s.GivesUpAt.Time().UTC().Format(time.RFC3339)
	}
	return line
}

func plainProgress(j *core.JobView) string {
	line := fmt.Sprintf("%s  %d of %d sent, %d failed, %d skipped, %s", j.Status, j.Sent, j.Recipients, j.Failed,
		j.Skipped, Deferral(&j.Stats))
	if j.PauseReason != "" {
		line += ", paused: " + j.PauseReason
	}
	return line
}

func unlessCompleted(j *core.JobView) error {
	if j.Status == core.JobCompleted {
		return nil
	}
	if j.FailureReason == "" {
		return fmt.Errorf("the job is %s", j.Status)
	}
	return fmt.Errorf("the job is %s: %s", j.Status, j.FailureReason)
}

// watch holds the recent progress of a job, from which the rate is calculated.
type watch struct {
	seen []progress // oldest first
}

type progress struct {
	at   time.Time
	done int64
}

func (w *watch) look(j *core.JobView, at time.Time) {
	w.seen = append(w.seen, progress{at, done(j)})
	for len(w.seen) > 2 && at.Sub(w.seen[1].at) >= rateOver {
		w.seen = w.seen[1:]
	}
}

// done counts the recipients with a result.
func done(j *core.JobView) int64 { return j.Sent + j.Failed + j.Skipped }

// rate returns the number of recipients per second that got a result.
func (w *watch) rate() float64 {
	first, last := w.seen[0], w.seen[len(w.seen)-1]
	if span := last.at.Sub(first.at).Seconds(); span > 0 {
		return float64(last.done-first.done) / span
	}
	return 0
}

// line describes a job's progress in one line.
func (w *watch) line(j *core.JobView) string {
	n := done(j)
	line := string(j.Status) + "  " + cli.Grouped(n) + " of " + cli.Grouped(j.Recipients)
	if j.Recipients > 0 {
		line += fmt.Sprintf(" (%d%%)", n*100/j.Recipients)
	}
	if !j.Expanded && j.Status == core.JobRunning {
		line += " found so far"
	}
	if rate := w.rate(); rate > 0 && j.Status == core.JobRunning {
		line += "  " + cli.Grouped(int64(rate+0.5)) + "/s"
		if left := j.Recipients - n; j.Expanded && left > 0 {
			line += "  " + time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second).String() + " left"
		}
	}
	if j.Deferred > 0 {
		line += "  " + Deferral(&j.Stats)
	}
	for _, part := range [...]struct {
		n    int64
		word string
	}{{j.Failed, "failed"}, {j.Skipped, "skipped"}} {
		if part.n > 0 {
			line += "  " + cli.Grouped(part.n) + " " + part.word
		}
	}
	if j.PauseReason != "" {
		line += "  paused: " + cli.Printable(j.PauseReason)
	}
	return line
}
