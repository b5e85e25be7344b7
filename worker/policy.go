package worker

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
)

// policyLimit is how many refusals for reasons of policy (5.7.x, RFC 3463 section 3.8), running, pause a job: the
// relay does not trust the sender, and the recipients are not at fault.
const policyLimit = 100

// countPolicy counts refusals of a job for reasons of policy, and pauses the job at policyLimit.
func (s *Sender) countPolicy(it *item, o smtp.Outcome) {
	j := it.job
	if !strings.HasPrefix(o.Enhanced, "5.7.") || j.job.Unstoppable || j.policy.Add(1) != policyLimit {
		return
	}
	err := s.store.PauseSendJob(context.Background(), j.job.No, "refused for reasons of policy: "+replyText(o),
		core.At(time.Now()))
	if err != nil {
		s.opts.Log.Error("send: a job cannot be paused", slog.String("job", j.job.ID), slog.Any("error", err))
	}
}
