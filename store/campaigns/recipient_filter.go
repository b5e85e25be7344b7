package campaigns

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// RecipientFilter selects recipients of a job. The zero value selects all of them.
type RecipientFilter struct {
	Status string     // one of RecipientStates
	Code   string     // code of the rejection: a reply code such as 550, or an enhanced status code such as 5.1.1
	Email  core.Email // only recipients with this address
	Event  string     // one of core.RecipientEvents
	Search string     // prefix of the address or of a word in the name
}

var replyCode = regexp.MustCompile(`^[45](\d\d|\.\d{1,3}\.\d{1,3})$`)

// Validate returns an Invalid error that names the first invalid field.
func (f *RecipientFilter) Validate() error {
	if f.Status != "" && !slices.Contains(core.RecipientStates[:], f.Status) {
		return core.Invalidf("status", "status must be one of %s.", strings.Join(core.RecipientStates[:], ", "))
	}
	if f.Event != "" && !slices.Contains(core.RecipientEvents, f.Event) {
		return core.Invalidf("event", "event must be one of %s.", strings.Join(core.RecipientEvents, ", "))
	}
	if f.Code != "" && !replyCode.MatchString(f.Code) {
		return core.Invalidf("code", "code must be an SMTP error code, for example 550 or 5.1.1.")
	}
	if len(f.Search) > 254 {
		return core.Invalidf("search", "search must have at most 254 characters.")
	}
	return nil
}

