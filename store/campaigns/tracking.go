package campaigns

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

// KeepLinks returns the numbers of URLs among a job's links, and adds new URLs. A URL never gets a different number.
// Otherwise, links in sent emails could lead elsewhere when a job resumes after a restart with a changed template. Its
// only error is core.ErrStorage.
func (s *Store) KeepLinks(ctx context.Context, jobNo int64, urls []string) (nos []int64, err error) {
	if len(urls) == 0 {
		return nil, nil
	}
	err = s.Update(ctx, func(tx *db.Tx) error {
		var kept []core.Link
		if err := tx.All(&kept, "SELECT no, url FROM link WHERE job_no = ? ORDER BY no", jobNo); err != nil {
			return err
		}
		known, last := map[string]int64{}, int64(0)
		for _, l := range kept {
			known[l.URL], last = l.No, l.No
		}
		mended, err := mendedLinks(tx, jobNo)
		if err != nil {
			return err
		}
		nos = make([]int64, len(urls))
		for i, u := range urls {
			if known[u] == 0 {
				last++
				known[u] = last
				m := mended[u]
				if _, err := tx.Exec("INSERT INTO link (job_no, no, url, target, mended_at) VALUES (?, ?, ?, ?, ?)", jobNo,
					last, u, m.Target, int64(m.MendedAt)); err != nil {
					return err
				}
			}
			nos[i] = known[u]
		}
		return nil
	})
	return nos, err
}

// LinkTarget returns the address that a link of a job leads to. If there is no such link or job, it returns
// core.ErrNotFound.
func (s *Store) LinkTarget(ctx context.Context, jobNo, no int64) (url string, err error) {
	err = s.Get(ctx, &url, "SELECT iif(target <> '', target, url) FROM link WHERE job_no = ? AND no = ?", jobNo, no)
	return url, err
}

// Links returns a job's links, most clicked first. Its only error is core.ErrStorage.
func (s *Store) Links(ctx context.Context, jobNo int64) (links []core.Link, err error) {
	err = s.All(ctx, &links, `SELECT no, url, `+timesFollowed+` AS clicked, `+timesByMachines+` AS machine_clicked,
		target, mended_at FROM link AS l LEFT JOIN total AS t ON t.job_no = l.job_no AND t.link_no = l.no
		WHERE l.job_no = ? ORDER BY 3 DESC, no LIMIT 10000`, jobNo)
	return links, err
}

// engageStep is the number of engagements that one operation records.
const engageStep = 200

// AddEngagements counts opens and clicks. Other writes have priority. n is the number of engagements counted, even if
// an error follows. AddEngagements skips engagements with unknown emails. Its only error is core.ErrStorage.
func (s *Store) AddEngagements(ctx context.Context, es []core.Engagement) (n int, err error) {
	for n < len(es) {
		step := es[n:min(n+engageStep, len(es))]
		err := s.Bulk(ctx, func(tx *db.Tx) error {
			for i := range step {
				if err := engage(tx, step[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return n, err
		}
		n += len(step)
	}
	return n, nil
}

// SelectEngagements selects the opens and clicks of an email, except clicks on the invisible link.
const SelectEngagements = `SELECT coalesce(l.url, '') AS url, e.first_at, e.last_at, e.times, e.machine,
	coalesce(l.target, '') AS target, coalesce(l.mended_at, 0) AS mended_at FROM engagement AS e
	LEFT JOIN link AS l ON l.job_no = e.job_no AND l.no = e.link_no WHERE e.job_no = ? AND e.seq = ?
	AND e.link_no < 1048576 ORDER BY e.link_no`

// MailedTo returns the job and the subscriber of an email. If the email was not sent, or its subscriber no longer
// exists, it returns core.ErrNotFound.
func (s *Store) MailedTo(ctx context.Context, jobNo, seq int64) (j core.SendJob, sub core.Subscriber, err error) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		err := r.Get(&j, "SELECT "+sendJobColumns+" FROM send_job WHERE no = ? AND tenant_id IN (SELECT id FROM "+
			"tenant WHERE deleted_at = 0)", jobNo)
		if err != nil {
			return err
		}
		parts, err := jobParts(r, &j)
		if err != nil {
			return err
		}
		return r.Get(&sub, "SELECT "+subscriberColumns+` FROM subscriber WHERE list_id = ?1 AND id =
			(SELECT subscriber_id FROM recipient WHERE job_no = ?2 AND seq = ?3)`, parts[partOf(parts, seq)].ListID, jobNo,
			seq)
	})
	return j, sub, err
}
