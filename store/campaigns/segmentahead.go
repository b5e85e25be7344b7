package campaigns

import (
	"context"
	"errors"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// lookahead holds what was found out for a step of a job on reading connections, so that the writer doesn't wait. It is
// empty if the job has no rule.
type lookahead struct {
	judged
	part *listRange // instead of judged, for the first list of a job
}

// judged holds, by subscriber id, whether a job's next candidates match its rule. It is nil if no one was judged.
type judged map[string]bool

// listRange is a part of a job's first list. Subscribers who become candidates after it was read are treated like those
// who do after the step. Those who stop being candidates are left out.
type listRange struct {
	from    string // where the job was
	reached int64  // recipients that it had
	to      string // last id
	more    bool   // the list has further ones
	checked int    // number of candidates
	found   []candidate
}

// rangeMost is the maximum number of subscribers that a range reads. Reading them takes up to 50 ms.
const rangeMost = 10_000

// profilesBetween is candidatesOfList with what the rule needs. Its last parameter is that of SubscriberLine.
var profilesBetween = Lines("SELECT " + SubscriberLine + rangeOfList)

// judgeAhead judges the candidates of the next step of a job. If the rule can't be evaluated, it returns an error of
// core.Undecided.
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
		var text string
		if err := r.Get(&text, profilesBetween, list, after, upper, nil, nil, j.TenantID, of.Needs()); err != nil {
			return err
		}
		ahead.judged, err = of.judgeAll(s, r, ParseSubscribers(nil, list, text))
		return err
	})
	if err == nil && match != nil {
		ahead.part, err = readRange(ctx, s, &j, &narrowing, match)
	}
	return ahead, err
}

// readRange reads the next range of a job's first list, until it has found enough recipients for a step. Each part
// of it has a snapshot of its own.
func readRange(ctx context.Context, s *db.DB, j *core.SendJob, n *core.Narrowing, match *RuleMatch) (*listRange,
	error,
) {
	limit := int(stepOf(expandStep, 0, n))
	if j.FirstFew > 0 && j.FirstUntil == 0 {
		limit = min(limit, int(j.FirstFew-j.Recipients))
	}
	st := &listRange{from: j.ExpandedTo, reached: j.Recipients, more: true}
	st.to = strings.TrimPrefix(j.ExpandedTo, restOfList)
	most := match.Step(j.ListID, rangeMost)
	for read, size := 0, limit; st.more && read < most && len(st.found)*10 < limit*9; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.SnapshotRead(ctx, func(r *db.Reader) error { return st.read(s, r, j, match, size, limit) }); err != nil {
			return nil, err
		}
		read += size
		missing := limit - len(st.found)
		size = max(50, min(missing*read/max(1, len(st.found)), 2000, most-read))
	}
	return st, nil
}

// read adds the candidates among the next subscribers of the list, up to the limit of those who match.
func (st *listRange) read(s *db.DB, r *db.Reader, j *core.SendJob, match *RuleMatch, size, limit int) error {
	upper := db.LastID
	err := r.Get(&upper, nextStep, j.ListID, st.to, size-1)
	last := errors.Is(err, core.ErrNotFound)
	if err != nil && !last {
		return err
	}
	var text string
	if err := r.Get(&text, profilesBetween, j.ListID, st.to, upper, nil, nil, j.TenantID, match.Needs()); err != nil {
		return err
	}
	subs := ParseSubscribers(nil, j.ListID, text)
	matches, err := match.Among(s, r, subs)
	if err != nil {
		return err
	}
	for i := range subs {
		st.checked++
		if !matches[i] {
			continue
		}
		st.found = append(st.found, candidate{subs[i].ID, subs[i].EmailKey})
		if len(st.found) == limit {
			st.to = subs[i].ID
			return nil
		}
	}
	st.to, st.more = upper, !last
	return nil
}

// goneAmong selects, from a JSON array of ids, those that may not be emailed through a list now. It returns their
// indexes, counted from 0. Parameters 5 and 6 are those of Barred.
const goneAmong = `SELECT j.key FROM json_each(?2) AS j LEFT JOIN subscriber AS s ON s.list_id = ?1 AND s.id = j.value ` +
	Barred + " WHERE NOT coalesce(" + MayBeEmailed + ", 0)"

// recipients returns those whom a range found, without those who are excluded otherwise or may no longer be emailed.
// excluded is the number of all who were excluded.
func (st *listRange) recipients(tx *db.Tx, j *core.SendJob, n *core.Narrowing) (found []candidate, excluded int,
	err error,
) {
	if found, err = narrow(tx.DB(), tx, st.found, n); err != nil || len(found) == 0 {
		return nil, st.checked, err
	}
	excluded = st.checked - len(found)
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	var gone []int
	err = tx.All(&gone, goneAmong, j.ListID, db.JsonOf(ids), nil, nil, nil, j.TenantID)
	return dropped(found, gone), excluded, err
}

// keep drops the candidates of a list who don't match the rule of a job. Those who became candidates after judgeAhead
// are judged now.
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

// jobMatch returns the match of a job's rule. For a retry, the rule applies as of the start of the first job.
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

// decidable returns a core.Undecided error if what the rule of a job needs is no longer stored for its first list. The
// parts of a range have been read in several snapshots. The retention removes a campaign's first recipients first, so
// what is complete now was complete in all of them.
func decidable(tx *db.Tx, j *core.SendJob, n *core.Narrowing) error {
	match, err := jobMatch(tx, j, n)
	if err == nil {
		_, err = match.jobsOf(tx, j.ListID)
	}
	return err
}

// ruleMoment returns the moment for which a job's rule is evaluated: the start of the job or, for a retry, the start of
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
