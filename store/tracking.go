package store

import (
	"context"
	"errors"

	"newsletterd/core"
)

// KeepLinks gives each address its number among the links of a job. An address keeps its number: a job that goes on
// after a restart, perhaps with a template that was changed, must not lead the mails that are out to other addresses.
// Its only error is core.ErrStorage.
func (s *Store) KeepLinks(ctx context.Context, jobNo int64, urls []string) (nos []int64, err error) {
	if len(urls) == 0 {
		return nil, nil
	}
	err = s.update(ctx, func(tx *Tx) error {
		var kept []core.Link
		if err := tx.all(&kept, "SELECT no, url FROM link WHERE job_no = ? ORDER BY no", jobNo); err != nil {
			return err
		}
		known, last := map[string]int64{}, int64(0)
		for _, l := range kept {
			known[l.URL], last = l.No, l.No
		}
		nos = make([]int64, len(urls))
		for i, u := range urls {
			if known[u] == 0 {
				last++
				known[u] = last
				if _, err := tx.exec("INSERT INTO link (job_no, no, url) VALUES (?, ?, ?)", jobNo, last,
					u); err != nil {
					return err
				}
			}
			nos[i] = known[u]
		}
		return nil
	})
	return nos, err
}

// LinkTarget is the address that a link of a job leads to. core.ErrNotFound where there is none, or the job's record is
// gone.
func (s *Store) LinkTarget(ctx context.Context, jobNo, no int64) (url string, err error) {
	err = s.get(ctx, &url, "SELECT url FROM link WHERE job_no = ? AND no = ?", jobNo, no)
	return url, err
}

// Links reads the links of a job, the most followed first. Its only error is core.ErrStorage.
func (s *Store) Links(ctx context.Context, jobNo int64) (links []core.Link, err error) {
	err = s.all(ctx, &links, "SELECT no, url, clicked, machine_clicked FROM link WHERE job_no = ? ORDER BY clicked "+
		"DESC, no LIMIT 10000", jobNo)
	return links, err
}

// engageStep is how many engagements one operation takes in.
const engageStep = 200

