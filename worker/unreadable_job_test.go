package worker_test

import (
	"database/sql/driver"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

// TestAJobThatCannotBeReadHoldsNobodyUp checks that a job whose recipients can't be read, for example because a page of
// the file is damaged, delays no other job, and continues when they can be read.
func TestAJobThatCannotBeReadHoldsNobodyUp(t *testing.T) {
	for name, fails := range map[string]func(query string) bool{
		"claims": func(query string) bool { return strings.Contains(query, "FROM recipient AS r") },
		"deferred ones": func(query string) bool {
			return strings.HasPrefix(query, "SELECT coalesce((SELECT due_at FROM recipient")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults := storetest.NewFaults(t)
				s := &smtptest.Sender{}
				h := workertest.NewOn(t, storetest.OpenWith(t, db.Options{Driver: faults.Driver}), s)
				h.Readers(h.List, 300)
				neighbor := h.Neighbor(3000)
				broken := h.Job()
				var healthy atomic.Bool
				s.Answer = func(string, int) smtp.Outcome {
					if !healthy.Load() { // emails that are sent too early are deferred
						return smtp.Outcome{Result: smtp.Later, Code: 451}
					}
					return smtp.Outcome{Result: smtp.Sent, Code: 250}
				}
				faults.FailWith(func(query string, first driver.Value) bool { return first == broken.No && fails(query) })
				h.Start()
				time.Sleep(time.Minute)
				healthy.Store(true)
				j := neighbor.Job()
				coretest.Settle(500 * time.Millisecond)
				j, err := h.SendJob(t.Context(), j.ID)
				if h.Must(err); j.Status != core.JobCompleted {
					t.Errorf("the neighbor's job is %s after half a second, with %d of %d sent", j.Status, j.Sent,
						j.Recipients)
				}
				if faults.Failed() == 0 {
					t.Error("nothing has failed")
				}
				faults.FailAt(0)
				h.AddsUp(h.Wait(broken), 300, 0, 0)
			})
		})
	}
}
