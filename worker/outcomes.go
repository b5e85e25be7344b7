package worker

import (
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
)

// maxLost is the number of consecutive connections that must break, or end with 421, during a recipient's own
// transaction before that counts as a temporary failure of the recipient.
const maxLost = 3

// record is an outcome that is not yet committed.
type record struct {
	core.Outcome
	it *item
}

// outcome returns a record that gives an item a new state. If tried is true, it counts as a try.
func outcome(it *item, state int, reason string, tried bool) record {
	return record{it: it, Outcome: core.Outcome{
		JobNo: it.job.job.No, TenantID: it.job.job.TenantID, Seq: it.Seq, EmailKey: it.EmailKey,
		State: state, Reason: reason, Tried: tried,
	}}
}

// ambiguous returns the record for an item whose reply was lost. The message is sent again with the same Message-ID. If
// the second reply is lost, too, the item fails.
func ambiguous(it *item, o smtp.Outcome) record {
	if it.Ambiguous > 0 {
		return outcome(it, core.RecipientFailed, core.ReasonNoReply, true)
	}
	rec := outcome(it, core.RecipientQueued, replyText(o), false)
	rec.Ambiguous = true
	return rec
}

// deferred returns the record for an item that was temporarily refused. The item is retried later or, at the end of its
// retry period, fails.
func deferred(it *item, o smtp.Outcome) record {
	at, ok := it.job.job.NextTry(it.Tries+1, core.At(time.Now()))
	rec := outcome(it, core.RecipientDeferred, replyText(o), true)
	rec.DueAt, rec.GivesUpAt = at, it.job.job.LastTry(it.Tries+1, at)
	if !ok {
		rec.State, rec.DueAt, rec.GivesUpAt, rec.SoftBounce = core.RecipientFailed, 0, 0, o.MailboxFull()
	}
	return rec
}

// replyText returns the server's reply in the form in which it is stored.
func replyText(o smtp.Outcome) string {
	parts := make([]string, 0, 3)
	if o.Code != 0 {
		parts = append(parts, strconv.Itoa(o.Code))
	}
	for _, p := range [...]string{o.Enhanced, o.Text} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return "connection lost"
	}
	return strings.Join(parts, " ")
}
