package store_test

import (
	"fmt"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store"
)

// A job that was ended while its recipients were still sought is retried for those whom it had found and not mailed,
// and for the rest of the list.
func TestRetryOfAJobThatEndedEarly(t *testing.T) {
	for _, steps := range []int{0, 1, 2} {
		h := newSendHouse(t)
		ctx := t.Context()
		h.subscribe(1200)
		j, err := h.job(nil)
		h.must(err)
		_, err = h.StartDueJobs(ctx, sendNow)
		h.must(err)
		for range steps {
			_, err = h.ExpandJob(ctx, j.No, sendNow)
			h.must(err)
		}
		want := int64(1200)
		if steps > 0 {
			h.must(h.FinishRecipients(ctx,
				[]core.Outcome{{JobNo: j.No, Seq: 7, State: core.RecipientSent, Tried: true}}, sendNow))
			want--
		}
		_, err = h.CancelSendJob(ctx, j.ID, sendNow)
		h.must(err)
		for after, more := int64(0), true; more; {
			after, more, err = h.SettleJob(ctx, j.No, after, sendNow)
			h.must(err)
		}
		again, err := h.RetryFailed(ctx, j.ID, "test", sendNow)
		h.must(err)
		trail, err := h.Audit(ctx, "", 1)
		h.must(err)
		if want := (store.AuditRow{
			At: sendNow, Actor: "test", Action: "job.retry", TenantID: j.TenantID,
			Object: again.ID,
		}); len(trail) != 1 || trail[0] != want {
			t.Errorf("trail %+v, want %+v", trail, want)
		}
		_, err = h.StartDueJobs(ctx, sendNow)
		h.must(err)
		for more := true; more; {
			more, err = h.ExpandJob(ctx, again.No, sendNow)
			h.must(err)
		}
		again = h.reload(again)
		rows, err := h.Recipients(ctx, &again, store.RecipientFilter{}, core.Page{Limit: 2000})
		h.must(err)
		seen := map[string]bool{}
		for _, r := range rows {
			seen[r.Email] = true
		}
		if again.Recipients != want || !again.Expanded || int64(len(seen)) != want || int64(len(rows)) != want {
			t.Errorf("after %d steps: %d recipients, %d rows, %d addresses; want %d", steps, again.Recipients,
				len(rows), len(seen), want)
		}
	}
}

// A retry that can reach no one is refused, with the reason.
func TestRetriesOfNobodyAreRefused(t *testing.T) {
	h := newSendHouse(t)
	ctx := t.Context()
	h.subscribe(3)
	refused := func(j core.SendJob, word string) {
		t.Helper()
		if _, err := h.RetryFailed(ctx, j.ID, "test",
			sendNow); core.KindOf(err) != core.Conflict || !strings.Contains(fmt.Sprint(err), word) {
			t.Errorf("%v, want %q", err, word)
		}
	}
	j, err := h.job(nil)
	h.must(err)
	refused(j, "has not ended")
	_, err = h.CancelSendJob(ctx, j.ID, sendNow)
	h.must(err)
	refused(j, "before it began")
	if j, err = h.job(nil); err != nil {
		t.Fatal(err)
	}
	_, err = h.StartDueJobs(ctx, sendNow)
	h.must(err)
	_, err = h.ExpandJob(ctx, j.No, sendNow)
	h.must(err)
	var all []core.Outcome
	for seq := int64(1); seq <= 3; seq++ {
		all = append(all, core.Outcome{JobNo: j.No, Seq: seq, State: core.RecipientSent, Tried: true})
	}
	h.must(h.FinishRecipients(ctx, all, sendNow))
	refused(j, "left nobody out")
}
