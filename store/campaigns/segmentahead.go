package campaigns

import (
	"context"
	"errors"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// lookahead holds what a job's step has read on reading connections in advance, so that the writer doesn't wait. It is
// empty if the job has no rule.
type lookahead struct {
	judged
	part *listRange // instead of judged, for a job's first list
}

// judged maps subscriber ids to whether they match a job's rule. It is nil if no one was judged.
type judged map[string]bool

// listRange holds the matching subscribers in a part of a job's first list. Subscribers who become candidates after the
// part was read are treated like those who become candidates after the step. Those who stop being candidates are left
// out.
type listRange struct {
	from    string // position of the job when the range was read
	reached int64  // number of recipients that the job had
	to      string // last id in the range
	more    bool   // whether the list has more subscribers
	certain bool   // whether the rule can always be evaluated
	found   []candidate
}

// rangeMost is the maximum number of subscribers that a range reads. Reading them takes up to 50 ms.
const rangeMost = 20_000

var (
	// profilesBetween selects the data that the rule needs for the subscribers in rangeOfList.
	profilesBetween = linesOf(rangeOfList)

	// profilesAfter selects the data that the rule needs for the next subscribers of a list. Those without a block may
	// still be suppressed or disabled, which addMatching checks for the few who match.
	profilesAfter = linesOf(` FROM subscriber AS s WHERE s.list_id = ?1 AND s.id > ?2 AND s.word = 'active'
		AND s.block = '' ORDER BY s.id LIMIT +?3`)
)

// judgeAhead evaluates a job's rule for the candidates of the job's next step. If the rule can't be evaluated, it
// returns a core.Undecided error.
func judgeAhead(ctx context.Context, s *db.DB, no int64) (ahead lookahead, err error) {
	var j core.SendJob
	var narrowing core.Narrowing
	var match *RuleMatch
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		err := r.Get(&j, "SELECT "+sendJobColumns+" FROM send_job WHERE no = ?", no)
		after, rest := strings.CutPrefix(j.ExpandedTo, restOfList)
		if err != nil || j.Status != core.JobRunning || j.Expanded || j.Narrowing == "" || j.RetryOf != "" && !rest {
			return noJob(err)
		}
		if narrowing, err = core.ParseNarrowing(j.Narrowing); err != nil || !narrowing.Segmented() {
			return err
		}
		of, err := jobMatch(r, &j, &narrowing)
		if err != nil {
			return err
		}
		parts, err := jobParts(r, &j)
		if err != nil {
			return err
		}
		place := lastBegun(parts)
		if place == 0 && j.RetryOf == "" {
			match = of
			return nil
		}
		list, upper := parts[place].ListID, db.LastID
		err = r.Get(&upper, nextStep, list, after, stepOf(expandStep, place, &narrowing)-1)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
		lines, err := readLines(r, &profilesBetween, of.needs(), list, after, upper, nil, nil, j.TenantID)
		if err == nil {
			ahead.judged, err = of.judgeAll(s, r, lines.subscribers())
		}
		return err
	})
	if err == nil && match != nil {
		ahead.part, err = readRange(ctx, s, &j, &narrowing, match)
	}
	return ahead, err
}

// readRange reads the next range of a job's first list, until it has found enough recipients for a step. Each part is
// read from its own snapshot.
func readRange(ctx context.Context, s *db.DB, j *core.SendJob, n *core.Narrowing, match *RuleMatch) (*listRange,
	error,
) {
	limit := int(stepOf(expandStep, 0, n))
	if j.FirstFew > 0 && j.FirstUntil == 0 {
		limit = min(limit, int(j.FirstFew-j.Recipients))
	}
	st := &listRange{from: j.ExpandedTo, reached: j.Recipients, more: true, certain: match.matcher.OnlyEarly()}
	st.to = strings.TrimPrefix(j.ExpandedTo, restOfList)
	needs := match.needs()
	if n.Searches() > 0 {
		needs |= needKey
	}
	most := match.Step(j.ListID, rangeMost)
	for read, size := 0, limit; st.more && read < most && len(st.found)*10 < limit*9; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.SnapshotRead(ctx, func(r *db.Reader) error {
			return st.read(s, r, j, match, needs, size, limit)
		}); err != nil {
			return nil, err
		}
		read += size
		missing := limit - len(st.found)
		size = max(50, min(missing*read/max(1, len(st.found)), 2000, most-read))
	}
	return st, nil
}

