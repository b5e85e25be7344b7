package store_test

import (
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// Failures are counted by reply code or, if there is none, by newsletterd's own text. Recipients who got the email in
// the end don't count.
func TestFailures(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.Readers(l, 8)
	j := s.Start(s.NewJob(l.ID))
	at := func(minutes int) core.Instant { return sendNow.Add(time.Duration(minutes) * time.Minute) }
	deferred := func(seq int64, due core.Instant) core.Outcome {
		return core.Outcome{
			JobNo: j.No, TenantID: j.TenantID, Seq: seq, Tried: true, State: core.RecipientDeferred, DueAt: due,
			GivesUpAt: due, Reason: "452 4.2.2 <ada@acme.example> is full",
		}
	}
	ended := func(seq int64, state int, reason string) core.Outcome {
		return core.Outcome{JobNo: j.No, TenantID: j.TenantID, Seq: seq, Tried: true, State: state, Reason: reason}
	}
	s.Must(s.FinishRecipients(t.Context(), []core.Outcome{
		deferred(1, at(20)), deferred(2, at(10)), deferred(3, at(5)),
		ended(4, core.RecipientFailed, "550 5.1.1 no such user"), ended(5, core.RecipientFailed, "550 5.1.1 unknown"),
		ended(6, core.RecipientFailed, "554 go away"), ended(7, core.RecipientSkipped, core.ReasonUnsubscribed),
	}, sendNow))
	s.Must(s.FinishRecipients(t.Context(), []core.Outcome{ended(3, core.RecipientSent, "")}, at(6)))
	got, err := s.Failures(t.Context(), &j)
	s.Must(err)
	want := []core.Failure{
		{
			Status: "deferred", Code: "4.2.2", Reason: "452 4.2.2 <a***@acme.example> is full", Recipients: 2,
			NextTryAt: at(10),
		},
		{Status: "failed", Code: "5.1.1", Reason: "550 5.1.1 no such user", Recipients: 2},
		{Status: "failed", Code: "554", Reason: "554 go away", Recipients: 1},
		{Status: "skipped", Reason: core.ReasonUnsubscribed, Recipients: 1},
	}
	if len(got.Failures) != len(want) || got.Partial {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got.Failures[i] != want[i] {
			t.Errorf("%+v\nnot %+v", got.Failures[i], want[i])
		}
	}
}
