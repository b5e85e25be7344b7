package people

import (
	"context"
	"math"
	"strconv"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// historyStep is the number of jobs that one read checks.
const historyStep = 50

// selectListsOf selects the tenants' lists that a subscriber is on, as pairs of list and subscriber id.
const selectListsOf = `SELECT json_group_array(json_array(s.list_id, s.id)) FROM json_each(?1) AS p
	CROSS JOIN subscriber AS s ON s.list_id = p.value->>0 AND s.id = p.value->>1
	CROSS JOIN list AS l ON l.id = s.list_id CROSS JOIN tenant AS t ON t.id = l.tenant_id AND t.deleted_at = 0
	WHERE ?2 OR t.id IN (SELECT value FROM json_each(?3))`

// selectHistory selects the jobs to a subscriber's lists, newest first. seq is 0 if the subscriber is not a recipient.
// ?1 is a JSON array of pairs of list and subscriber id, ?2 the number of the previous job. In the statement, next is
// the newest job of each list that was not read yet, so the statement reads only as many jobs as requested. For each
// list, it reads jobs with the list as their first list separately from jobs with the list as a further one.
const selectHistory = `WITH RECURSIVE next (no, further, list_id, subscriber_id) AS (
	SELECT (SELECT max(no) FROM send_job INDEXED BY send_job_list WHERE list_id = p.value->>0 AND no < ?2), 0,
		p.value->>0, p.value->>1 FROM json_each(?1) AS p
	UNION ALL
	SELECT (SELECT max(job_no) FROM further_list INDEXED BY further_list_list WHERE list_id = p.value->>0
		AND job_no < ?2), 1, p.value->>0, p.value->>1 FROM json_each(?1) AS p
	UNION ALL
	SELECT CASE further WHEN 0 THEN (SELECT max(no) FROM send_job INDEXED BY send_job_list WHERE list_id = next.list_id
		AND no < next.no) ELSE (SELECT max(job_no) FROM further_list INDEXED BY further_list_list WHERE
		list_id = next.list_id AND job_no < next.no) END, further, list_id, subscriber_id FROM next WHERE no IS NOT NULL
	ORDER BY 1 DESC)
	SELECT j.no, j.id, j.tenant_id, j.list_id, j.transport, j.window_end, c.name, c.subject, coalesce(r.seq, 0) AS seq,
		coalesce(r.state, 0) AS state, coalesce(r.tries, 0) AS tries, coalesce(r.finished_at, 0) AS finished_at,
		coalesce(r.reason, '') AS reason, coalesce(r.marks, 0) AS marks, iif(j.status = 'running' AND
		j.paused_at = 0, coalesce(r.due_at, 0), 0) AS due_at
	FROM (SELECT j.no, j.id, j.tenant_id, j.transport, j.window_end, j.status, j.paused_at, next.list_id, j.copy_id,
			next.subscriber_id,
			iif(further, (SELECT after_seq + 1 FROM further_list INDEXED BY further_list_list WHERE job_no = j.no
				AND list_id = next.list_id), 1) AS low,
			iif(further, coalesce((SELECT n.after_seq FROM further_list AS f INDEXED BY further_list_list CROSS
			JOIN further_list
				AS n INDEXED BY sqlite_autoindex_further_list_1 ON n.job_no = f.job_no AND n.place = f.place + 1
				WHERE f.job_no = j.no AND f.list_id = next.list_id), j.recipients),
				` + campaigns.FirstListEnds + `) AS high
		FROM next CROSS JOIN send_job AS j ON j.no = next.no) AS j
	CROSS JOIN campaign_copy AS c INDEXED BY campaign_copy_head ON c.id = j.copy_id
	LEFT JOIN recipient AS r ON ` + campaigns.IsRecipient + `
	LIMIT +?3`

// History returns a page of the emails sent to an address, newest first. It covers the tenants in among or, if all is
// true, every tenant. page.After is the number of the last job on the previous page, in decimal. If page.After is not a
// number, History returns core.ErrInvalidCursor.
func (s *Store) History(ctx context.Context, email core.Email, among []string, all bool,
	page core.Page,
) (found []core.HistoryEntry, err error) {
	before := int64(math.MaxInt64)
	if page.After != "" {
		if before, err = strconv.ParseInt(page.After, 10, 64); err != nil {
			return nil, core.ErrInvalidCursor
		}
	}
	var lists string
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		pairs, err := tenants.IDsAmong(s.DB, r, email.Key(), "")
		if err == nil {
			err = r.Get(&lists, selectListsOf, pairs, all, db.JsonOf(among))
		}
		return err
	})
	for more := true; more && err == nil && len(found) < page.Limit; {
		err = s.SnapshotRead(ctx, func(r *db.Reader) error {
			var jobs []core.HistoryEntry
			if err := r.All(&jobs, selectHistory, lists, before, historyStep); err != nil {
				return err
			}
			more = len(jobs) == historyStep
			for i := 0; i < len(jobs) && len(found) < page.Limit; i++ {
				before = jobs[i].JobNo
				if m := &jobs[i]; m.Seq > 0 {
					if m.Marks&(core.MarkOpened|core.MarkClicked) != 0 {
						if err := r.All(&m.Engagements, campaigns.SelectEngagements, m.JobNo, m.Seq); err != nil {
							return err
						}
					}
					found = append(found, *m)
				}
			}
			return nil
		})
	}
	return found, err
}