// read appends those of a list's next subscribers who match, up to limit.
func (st *listRange) read(s *db.DB, r *db.Reader, j *core.SendJob, match *RuleMatch, needs, size, limit int) error {
	left := limit - len(st.found)
	led, few, err := match.Lead(r, j.ListID, st.to, left)
	if err != nil {
		return err
	}
	query, args := &profilesAfter, []any{j.ListID, st.to, size, nil, nil, nil}
	if few {
		query, args = &ledLines, []any{j.ListID, db.JsonOf(led.IDs), nil, nil, nil, j.TenantID}
	}
	lines, err := readLines(r, query, needs, args...)
	if err != nil {
		return err
	}
	found, all, last, err := match.matching(s, r, lines)
	switch {
	case err != nil:
		return err
	case few:
		st.to, st.more = led.To, led.More
	case len(found) > left:
		found = found[:left]
		st.to = found[left-1].ID
	default:
		if st.to, st.more = last, all == size; !st.more {
			st.to = db.LastID
		}
	}
	st.found = append(st.found, found...)
	return nil
}

// addMatching is a statement that adds recipients to a job: the subscribers of a list whose ids are in a JSON array,
// except those who may not be emailed now. It keeps their order.
const addMatching = `INSERT INTO recipient (job_no, seq, subscriber_id, email_key) SELECT ?1, next_number(?2), s.id,
	s.email_key FROM json_each(?4) AS j CROSS JOIN subscriber AS s ON s.list_id = ?3 AND s.id = j.value ` + Barred +
	" WHERE " + MayBeEmailed

// addTo adds the subscribers found in a range to a job's recipients, except those who are otherwise excluded or may no
// longer be emailed.
func (st *listRange) addTo(tx *db.Tx, j *core.SendJob, n *core.Narrowing) (added int64, err error) {
	if !st.certain {
		if err := decidable(tx, j, n); err != nil {
			return 0, err
		}
	}
	found, err := narrow(tx.DB(), tx, st.found, n)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	err = db.Numbered(j.Recipients, func(counter int64) error {
		added, err = tx.Exec(addMatching, j.No, counter, j.ListID, db.JsonOf(ids), nil, j.TenantID)
		return err
	})
	return added, err
}

// outside selects the number of subscribers on a segmented job's first list who may be emailed but were not reached. It
// is known only after the list is expanded. Steps that read everyone have already counted some of these subscribers.
const outside = `SELECT max(0, coalesce((SELECT mailable FROM list_count WHERE list_id = ?1 ORDER BY day DESC LIMIT 1),
	0) - ?2 - excluded) FROM send_job WHERE no = ?3`

// keep drops the candidates of a list who don't match a job's rule. For candidates whom judgeAhead did not read, it
// evaluates the rule now.
func (a judged) keep(tx *db.Tx, j *core.SendJob, n *core.Narrowing, list string, found []candidate) (_ []candidate,
	err error,
) {
	if !n.Segmented() || len(found) == 0 {
		return found, nil
	}
	var late []candidate
	for _, c := range found {
		if _, known := a[c.ID]; !known {
			late = append(late, c)
		}
	}
	var more judged
	if len(late) > 0 {
		match, err := jobMatch(tx, j, n)
		if err == nil {
			more, err = match.judge(tx.DB(), tx, list, late)
		}
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(found, func(c candidate) bool { return !a[c.ID] && !more[c.ID] }), nil
}

// jobMatch returns the RuleMatch for a job's rule. For a retry, the rule applies as of the start of the first job.
func jobMatch(q db.Querier, j *core.SendJob, n *core.Narrowing) (*RuleMatch, error) {
	rule, err := storedRule(n)
	if rule == nil || err != nil {
		return nil, err
	}
	at, err := ruleMoment(q, j)
	if err != nil {
		return nil, err
	}
	return MatchRule(q, j.TenantID, rule, at)
}

// decidable returns a core.Undecided error if the data that a job's rule needs is no longer stored for its first list.
// The parts of a range were read from several snapshots. Housekeeping removes a campaign's first recipients first, so
// data that is complete now was complete in all snapshots.
func decidable(tx *db.Tx, j *core.SendJob, n *core.Narrowing) error {
	match, err := jobMatch(tx, j, n)
	if err == nil {
		_, err = match.jobsOf(tx, j.ListID)
	}
	return err
}

// ruleMoment returns the time as of which a job's rule is evaluated: the start of the job or, for a retry, the start of
// the first job that it retries.
func ruleMoment(q db.Querier, j *core.SendJob) (core.Instant, error) {
	at, of := j.StartedAt, j.RetryOf
	for of != "" {
		var old struct {
			StartedAt core.Instant `db:"started_at"`
			RetryOf   string       `db:"retry_of"`
		}
		if err := q.Get(&old, "SELECT started_at, retry_of FROM send_job WHERE id = ?", of); err != nil {
			return 0, err
		}
		at, of = old.StartedAt, old.RetryOf
	}
	return at, nil
}
