package campaigns

import (
	"fmt"
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
)

// measuredJobs selects the jobs to a list that started between two instants and track opens or clicks per subscriber,
// or only for those who agreed, newest first. Each row has the range of recipients reached through the list, and
// whether they are still stored. ?3 is the limit.
const measuredJobs = `SELECT no, at, tracked, low, high,
	EXISTS (SELECT 1 FROM recipient WHERE job_no = m.no AND seq = m.low) AS known FROM (
	SELECT j.no, j.started_at AS at, j.tracked, 1 AS low,
		` + FirstListEnds + ` AS high FROM send_job AS j INDEXED BY send_job_list
		WHERE j.list_id = ?1 AND j.started_at BETWEEN ?2 AND ?4 AND j.tracked & 3 <> 0 AND j.tracked & 12 <> 4
	UNION ALL
	SELECT j.no, j.started_at, j.tracked, f.after_seq + 1, ` + FurtherListEnds + ` FROM further_list AS f
		INDEXED BY further_list_list CROSS JOIN send_job AS j ON j.no = f.job_no
		WHERE f.list_id = ?1 AND f.after_seq IS NOT NULL AND j.started_at BETWEEN ?2 AND ?4 AND j.tracked & 3 <> 0 AND
			j.tracked & 12 <> 4)
	AS m WHERE high >= low ORDER BY at DESC, no DESC LIMIT +?3`

// MaxMeasured is the maximum number of jobs to a list that a rule considers. It allows for an email a day for a year.
const MaxMeasured = 400

// MeasuredJob is a job that tracks opens or clicks per subscriber. Low and High delimit the recipients reached through
// one of its lists.
type MeasuredJob struct {
	No      int64        `db:"no"`
	At      core.Instant `db:"at"`      // start of the job
	Tracked int64        `db:"tracked"` // bits of core.OpenCounts.Tracked
	Low     int64        `db:"low"`     // seq of the first recipient through the list
	High    int64        `db:"high"`    // seq of the last recipient through the list
	Known   bool         `db:"known"`   // whether the recipients are still stored
}

// ByConsent reports whether the job identifies only subscribers who agreed.
func (j *MeasuredJob) ByConsent() bool { return j.Tracked&core.TrackedConsent != 0 }

// MeasuredJobs returns the jobs to a list that started between two instants, both inclusive, and track opens or clicks
// per subscriber. It returns at most MaxMeasured jobs, newest first.
func MeasuredJobs(q db.Querier, listID string, since, until core.Instant) (jobs []MeasuredJob, err error) {
	return jobs, q.All(&jobs, measuredJobs, listID, int64(since), MaxMeasured, int64(until))
}

// firstFrom selects the first recipient of a job, within a range of seqs, whose subscriber id is not less than a given
// id.
const firstFrom = `WITH RECURSIVE half (low, high) AS (SELECT ?2, ?3 + 1 UNION ALL
	SELECT iif((SELECT subscriber_id >= ?4 FROM recipient WHERE job_no = ?1 AND seq = (low + high) / 2), low,
		(low + high) / 2 + 1), iif((SELECT subscriber_id >= ?4 FROM recipient WHERE job_no = ?1 AND
			seq = (low + high) / 2),
		(low + high) / 2, high) FROM half WHERE low < high)
	SELECT low FROM half WHERE low = high`

