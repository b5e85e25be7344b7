package worker

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
)

// policyLimit is the number of consecutive policy refusals (5.7.x, RFC 3463 section 3.8) after which a job is paused.
// That many refusals mean that the relay distrusts the sender, and are not the fault of the recipients.
const policyLimit = 100

// countPolicy counts a job's consecutive policy refusals, and pauses the job when they reach policyLimit.
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
