package store

import (
	"context"
	"errors"
	"math"
	"strconv"

	"newsletterd/core"
)

// historyStep is how many jobs are looked at in one read.
const historyStep = 50

// History reads a page of what was ever sent to an address, the newest first: by all tenants, or by those among
// tenants. page.After is the number of the last job, as text. No index is needed for it: recipients stand in the order
// of ids that are made of the address, so each job of a list that the address may be on is searched by halving. It
// returns core.ErrInvalidCursor where page.After is no number.
func (s *Store) History(ctx context.Context, email core.Email, tenants []string, all bool,
	page core.Page,
) (found []core.HistoryEntry, err error) {
	before := int64(math.MaxInt64)
	if page.After != "" {
		if before, err = strconv.ParseInt(page.After, 10, 64); err != nil {
			return nil, core.ErrInvalidCursor
		}
	}
	for more := true; more && err == nil && len(found) < page.Limit; {
		err = s.snapshotRead(ctx, func(r *Reader) error {
			pairs, err := s.idsOf(r, email.Key(), "")
			if err != nil {
				return err
			}
			var jobs []core.HistoryEntry
			err = r.all(&jobs, `SELECT j.no, j.id, j.tenant_id, j.list_id, j.recipients, c.name, c.subject, p.value->>1
				AS subscriber_id
				FROM json_each(?1) AS p CROSS JOIN send_job AS j ON j.list_id = p.value->>0 JOIN campaign AS c INDEXED
				BY campaign_head ON c.id = j.campaign_id
				WHERE j.no < ?2 AND j.recipients > 0 AND (?3 OR j.tenant_id IN (SELECT value FROM json_each(?4)))
				AND j.tenant_id IN (SELECT id FROM tenant WHERE deleted_at = 0) ORDER BY j.no DESC LIMIT ?5`,
				pairs, before, all, jsonOf(tenants), historyStep)
			if err != nil {
				return err
			}
			more = len(jobs) == historyStep
			for i := 0; i < len(jobs) && len(found) < page.Limit; i++ {
				before = jobs[i].JobNo
				known, err := readHistoryEntry(r, &jobs[i])
				if err != nil {
					return err
				}
				if known {
					found = append(found, jobs[i])
				}
			}
			return nil
		})
	}
	return found, err
}

// readHistoryEntry finds the address among the recipients of a job and reads what became of its mail.
func readHistoryEntry(r querier, m *core.HistoryEntry) (known bool, err error) {
	seq, err := seqOf(r, m.JobNo, m.Recipients, m.SubscriberID)
	if err != nil || seq == 0 {
		return false, err
	}
	err = r.get(m, "SELECT state, tries, finished_at, reason, marks FROM recipient WHERE job_no = ? AND seq = ?",
		m.JobNo, seq)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	if err == nil && m.Marks&(core.MarkOpened|core.MarkClicked) != 0 {
		err = r.all(&m.Engagements, selectEngagements, m.JobNo, seq)
	}
	return err == nil, err
}