// addMailings adds to ps the data about campaigns that a rule needs, for subscribers of one list, ordered by id. A
// campaign that started before a subscription began doesn't count. If consent is required, now or by the campaign, only
// subscribers who agreed count. They agreed no later than the last change of their subscription. Because the exact time
// isn't known, campaigns before that change don't count.
func (m *RuleMatch) addMailings(q db.Querier, list string, subs []core.Subscriber, ps []core.Profile) error {
	need := m.matcher.History
	if need == (core.History{}) {
		return nil
	}
	jobs, err := m.jobsOf(q, list)
	if err != nil {
		return err
	}
	lacking, wanted := make([]lack, len(subs)), make([]int, 0, len(subs))
	room := min(max(need.Last, 8), 32)
	if len(m.room) < room*len(subs) {
		m.room = make([]core.Mailing, room*len(subs))
	}
	agreed, err := m.agreed(q, list, subs, jobs)
	if err != nil {
		return err
	}
	for i := range subs {
		ps[i].Mailings = m.room[i*room : i*room : (i+1)*room]
		lacking[i] = lack{need.Last, need.Last}
		ps[i].Untracked = m.asks && agreed[i] == never
	}
	counts := func(k int, j *MeasuredJob) bool {
		return ps[k].JoinedAt <= j.At && (!m.asks && !j.ByConsent() || agreed[k] <= j.At)
	}
	for i := range jobs {
		j := &jobs[i]
		wanted = wanted[:0]
		for k := range subs {
			if counts(k, j) && lacking[k].wants(j, &need) {
				wanted = append(wanted, k)
			}
		}
		err := m.mailed(q, j, subs, wanted, need.Marks, func(k int, r *Mailed) {
			if r.Sent && counts(k, j) {
				l := core.Mailing{At: j.At, Opens: j.Tracked&1 != 0, Clicks: j.Tracked&2 != 0, Marks: r.Marks}
				ps[k].Mailings = append(ps[k].Mailings, l)
				lacking[k].got(&l)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// agreed returns, for each of a list's subscribers, the latest time when they may have agreed to tracking. If no
// consent is required, now or by a job, it returns nil.
func (m *RuleMatch) agreed(q db.Querier, list string, subs []core.Subscriber, jobs []MeasuredJob) ([]core.Instant,
	error,
) {
	if m.asks {
		at := make([]core.Instant, len(subs))
		for i := range subs {
			at[i] = agreedAt(subs[i].Preferences, subs[i].MemberStatusAt)
		}
		return at, nil
	}
	if !slices.ContainsFunc(jobs, func(j MeasuredJob) bool { return j.ByConsent() }) {
		return nil, nil
	}
	return agreedAmong(q, list, idsOf(subs), len(subs))
}

// jobsOf is like measured, but keeps the result for each list. If the rule needs no jobs, it returns none.
func (m *RuleMatch) jobsOf(q db.Querier, list string) (jobs []MeasuredJob, err error) {
	jobs, known := m.jobs[list]
	if known || m.matcher.History == (core.History{}) {
		return jobs, nil
	}
	if jobs, err = m.measured(q, list); err == nil {
		m.jobs[list] = jobs
	}
	return jobs, err
}

// measured returns the jobs to a list that may count for the rule. If the rule needs all jobs since an instant, and
// some are no longer stored or there are more than MaxMeasured, it returns a core.Undecided error.
func (m *RuleMatch) measured(q db.Querier, list string) ([]MeasuredJob, error) {
	need := m.matcher.History
	since := core.Instant(1)
	if need.Last == 0 {
		since = need.Since
	}
	jobs, err := MeasuredJobs(q, list, since, m.now-1)
	if err != nil {
		return nil, err
	}
	if need.Since > 0 && len(jobs) == MaxMeasured && jobs[len(jobs)-1].At > need.Since {
		return nil, core.Undecided("rule", fmt.Sprintf("the list got %d or more campaigns in that time", MaxMeasured))
	}
	for i := range jobs {
		switch {
		case jobs[i].Known:
		case need.Since > 0 && jobs[i].At >= need.Since:
			return nil, core.Undecided("rule", "opens and clicks from that long ago are no longer stored")
		default: // older jobs aren't stored either
			return jobs[:i], nil
		}
	}
	return jobs, nil
}

// lack is the number of further jobs with tracked opens, and with tracked clicks, that a rule needs for a subscriber.
type lack struct{ opens, clicks int }

// wants reports whether a rule still needs a job's opens or clicks for a subscriber.
func (l *lack) wants(j *MeasuredJob, need *core.History) bool {
	return need.Since > 0 && j.At >= need.Since || l.opens > 0 && j.Tracked&1 != 0 || l.clicks > 0 && j.Tracked&2 != 0
}

func (l *lack) got(m *core.Mailing) {
	if m.Opens {
		l.opens--
	}
	if m.Clicks {
		l.clicks--
	}
}