// wordsOf returns the search words of a recipient who got no email: the state and the codes of the rejection.
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
		r.finished_at, r.reason, r.marks, coalesce(s.id, '') AS subscriber_id, ` + db.WholeName + ` AS name FROM `
	recipientMarked = "r.marks > 1"
)

var (
	recipientRest = ` LEFT JOIN subscriber AS s ON s.list_id = ?1 AND s.id = r.subscriber_id WHERE r.job_no = ?2 AND
		r.seq > ?3 AND r.seq <= ?4
		AND (?5 < 0 OR r.state = ?5) AND (?6 = '' OR r.state IN (` + sqlRecipientDeferred + `,
		` + sqlRecipientFailed + `) AND ?6 IN (substr(r.reason, 1, 3), substr(r.reason, 5, instr(substr(r.reason, 5) ||
		' ', ' ') - 1))) AND r.marks & ?8 = ?9 AND ` + db.ByName("r.email_key", 11)

	recipientsInOrder = recipientColumns + "recipient AS r" + recipientRest + " ORDER BY r.seq LIMIT +?7"
	recipientsByWord  = recipientColumns + "recipient_word AS w CROSS JOIN recipient AS r ON r.job_no = w.job_no " +
		"AND r.seq = w.seq" + recipientRest +
		" AND w.job_no = ?2 AND w.word = ?10 AND w.seq > ?3 AND w.seq <= ?4 ORDER BY w.seq LIMIT +?7"
	recipientsByMark = recipientColumns + "recipient AS r INDEXED BY recipient_marked" + recipientRest +
		" AND " + recipientMarked + " ORDER BY r.seq LIMIT +?7"
)

// spanByWord and spanByMark count the recipients in an index after seq ?2 up to ?3, but at most ?4. They also return
// the last seq.
const (
	spanByWord = `SELECT count(*) AS reads, coalesce(max(seq), 0) AS last FROM (SELECT seq FROM recipient_word
		WHERE job_no = ?1 AND seq > ?2 AND seq <= ?3 AND word = ?5 ORDER BY seq LIMIT +?4)`
	spanByMark = `SELECT count(*) AS reads, coalesce(max(seq), 0) AS last FROM (SELECT seq FROM recipient AS r
		INDEXED BY recipient_marked WHERE job_no = ?1 AND seq > ?2 AND seq <= ?3 AND ` + recipientMarked + `
		ORDER BY seq LIMIT +?4)`
)

// recipientRange is the maximum number of recipients that one read without a search word checks. foundReads is the
// maximum number of recipients that a page of FindRecipients compares, sorted by name.
const (
	recipientRange = 20_000
	foundReads     = 2000
)

// recipientChoice holds a RecipientFilter's conditions as parameters of statements.
type recipientChoice struct {
	state      int    // -1 means any
	code, word string // word is the search word for the index; empty means that the index is not used
	mask, want core.Marks
	named      db.NameSearch
	after, end int64 // seqs; after is exclusive, end is inclusive
}

// chosen returns the conditions of a filter, starting after a seq. none is true if no recipient of the job can match.
func (s *Store) chosen(ctx context.Context, j *core.SendJob, f *RecipientFilter, after string) (
	c recipientChoice, none bool, err error,
) {
	if err := f.Validate(); err != nil {
		return c, false, err
	}
	c = recipientChoice{state: -1, code: f.Code, word: f.Code, end: j.Recipients, named: db.NewNameSearch(f.Search)}
	if c.after, err = strconv.ParseInt("0"+after, 10, 64); err != nil {
		return c, false, core.ErrInvalidCursor
	}
	if f.Status != "" {
		c.state = slices.Index(core.RecipientStates[:], f.Status)
	}
	if f.Email != "" {
		if c.end, err = s.seqOfEmail(ctx, j, f.Email); err != nil || c.end <= c.after {
			return c, true, err
		}
		c.after = c.end - 1
	}
	if c.word == "" && c.state != core.RecipientSent && c.state != core.RecipientQueued {
		c.word = f.Status
	}
	c.mask, c.want = core.MarksOf(f.Event)
	return c, c.word == "" && noneLeft(j, c.state), nil
}

// Recipients returns a page of a job's recipients in sending order. page.After is the seq of the last recipient on the
// previous page, in decimal. If it is not a number, Recipients returns core.ErrInvalidCursor. If f is not valid, it
// returns an Invalid error. Unlike FindRecipients, it reads until the page is full.
func (s *Store) Recipients(ctx context.Context, j *core.SendJob, f RecipientFilter, page core.Page) (
	rs []core.Recipient, err error,
) {
	rs, _, err = s.recipients(ctx, j, &f, page, math.MaxInt)
	return rs, err
}

// FindRecipients is like Recipients, but compares a limited number of recipients. A page can therefore be shorter than
// its limit, or empty, even if more pages follow. next is the position to continue from. After the last page, it is
// empty.
func (s *Store) FindRecipients(ctx context.Context, j *core.SendJob, f RecipientFilter, page core.Page) (
	rs []core.Recipient, next string, err error,
) {
	return s.recipients(ctx, j, &f, page, foundReads)
}

func (s *Store) recipients(ctx context.Context, j *core.SendJob, f *RecipientFilter, page core.Page, reads int) (
	rs []core.Recipient, next string, err error,
) {
	c, none, err := s.chosen(ctx, j, f, page.After)
	if none || err != nil {
		return nil, "", err
	}
	parts, err := s.partsOfJob(ctx, j)
	for _, p := range parts {
		for end := min(c.end, p.To); c.after < end && err == nil; {
			if reads <= 0 || len(rs) >= page.Limit {
				return rs, strconv.FormatInt(c.after, 10), nil
			}
			var n int
			n, err = s.readChosen(ctx, j.No, &c, p.ListID, end, min(reads, recipientRange), page.Limit, &rs)
			reads -= n
		}
	}
	return rs, "", err
}

// readChosen appends matching recipients of a list to rs, from after c.after up to end, until rs has limit elements. It
// advances c.after. If c selects by name, it compares at most the number of recipients given by most. It returns how
// many it compared.
func (s *Store) readChosen(
	ctx context.Context, jobNo int64, c *recipientChoice, listID string, end int64, most, limit int, rs *[]core.Recipient,
) (reads int, err error) {
	statement, span, to := recipientsInOrder, "", end
	bounds := []any{jobNo, c.after, end, most}
	switch {
	case c.word != "":
		statement, span, bounds = recipientsByWord, spanByWord, append(bounds, c.word)
	case c.mask != 0:
		statement, span = recipientsByMark, spanByMark
	default:
		to = min(end, c.after+int64(most))
		reads = int(to - c.after)
	}
	if span != "" && c.named.Key != "" {
		var read struct {
			Reads int   `db:"reads"`
			Last  int64 `db:"last"`
		}
		if err = s.Get(ctx, &read, span, bounds...); err != nil {
			return 0, err
		}
		if reads = read.Reads; reads == most {
			to = read.Last
		}
	}
	var some []core.Recipient
	lacks := limit - len(*rs)
	err = s.All(ctx, &some, statement, append([]any{
		listID, jobNo, c.after, to, c.state, c.code, lacks, int(c.mask), int(c.want), c.word,
	}, c.named.Args()...)...)
	if c.after = to; len(some) > 0 && len(some) == lacks {
		c.after = some[lacks-1].Seq
	}
	for i := range some {
		some[i].ListID = listID
	}
	*rs = append(*rs, some...)
	return reads, err
}

// noneLeft reports whether no recipient of a job is in a state, according to the job's counters.
func noneLeft(j *core.SendJob, state int) bool {
	switch state {
	case core.RecipientSent:
		return j.Sent == 0
	case core.RecipientQueued:
		return j.Recipients == j.Sent+j.Failed+j.Skipped+j.Deferred
	}
	return false
}

// seqOfEmail returns the seq of an address among a job's recipients, or 0 if it is not one of them.
func (s *Store) seqOfEmail(ctx context.Context, j *core.SendJob, email core.Email) (seq int64, err error) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		parts, err := jobParts(r, j)
		for i := 0; i < len(parts) && seq == 0 && err == nil; i++ {
			p := parts[i]
			seq, err = SeqOf(r, j.No, p.After+1, p.To, s.SubscriptionID(p.ListID, email.Key()))
		}
		return err
	})
	return seq, err
}
