package store

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
)

// RecipientFilter chooses recipients of a job; the zero value chooses all of them.
type RecipientFilter struct {
	Status string     // of RecipientStates
	Code   string     // of the refusal: a reply code as 550, or an enhanced status code as 5.1.1
	Email  core.Email // that address alone
	Event  string     // of core.RecipientEvents
}

var replyCode = regexp.MustCompile(`^[45](\d\d|\.\d{1,3}\.\d{1,3})$`)

// Validate names the field that is at fault.
func (f *RecipientFilter) Validate() error {
	if f.Status != "" && !slices.Contains(core.RecipientStates[:], f.Status) {
		return core.Invalidf("status", "status must be one of %s.", strings.Join(core.RecipientStates[:], ", "))
	}
	if f.Event != "" && !slices.Contains(core.RecipientEvents, f.Event) {
		return core.Invalidf("event", "event must be one of %s.", strings.Join(core.RecipientEvents, ", "))
	}
	if f.Code != "" && !replyCode.MatchString(f.Code) {
		return core.Invalidf("code", "code must be the code of a refusal, as 550 or 5.1.1.")
	}
	return nil
}

// wordsOf are the words by which a recipient without a mail is found: what became of it, and the codes of the refusal.
func wordsOf(state int, reason string) []string {
	if state == core.RecipientQueued || state == core.RecipientSent {
		return nil
	}
	words := append(make([]string, 0, 3), core.RecipientStates[state])
	if state == core.RecipientSkipped {
		return words
	}
	code, rest, _ := strings.Cut(reason, " ")
	enhanced, _, _ := strings.Cut(rest, " ")
	for _, word := range [...]string{code, enhanced} {
		if !replyCode.MatchString(word) {
			break
		}
		words = append(words, word)
	}
	return words
}

const (
	recipientColumns = `SELECT r.seq, coalesce(s.email, r.email_key) AS email, r.state, r.tries, r.ambiguous, r.due_at,
		r.finished_at, r.reason, r.marks FROM `
	recipientRest = ` LEFT JOIN subscriber AS s ON s.list_id = ?1 AND s.id = r.subscriber_id WHERE r.job_no = ?2 AND
		r.seq > ?3 AND r.seq <= ?4
		AND (?5 < 0 OR r.state = ?5) AND (?6 = '' OR r.state IN (` + sqlRecipientDeferred + `,
		` + sqlRecipientFailed + `) AND ?6 IN (substr(r.reason, 1, 3), substr(r.reason, 5, instr(substr(r.reason, 5) ||
		' ', ' ') - 1))) AND r.marks & ?8 = ?9 `

	recipientsInOrder = recipientColumns + "recipient AS r" + recipientRest + "ORDER BY r.seq LIMIT +?7"
	recipientsByWord  = recipientColumns + "recipient_word AS w CROSS JOIN recipient AS r ON r.job_no = w.job_no " +
		"AND r.seq = w.seq" + recipientRest +
		"AND w.job_no = ?2 AND w.word = ?10 AND w.seq > ?3 AND w.seq <= ?4 ORDER BY w.seq LIMIT +?7"
	recipientsByMark = recipientColumns + "recipient AS r INDEXED BY recipient_marked" + recipientRest +
		"AND r.marks > 1 ORDER BY r.seq LIMIT +?7"
)

// recipientRange is how many recipients one read of those that no word finds looks at.
const recipientRange = 20_000

// Recipients reads a page of a job's recipients, in the order of sending. page.After is the seq of the last one, as
// text. core.ErrInvalidCursor is returned where it is none, Invalid where f is not valid.
func (s *Store) Recipients(ctx context.Context, j *core.SendJob, f RecipientFilter,
	page core.Page) (rs []core.Recipient,
	err error,
) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	after, err := strconv.ParseInt("0"+page.After, 10, 64)
	if err != nil {
		return nil, core.ErrInvalidCursor
	}
	last, state := j.Recipients, -1
	if f.Status != "" {
		state = slices.Index(core.RecipientStates[:], f.Status)
	}
	if f.Email != "" {
		if last, err = s.seqOfEmail(ctx, j, f.Email); err != nil || last <= after {
			return nil, err
		}
		after = last - 1
	}
	word := f.Code
	if word == "" && state != core.RecipientSent && state != core.RecipientQueued {
		word = f.Status
	}
	mask, want := core.MarksOf(f.Event)
	parts, err := s.partsOfJob(ctx, j)
	for _, p := range parts {
		for end := min(last, p.To); after < end && len(rs) < page.Limit && err == nil; {
			var some []core.Recipient
			to := end
			switch {
			case word != "":
				err = s.all(ctx, &some, recipientsByWord, p.ListID, j.No, after, to, state, f.Code, page.Limit-len(rs),
					int(mask), int(want), word)
			case noneLeft(j, state):
				return rs, nil
			case mask != 0:
				err = s.all(ctx, &some, recipientsByMark, p.ListID, j.No, after, to, state, "", page.Limit-len(rs),
					int(mask),
					int(want))
			default:
				to = min(end, after+recipientRange)
				err = s.all(ctx, &some, recipientsInOrder, p.ListID, j.No, after, to, state, "", page.Limit-len(rs), 0,
					0)
			}
			for i := range some {
				some[i].ListID = p.ListID
			}
			rs, after = append(rs, some...), to
		}
	}
	return rs, err
}

// noneLeft reports whether the counters of a job say that none of its recipients is in a state.
func noneLeft(j *core.SendJob, state int) bool {
	switch state {
	case core.RecipientSent:
		return j.Sent == 0
	case core.RecipientQueued:
		return j.Recipients == j.Sent+j.Failed+j.Skipped+j.Deferred
	}
	return false
}

// seqOfEmail finds an address among the recipients of a job; 0: it is none of them.
func (s *Store) seqOfEmail(ctx context.Context, j *core.SendJob, email core.Email) (seq int64, err error) {
	err = s.snapshotRead(ctx, func(r *Reader) error {
		parts, err := jobParts(r, j)
		for i := 0; i < len(parts) && seq == 0 && err == nil; i++ {
			p := parts[i]
			seq, err = seqOf(r, j.No, p.After+1, p.To, s.SubscriptionID(p.ListID, email.Key()))
		}
		return err
	})
	return seq, err
}
