package storetest_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// This example has a job that was sent to ten readers, one of whom has unsubscribed since.
func TestSeedByExample(t *testing.T) {
	s := storetest.Seed(t, nil)
	l := s.NewList()
	s.Readers(l, 10)
	j := s.Finish(s.NewJob(l.ID))
	s.Tell(l, core.StatusUnsubscribed, storetest.Reader(3))
	if j.Status != core.JobCompleted || j.Sent != 10 || s.Status(l.ID, storetest.Reader(3)) != core.StatusUnsubscribed {
		t.Errorf("%+v, %s", j, s.Status(l.ID, storetest.Reader(3)))
	}
}

// The two sides are seeded separately. A change on the member side has not reached the send side yet.
func TestSeedKeepsTheSidesApart(t *testing.T) {
	s := storetest.Seed(t, nil)
	l := s.NewList()
	s.Pending(l.ID, "ann@example.org")
	if sub := s.Active(l.ID, "bob@example.org"); sub.Status != core.SubscriptionActive {
		t.Errorf("%+v", sub)
	}
	if sub := s.Leave(l.ID, "bob@example.org"); sub.Status != core.SubscriptionUnsubscribed {
		t.Errorf("%+v", sub)
	}
	if got := s.Status(l.ID, "bob@example.org"); got != "absent" {
		t.Errorf("the send side knows %s", got)
	}
}
