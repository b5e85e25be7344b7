package worker

import (
	"context"
	"strconv"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/report"
	"newsletterd/store"
)

// bounceProvider is the provider that mails which came back are kept under; no tenant can give a provider this name.
const bounceProvider = "(mail)"

// TakeBounce takes in one mail that came back to rcpt (empty where that is not known), and returns how many reports
// of it were about a mail of ours. The others are ignored: only names that this daemon has made, which no one else can
// make, are believed.
func TakeBounce(
	ctx context.Context, s *store.Store, ident *mail.Ident, rcpt string, data []byte, now core.Instant,
) (n int, err error) {
	var batch []core.ProviderReport
	for _, r := range report.ParseBounce(rcpt, data, now) {
		job, seq := ident.Recipient(r.Names...)
		if job == 0 {
			continue
		}
		// one mail may have come back to several recipients: it counts once for each
		r.Key = core.ProviderKey(string(r.Key), strconv.FormatInt(job, 10), strconv.FormatInt(seq, 10))
		r.Provider, r.JobNo, r.Seq = bounceProvider, job, seq
		batch = append(batch, r)
	}
	return len(batch), s.ApplyReports(ctx, batch, now)
}
