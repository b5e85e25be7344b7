package campaigns

import (
	"context"
	"errors"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// judged holds, by subscriber id, whether a job's next candidates match its rule. They are judged on a connection for
// reading, so that the writer doesn't wait. It is nil if no one was judged.
type judged map[string]bool

// profilesBetween is candidatesOfList with what the rule needs. Its last parameter is that of SubscriberLine.
var profilesBetween = Lines("SELECT " + SubscriberLine + rangeOfList)

// judgeAhead judges the candidates of the next step of a job. It returns nil if the job has no rule, and an error of
// core.Undecided if the rule can't be evaluated.
func judgeAhead(ctx context.Context, s *db.DB, no int64) (ahead judged, err error) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		var j core.SendJob
		err := r.Get(&j, "SELECT "+sendJobColumns+" FROM send_job WHERE no = ?", no)
		after, rest := strings.CutPrefix(j.ExpandedTo, restOfList)
		if err != nil || j.Status != core.JobRunning || j.Expanded || j.Narrowing == "" || j.RetryOf != "" && !rest {
			return noJob(err)
		}
		narrowing, err := core.ParseNarrowing(j.Narrowing)
		if err != nil || !narrowing.Segmented() {
			return err
		}
		match, err := jobMatch(r, &j, &narrowing)
		if err != nil {
			return err
		}
		parts, err := jobParts(r, &j)
		if err != nil {
			return err
		}
		place := lastBegun(parts)
		list, upper := parts[place].ListID, db.LastID
		err = r.Get(&upper, nextStep, list, after, stepOf(expandStep, place, &narrowing)-1)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
		var text string
		if err := r.Get(&text, profilesBetween, list, after, upper, nil, nil, j.TenantID, match.Needs()); err != nil {
			return err
		}
		ahead, err = match.judgeAll(s, r, ParseSubscribers(nil, list, text))
		return err
	})
	return ahead, err
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

// jobMatch returns the match of a job's rule. A retry is judged as of the start of the first job.
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

// ruleMoment returns the moment for which a job's rule is judged. It is the start of the job or, for a retry, of the
// first job that it retries.
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
