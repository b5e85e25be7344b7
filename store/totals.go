package store

import (
	"context"
	"errors"

	"newsletterd/core"
)

// CountTotals notes that mails of a job name no reader in pixel and links: its figures are how often they were opened
// and followed. Its only error is core.ErrStorage.
func (s *Store) CountTotals(ctx context.Context, jobNo int64) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec("UPDATE send_job SET tracked = tracked | 4 WHERE no = ? AND tracked & 4 = 0", jobNo)
		return err
	})
}

// engageTotal counts what was opened and followed of mails that name no reader.
func (tx *Tx) engageTotal(e *core.Engagement) error {
	if e.LinkNo == core.CanaryLink {
		return nil
	}
	var j struct {
		StartedAt core.Instant `db:"started_at"`
		Through   bool         `db:"through"`
	}
	err := tx.get(&j, `SELECT started_at, expanded = 1 AND sent + failed + skipped + deferred >= recipients AS through
		FROM send_job WHERE no = ?`, e.JobNo)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var n [4]int64
	n[e.TotalClass(j.StartedAt, j.Through)] = e.Times
	_, err = tx.exec(`INSERT INTO total (job_no, link_no, people, unclear, scanners) VALUES (?1, ?2, max(0, ?3), max(0, ?4),
		max(0, ?5)) ON CONFLICT DO UPDATE SET people = max(0, people + ?3), unclear = max(0, unclear + ?4),
		scanners = max(0, scanners + ?5)`,
		e.JobNo, e.LinkNo, n[core.ClassPerson], n[core.ClassUnclear], n[core.ClassScanner])
	return err
}

// How often a link l was followed, with what is counted of it without readers in t.
const (
	timesFollowed   = "clicked + coalesce(t.people + t.unclear + t.scanners, 0)"
	timesByMachines = "machine_clicked + coalesce(t.unclear + t.scanners, 0)"
)

// totalsOfJob are the columns of core.Totals of a job; 0 where it names its readers.
const totalsOfJob = `iif(tracked & 4, coalesce((SELECT people FROM total WHERE job_no = send_job.no AND link_no = 0), 0),
	0) AS total_people_opened,
	iif(tracked & 4, coalesce((SELECT unclear FROM total WHERE job_no = send_job.no AND link_no = 0), 0), 0)
	AS total_unclear_opened,
	iif(tracked & 4, coalesce((SELECT scanners FROM total WHERE job_no = send_job.no AND link_no = 0), 0), 0)
	AS total_scanner_opened,
	iif(tracked & 4, (SELECT coalesce(sum(people), 0) FROM total WHERE job_no = send_job.no AND link_no > 0), 0)
	AS total_people_clicked,
	iif(tracked & 4, (SELECT coalesce(sum(scanners), 0) FROM total WHERE job_no = send_job.no AND link_no > 0), 0)
	AS total_scanner_clicked`
