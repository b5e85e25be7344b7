package campaigns

import (
	"context"

	"newsletterd/core"
)

const (
	failureColumns = "SELECT r.state, r.due_at, r.reason FROM "
	// failuresByWord selects recipients with a final outcome, whose search words no longer change.
	failuresByWord = failureColumns + "recipient_word AS w CROSS JOIN recipient AS r ON r.job_no = w.job_no AND " +
		"r.seq = w.seq WHERE w.job_no = ?1 AND w.word = ?2 AND r.state = ?3 ORDER BY w.seq LIMIT +?4"
	failuresDeferred = failureColumns + "recipient AS r WHERE r.job_no = ?1 AND r.state = " + sqlRecipientDeferred +
		" ORDER BY r.due_at LIMIT +?2"
)

// Failures summarizes why recipients of a job got no email. It reads at most core.FailureSample recipients of each
// outcome. Its only error is core.ErrStorage.
func (s *Store) Failures(ctx context.Context, j *core.SendJob) (f core.Failures, err error) {
	f.Failures = []core.Failure{}
	for _, state := range []int{core.RecipientDeferred, core.RecipientFailed, core.RecipientSkipped} {
		var some []core.Recipient
		if state == core.RecipientDeferred {
			err = s.All(ctx, &some, failuresDeferred, j.No, core.FailureSample)
		} else {
			err = s.All(ctx, &some, failuresByWord, j.No, core.RecipientStates[state], state, core.FailureSample)
		}
		if err != nil {
			return f, err
		}
		f.Partial = f.Partial || len(some) == core.FailureSample
		for i := range some {
			f.Add(&some[i])
		}
	}
	f.Sort()
	return f, nil
}
