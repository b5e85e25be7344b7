package campaigns

import (
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// engagedMail is an email whose opens and clicks are counted.
type engagedMail struct {
	job, seq int64
	marks    core.Marks
	rows     []core.Engaged
}

// recordKept is the minimum time for which an email's engagement rows are kept. Housekeeping removes older rows, so an
// email that was opened before and has no rows left is not counted again.
const recordKept = 7 * 24 * time.Hour

// engage counts one open or click. It also reclassifies the email's earlier opens and clicks as those of a person or a
// program, and updates the link counts and the recipient's marks.
func engage(tx *db.Tx, e core.Engagement) error {
	if e.Seq == 0 {
		return engageTotal(tx, &e)
	}
	m := engagedMail{job: e.JobNo, seq: e.Seq}
	r, err := readEngaged(tx, e.JobNo, e.Seq)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !r.named() {
		if err := setTracked(tx, e.JobNo, core.TrackedTotals|core.TrackedConsent); err != nil {
			return err
		}
		return engageTotal(tx, &e)
	}
	m.marks = r.Marks
	if err := tx.All(&m.rows, "SELECT link_no, first_at, last_at, times, machine, unclear, first_read, last_read, class "+
		"FROM engagement WHERE job_no = ? AND seq = ? ORDER BY link_no", e.JobNo, e.Seq); err != nil {
		return err
	}
	if len(m.rows) == 0 && m.marks&(core.MarkOpened|core.MarkClicked) != 0 && e.At.Sub(r.FinishedAt) > recordKept {
		return nil
	}
	row := -1
	for i := range m.rows {
		if m.rows[i].LinkNo == e.LinkNo {
			row = i
		}
	}
	if row < 0 {
		row, m.rows = len(m.rows), append(m.rows, core.Engaged{})
	}
	known := make([]core.Class, len(m.rows))
	for i := range m.rows {
		known[i] = m.rows[i].Known()
	}
	m.rows[row].Add(&e, e.Class(r.FinishedAt))
	opens, clicks := core.Judge(m.rows)
	for i := range m.rows {
		g := &m.rows[i]
		if i == row {
			err = keepEngaged(tx, &m, g)
		} else if g.Class != known[i] {
			_, err = tx.Exec("UPDATE engagement SET class = ? WHERE job_no = ? AND seq = ? AND link_no = ?", int(g.Class),
				m.job, m.seq, g.LinkNo)
		}
		if err == nil && g.LinkNo > 0 && g.LinkNo != core.CanaryLink {
			err = countLink(tx, m.job, g.LinkNo, known[i], g.Class)
		}
		if err != nil {
			return err
		}
	}
	return markEngaged(tx, m.job, m.seq, m.marks, m.marksNow(opens, clicks), e.At)
}

func keepEngaged(tx *db.Tx, m *engagedMail, g *core.Engaged) error {
	_, err := tx.Exec(`INSERT INTO engagement (job_no, seq, link_no, first_at, last_at, times, machine, unclear,
		first_read, last_read, class) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
		ON CONFLICT DO UPDATE SET last_at = ?5, times = ?6, machine = ?7, unclear = ?8, first_read = ?9, last_read = ?10,
		class = ?11`,
		m.job, m.seq, g.LinkNo, int64(g.FirstAt), int64(g.LastAt), g.Times, g.Machine, g.Unclear, int64(g.FirstRead),
		int64(g.LastRead), int(g.Class))
	return err
}

// marksNow returns the recipient's open and click marks. It computes them from the engagement rows that are loaded.
func (m *engagedMail) marksNow(opens, clicks core.Class) core.Marks {
	marks := m.marks
	var pixel core.Class
	for i := range m.rows {
		if m.rows[i].LinkNo == 0 {
			pixel = m.rows[i].Class
		}
	}
	set := func(mark, machine core.Marks, c core.Class) {
		if c == core.ClassNone {
			return // keep marks that a provider may have reported
		}
		marks |= mark
		if marks &^= machine; c != core.ClassPerson {
			marks |= machine
		}
	}
	set(core.MarkOpened, core.MarkMachineOpened, pixel)
	set(core.MarkClicked, core.MarkMachineClicked, clicks)
	if pixel == core.ClassNone { // if the email was opened, a provider has reported that
		opens = max(opens, marks.WithOpens(core.ClassNone).Opens())
	}
	return marks.WithOpens(opens)
}

// countLink counts a recipient once per link, on the first click. When the class changes, it updates the count of
// automated clicks.
func countLink(tx *db.Tx, job, link int64, was, is core.Class) error {
	if was == is {
		return nil
	}
	machine := func(c core.Class) int { return count(c != core.ClassNone && c != core.ClassPerson) }
	_, err := tx.Exec("UPDATE link SET clicked = clicked + ?, machine_clicked = machine_clicked + ? WHERE job_no = ? AND "+
		"no = ?", count(was == core.ClassNone), machine(is)-machine(was), job, link)
	return err
}

// count returns 1 for true and 0 for false.
func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// markEngaged sets the open and click marks of a recipient. It adds the difference to the figures of the job and of the
// hour that contains at.
func markEngaged(tx *db.Tx, job, seq int64, was, is core.Marks, at core.Instant) error {
	if was == is {
		return nil
	}
	mark := func(m core.Marks) int { return count(is&m != 0) - count(was&m != 0) }
	class := func(c core.Class) int { return count(is.Opens() == c) - count(was.Opens() == c) }
	_, err := tx.Exec(`UPDATE send_job SET opened = opened + ?, machine_opened = machine_opened + ?, clicked = clicked +
		?, machine_clicked = machine_clicked + ?, people_opened = people_opened + ?, unclear_opened = unclear_opened + ?,
		scanner_opened = scanner_opened + ? WHERE no = ?`,
		mark(core.MarkOpened), mark(core.MarkMachineOpened), mark(core.MarkClicked), mark(core.MarkMachineClicked),
		class(core.ClassPerson), class(core.ClassUnclear), class(core.ClassScanner), job)
	if err != nil {
		return err
	}
	err = countHour(tx, job, at, int64(class(core.ClassPerson)),
		int64(mark(core.MarkClicked)-mark(core.MarkMachineClicked)))
	if err != nil {
		return err
	}
	if _, err = tx.Exec("UPDATE recipient SET marks = ? WHERE job_no = ? AND seq = ?", int(is), job, seq); err != nil {
		return err
	}
	clicked := mark(core.MarkClicked)-mark(core.MarkMachineClicked) > 0
	if clicked || class(core.ClassPerson) > 0 || class(core.ClassUnclear) > 0 {
		return heardRecipient(tx, job, seq, at)
	}
	return nil
}

// MarkReported counts an open or click that a mail provider reports. person is false if a program caused it.
func MarkReported(tx *db.Tx, job, seq int64, mark core.Marks, person bool, at core.Instant) error {
	var had core.Marks
	err := tx.Get(&had, "SELECT marks FROM recipient WHERE job_no = ? AND seq = ?", job, seq)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	machine, opens := core.MarkMachineOpened, core.ClassUnclear
	if mark == core.MarkClicked {
		machine, opens = core.MarkMachineClicked, core.ClassNone
	}
	is := had | mark
	switch {
	case person:
		is, opens = is&^machine, core.ClassPerson
	case had&mark == 0:
		is |= machine
	}
	return markEngaged(tx, job, seq, had, is.WithOpens(max(opens, had.Opens())), at)
}

// heardRecipient records that a recipient has responded to an email that asked whether to stay subscribed. It updates
// the subscription through which the job reached the recipient.
func heardRecipient(tx *db.Tx, jobNo, seq int64, at core.Instant) error {
	_, err := tx.Exec(`UPDATE subscription SET heard_at = ?3 WHERE (list_id, id) = (SELECT coalesce(`+reachedFurther+`,
		(SELECT list_id FROM send_job WHERE no = ?1)), r.subscriber_id FROM recipient AS r WHERE r.job_no = ?1
		AND r.seq = ?2)
		AND asked_at > 0 AND heard_at = 0`, jobNo, seq, int64(at))
	return err
}
