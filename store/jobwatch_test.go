package store_test

import (
	"context"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// watched holds a store with two running jobs, each for its own list, and the JobWatch of a sender.
type watched struct {
	*storetest.Seeder
	lists []core.List
	jobs  []core.SendJob
	kicks int
	read  func() (ended []bool, running []int64)
}

func newWatched(t *testing.T) *watched {
	w := &watched{Seeder: storetest.Seed(t, nil).At(sendNow)}
	for range 2 {
		l := w.NewList()
		w.Readers(l, 3)
		w.lists, w.jobs = append(w.lists, l), append(w.jobs, w.Start(w.NewJob(l.ID)))
	}
	watch := w.WatchJobs(true, func() { w.kicks++ })
	w.read = func() (ended []bool, running []int64) {
		c, err := watch.Read(t.Context())
		w.Must(err)
		for _, j := range w.jobs {
			ended = append(ended, c.Ended(j.No))
		}
		for _, j := range c.Running {
			running = append(running, j.No)
		}
		return ended, running
	}
	return w
}

// The next Read returns everything that stops a job, even if another process did it.
func TestJobWatch(t *testing.T) {
	pause := func(w *watched, s *store.Store) {
		_, err := s.PauseSendJobBy(w.Context(), w.jobs[0].ID, "test", sendNow)
		w.Must(err)
	}
	command := func(w *watched, do func(*store.Store)) {
		c := storetest.OpenWith(w, db.Options{Path: w.Path(), Mode: db.Command})
		do(c)
		w.Must(c.Close())
		w.Must(w.Update(w.Context(), func(*db.Tx) error { return nil })) // checks for foreign commits
	}
	for name, c := range map[string]struct {
		do    func(*watched)
		ended []bool // for each job, whether it has ended
	}{
		"nothing": {func(*watched) {}, []bool{false, false}},
		"paused":  {func(w *watched) { pause(w, w.Store) }, []bool{true, false}},
		"paused by a command": {func(w *watched) {
			command(w, func(s *store.Store) { pause(w, s) })
		}, []bool{true, false}},
		"canceled": {func(w *watched) {
			_, err := w.CancelSendJob(w.Context(), w.jobs[1].ID, sendNow)
			w.Must(err)
		}, []bool{false, true}},
		"failed": {func(w *watched) {
			w.Must(w.FailSendJob(w.Context(), w.jobs[1].No, core.ReasonRelay, sendNow))
		}, []bool{false, true}},
		"completed": {func(w *watched) { w.Finish(w.jobs[1]) }, []bool{false, true}},
		"an inactive list": {func(w *watched) {
			_, err := w.UpdateList(w.Context(), w.lists[0].ID, "test", func(l *core.List) error {
				l.Status = core.ListInactive
				return nil
			})
			w.Must(err)
		}, []bool{true, false}},
		"a deleted list": {func(w *watched) {
			w.Must(w.DeleteList(w.Context(), w.lists[0].ID, "test", sendNow))
		}, []bool{true, false}},
		"a suspended tenant": {func(w *watched) {
			w.ChangeTenant(w.TenantID, core.TenantInput{Status: new(core.TenantSuspended)})
		}, []bool{true, true}},
		"a deleted tenant": {func(w *watched) {
			w.Must(w.DeleteTenant(w.Context(), w.TenantID, "test", sendNow))
		}, []bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t)
			if _, running := w.read(); len(running) != 2 {
				t.Fatalf("at first: %v", running)
			}
			w.kicks = 0
			c.do(w)
			ended, _ := w.read()
			if !slices.Equal(ended, c.ended) || w.kicks == 0 && slices.Contains(c.ended, true) {
				t.Errorf("ended: %v, want %v; %d kicks", ended, c.ended, w.kicks)
			}
		})
	}
}

// Read returns jobs that start or resume, and no others.
func TestJobWatchReadsWhatHasChanged(t *testing.T) {
	w := newWatched(t)
	w.read()
	if _, running := w.read(); len(running) != 0 {
		t.Errorf("without a change: %v", running)
	}
	third := w.Start(w.NewJob(w.lists[0].ID))
	if _, running := w.read(); !slices.Equal(running, []int64{third.No}) {
		t.Errorf("a new job: %v", running)
	}
	_, err := w.PauseSendJobBy(w.Context(), w.jobs[1].ID, "test", sendNow)
	w.Must(err)
	w.read()
	_, err = w.ResumeSendJob(w.Context(), w.jobs[1].ID, "test", sendNow)
	w.Must(err)
	if _, running := w.read(); !slices.Equal(running, []int64{w.jobs[1].No}) {
		t.Errorf("a resumed job: %v", running)
	}
}

// A failed Read loses no change, and a failed operation doesn't report any.
func TestJobWatchAfterErrors(t *testing.T) {
	w := newWatched(t)
	watch := w.WatchJobs(true, func() {})
	_, err := watch.Read(t.Context())
	w.Must(err)
	_, err = w.PauseSendJobBy(w.Context(), w.jobs[0].ID, "test", sendNow)
	w.Must(err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := watch.Read(ctx); err == nil {
		t.Fatal("read without a context")
	}
	if c, err := watch.Read(t.Context()); err != nil || !c.Ended(w.jobs[0].No) || c.Ended(w.jobs[1].No) {
		t.Errorf("%+v %v", c, err)
	}
	if _, err = w.PauseSendJobBy(w.Context(), w.jobs[0].ID, "test", sendNow); err == nil {
		t.Fatal("paused twice")
	}
	if watch.Changed() {
		t.Error("an operation that failed has changed something")
	}
}