// AddEngagements counts what was opened and followed. It waits after whatever else wants to write. n is how many it has
// counted before an error. Its only error is core.ErrStorage: a mail that is not known any more is left out.
func (s *Store) AddEngagements(ctx context.Context, es []core.Engagement) (n int, err error) {
	for n < len(es) {
		step := es[n:min(n+engageStep, len(es))]
		err := s.bulk(ctx, func(tx *Tx) error {
			for i := range step {
				if err := tx.engage(step[i]); err != nil {
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

// selectEngagements reads what was opened and followed of one mail.
const selectEngagements = `SELECT coalesce(l.url, '') AS url, e.first_at, e.last_at, e.times, e.machine FROM engagement
	AS e
	LEFT JOIN link AS l ON l.job_no = e.job_no AND l.no = e.link_no WHERE e.job_no = ? AND e.seq = ? ORDER BY e.link_no`

// engage counts one engagement. Whatever comes within seconds after the mail is a machine's.
func (tx *Tx) engage(e core.Engagement) error {
	var r struct {
		Marks      core.Marks   `db:"marks"`
		FinishedAt core.Instant `db:"finished_at"`
	}
	err := tx.get(&r, "SELECT marks, finished_at FROM recipient WHERE job_no = ? AND seq = ?", e.JobNo, e.Seq)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if r.FinishedAt == 0 || e.At.Sub(r.FinishedAt) < core.MachineDelay {
		e.Machine = e.Times
	}
	var sum struct {
		Times   int64 `db:"times"`
		Machine int64 `db:"machine"`
	}
	err = tx.get(&sum, `INSERT INTO engagement (job_no, seq, link_no, first_at, last_at, times, machine) VALUES (?1,
		?2, ?3, ?4, ?5, ?6, ?7)
		ON CONFLICT DO UPDATE SET last_at = max(last_at, ?5), times = times + ?6, machine = machine + ?7 RETURNING
		times, machine`,
		e.JobNo, e.Seq, e.LinkNo, int64(e.At), int64(e.Last), e.Times, e.Machine)
	if err != nil {
		return err
	}
	person := e.Machine < e.Times
	if e.LinkNo > 0 {
		if err := tx.countLink(e, sum.Times == e.Times,
			person && sum.Machine == sum.Times-(e.Times-e.Machine)); err != nil {
			return err
		}
	}
	mark := core.MarkOpened
	if e.LinkNo > 0 {
		mark = core.MarkClicked
	}
	return tx.markEngaged(e.JobNo, e.Seq, r.Marks, mark, person)
}

// countLink counts a recipient once for a link: when it is first followed, and when a person does so after machines
// did.
func (tx *Tx) countLink(e core.Engagement, first, firstPerson bool) error {
	clicked, machine := 0, 0
	switch {
	case first && firstPerson:
		clicked = 1
	case first:
		clicked, machine = 1, 1
	case firstPerson:
		machine = -1
	default:
		return nil
	}
	_, err := tx.exec("UPDATE link SET clicked = clicked + ?, machine_clicked = machine_clicked + ? WHERE job_no = "+
		"? AND no = ?",
		clicked, machine, e.JobNo, e.LinkNo)
	return err
}

// markEngaged marks a recipient as having opened or followed, by a person or by machines alone, and counts the
// recipient in the job's statistics when that is new.
func (tx *Tx) markEngaged(jobNo, seq int64, had, mark core.Marks, person bool) error {
	machine := core.MarkMachineOpened
	count, uncount := "UPDATE send_job SET opened = opened + 1, machine_opened = machine_opened + ? WHERE no = ?",
		"UPDATE send_job SET machine_opened = machine_opened - 1 WHERE no = ?"
	if mark == core.MarkClicked {
		machine = core.MarkMachineClicked
		count, uncount = "UPDATE send_job SET clicked = clicked + 1, machine_clicked = machine_clicked + ? WHERE no "+
			"= ?",
			"UPDATE send_job SET machine_clicked = machine_clicked - 1 WHERE no = ?"
	}
	has := had | mark
	var err error
	switch {
	case had&mark == 0:
		if !person {
			has |= machine
		}
		_, err = tx.exec(count, !person, jobNo)
	case had&machine != 0 && person:
		has &^= machine
		_, err = tx.exec(uncount, jobNo)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	_, err = tx.exec("UPDATE recipient SET marks = ? WHERE job_no = ? AND seq = ?", int(has), jobNo, seq)
	return err
}

// markReported is markEngaged for what a mail provider reports.
func (tx *Tx) markReported(jobNo, seq int64, mark core.Marks, person bool) error {
	var had core.Marks
	err := tx.get(&had, "SELECT marks FROM recipient WHERE job_no = ? AND seq = ?", jobNo, seq)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.markEngaged(jobNo, seq, had, mark, person)
}

// MailedTo reads the job and the subscriber that a mail was sent for. core.ErrNotFound: the mail was not sent, or it is
// not known any more to whom.
func (s *Store) MailedTo(ctx context.Context, jobNo, seq int64) (j core.SendJob, sub core.Subscriber, err error) {
	err = s.snapshotRead(ctx, func(r *Reader) error {
		err := r.get(&j, "SELECT "+sendJobColumns+" FROM send_job WHERE no = ? AND tenant_id IN (SELECT id FROM "+
			"tenant WHERE deleted_at = 0)", jobNo)
		if err != nil {
			return err
		}
		return r.get(&sub, "SELECT "+subscriberColumns+` FROM subscriber WHERE list_id = ?1 AND id =
			(SELECT subscriber_id FROM recipient WHERE job_no = ?2 AND seq = ?3)`, j.ListID, jobNo, seq)
	})
	return j, sub, err
}
