package campaigns

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// CountTotals records that the pixel and links in a job's emails do not identify subscribers, so that only totals of
// opens and clicks are counted. If named is true, emails to subscribers who agreed to tracking still identify them. Its
// only error is core.ErrStorage.
func (s *Store) CountTotals(ctx context.Context, jobNo int64, named bool) error {
	bits := core.TrackedTotals
	if named {
		bits |= core.TrackedConsent
	}
	return s.Update(ctx, func(tx *db.Tx) error { return setTracked(tx, jobNo, bits) })
}

// setTracked sets bits in a job's tracked column, which core.OpenCounts.Tracked describes.
func setTracked(tx *db.Tx, jobNo int64, bits int) error {
	_, err := tx.Exec("UPDATE send_job SET tracked = tracked | ?2 WHERE no = ?1 AND tracked & ?2 <> ?2", jobNo, bits)
	return err
}

// NoteSwept records that housekeeping has deleted opens and clicks of a job, so that the remaining ones are incomplete.
func NoteSwept(tx *db.Tx, jobNo int64) error { return setTracked(tx, jobNo, core.TrackedSwept) }

// engagedReader is a recipient whose email was opened, with the data that decides how the open is counted.
type engagedReader struct {
	Marks       core.Marks       `db:"marks"`
	FinishedAt  core.Instant     `db:"finished_at"`
	Asks        bool             `db:"asks"` // whether opens and clicks identify only subscribers who agreed
	Preferences core.Preferences `db:"preferences"`
}

// MayNameEngaged reports whether the open or click in a report may be stored with the subscriber.
func MayNameEngaged(tx *db.Tx, r *core.ProviderReport) (bool, error) {
	if r.JobNo != 0 {
		reader, err := readEngaged(tx, r.JobNo, r.Seq)
		if errors.Is(err, core.ErrNotFound) {
			return false, nil
		}
		return reader.named(), err
	}
	var asks bool
	err := tx.Get(&asks, "SELECT EXISTS (SELECT 1 FROM tenant WHERE id = ? AND tracking_consent)", r.Event.TenantID)
	return !asks, err
}

// selectEngagedReader reads the preferences only if they are needed. These are the current ones, on the list through
// which the person was reached. A person who has unsubscribed counts as not having agreed.
const selectEngagedReader = `SELECT r.marks, r.finished_at, coalesce(t.tracking_consent, 0) AS asks,
	iif(t.tracking_consent, coalesce((SELECT s.preferences FROM subscriber AS s WHERE s.list_id = ` + ReachedList + `
	AND s.id = r.subscriber_id AND s.word = 'active'), ''), '') AS preferences
	FROM recipient AS r CROSS JOIN send_job AS j ON j.no = r.job_no LEFT JOIN tenant AS t ON t.id = j.tenant_id
	WHERE r.job_no = ? AND r.seq = ?`

// readEngaged returns a recipient. If there is no such recipient, it returns core.ErrNotFound.
func readEngaged(tx *db.Tx, jobNo, seq int64) (r engagedReader, err error) {
	err = tx.Get(&r, selectEngagedReader, jobNo, seq)
	return r, err
}

// named reports whether the recipient's opens and clicks may be stored with the subscriber.
func (r *engagedReader) named() bool { return !r.Asks || r.Preferences.AgreesToTracking() }

// engageTotal counts an open or click in an email that does not identify the subscriber.
func engageTotal(tx *db.Tx, e *core.Engagement) error {
	if e.LinkNo == core.CanaryLink {
		return nil
	}
	var j struct {
		StartedAt core.Instant `db:"started_at"`
		Through   bool         `db:"through"`
	}
	err := tx.Get(&j, `SELECT started_at, expanded = 1 AND sent + failed + skipped + deferred >= recipients AS through
		FROM send_job WHERE no = ?`, e.JobNo)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var n [4]int64
	n[e.TotalClass(j.StartedAt, j.Through)] = e.Times
	_, err = tx.Exec(
		`INSERT INTO total (job_no, link_no, people, unclear, scanners) VALUES (?1, ?2, max(0, ?3), max(0, ?4),
		max(0, ?5)) ON CONFLICT DO UPDATE SET people = max(0, people + ?3), unclear = max(0, unclear + ?4),
		scanners = max(0, scanners + ?5)`,
		e.JobNo,
		e.LinkNo,
		n[core.ClassPerson],
		n[core.ClassUnclear],
		n[core.ClassScanner],
	)
	if err != nil {
		return err
	}
	if e.LinkNo > 0 {
		return countHour(tx, e.JobNo, e.At, 0, n[core.ClassPerson])
	}
	return countHour(tx, e.JobNo, e.At, n[core.ClassPerson], 0)
}

// The number of clicks on a link l, including the anonymous totals in t.
const (
	timesFollowed   = "clicked + coalesce(t.people + t.unclear + t.scanners, 0)"
	timesByMachines = "machine_clicked + coalesce(t.unclear + t.scanners, 0)"
)

// totalsOfJob selects the columns of core.Totals, which are 0 for a job that identifies subscribers.
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
