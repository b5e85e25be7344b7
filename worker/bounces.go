package worker

import (
	"context"
	"strconv"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/report"
	"newsletterd/store"
)

// bounceProvider is the provider name for recording bounce messages. No tenant can use this name.
const bounceProvider = "(mail)"

// TakeBounce records the reports in a bounce message and returns how many concern emails from this daemon. rcpt is the
// address that received the message, or empty if unknown. TakeBounce ignores reports about other emails. It accepts
// only identifiers signed by this daemon, because no one else can create those.
func TakeBounce(
	ctx context.Context, s *store.Store, ident *mail.Ident, rcpt string, data []byte, now core.Instant,
) (n int, err error) {
	var batch []core.ProviderReport
	for _, r := range report.ParseBounce(rcpt, data, now) {
		job, seq := ident.Recipient(r.Names...)
		if job == 0 {
			continue
		}
		// A message may report several recipients. Each counts once.
		r.Key = core.ProviderKey(string(r.Key), strconv.FormatInt(job, 10), strconv.FormatInt(seq, 10))
		r.Provider, r.JobNo, r.Seq = bounceProvider, job, seq
		batch = append(batch, r)
	}
	return len(batch), s.ApplyReports(ctx, batch, now)
}
