package campaigns

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// jobPart is a list of a job with the range of recipients reached through it. A job's recipients are ordered by list,
// and within a list by subscriber id.
type jobPart struct {
	ListID string
	After  int64 // seq of the last recipient before those of the list; -1 if the job has not reached the list
	To     int64 // seq of the list's last recipient so far; -1 if the job has not reached the list
}

// furtherList is a list of a job other than its first.
type furtherList struct {
	ListID     string `db:"list_id"`
	After      int64  `db:"after_seq"`
	Recipients int64  `db:"recipients"` // number of recipients of the whole job
}

const selectFurtherLists = `SELECT f.list_id, coalesce(f.after_seq, -1) AS after_seq, j.recipients FROM
	further_list AS f INDEXED BY sqlite_autoindex_further_list_1 CROSS JOIN send_job AS j ON j.no = f.job_no
	WHERE f.job_no = ? ORDER BY f.place`

// ReachedList is the SQL expression for the list through which a job "j" reaches a recipient "r".
const ReachedList = `coalesce(` + reachedFurther + `, j.list_id)`

// reachedFurther is like ReachedList, but NULL for the job's first list.
const reachedFurther = `(SELECT list_id FROM further_list INDEXED BY sqlite_autoindex_further_list_1
	WHERE job_no = r.job_no AND after_seq < r.seq ORDER BY place DESC LIMIT 1)`

// FirstListEnds is the SQL expression for the seq of the last recipient that a job "j" reaches through its first list.
const FirstListEnds = `coalesce((SELECT after_seq FROM further_list INDEXED BY sqlite_autoindex_further_list_1
	WHERE job_no = j.no AND place = 1), j.recipients)`

// FurtherListEnds is the SQL expression for the seq of the last recipient that a job "j" reaches through a further list
// "f".
const FurtherListEnds = `coalesce((SELECT after_seq FROM further_list INDEXED BY sqlite_autoindex_further_list_1
	WHERE job_no = f.job_no AND place = f.place + 1), j.recipients)`

// jobParts returns a job's lists, in order. If the job has only one list, it does not use r.
func jobParts(r db.Querier, j *core.SendJob) ([]jobPart, error) {
	if j.Lists <= 1 {
		return []jobPart{{j.ListID, 0, j.Recipients}}, nil
	}
	return partsOf(r, j.No, j.ListID)
}

// partsOf returns the lists of a job with several lists, starting with first.
func partsOf(r db.Querier, jobNo int64, first string) ([]jobPart, error) {
	var further []furtherList
	if err := r.All(&further, selectFurtherLists, jobNo); err != nil || len(further) == 0 {
		return nil, err
	}
	parts, end := make([]jobPart, 1+len(further)), further[0].Recipients
	for i := len(further) - 1; i >= 0; i-- {
		f := further[i]
		parts[1+i] = jobPart{f.ListID, f.After, end}
		if f.After < 0 {
			parts[1+i].To = -1
		} else {
			end = f.After
		}
	}
	parts[0] = jobPart{first, 0, end}
	return parts, nil
}

// jobListIDs is the SQL expression for the ids of all lists of a send_job row, as a JSON array.
const jobListIDs = `iif(send_job.lists = 1, json_array(send_job.list_id), (SELECT '["' || send_job.list_id || '",' ||
	substr(json_group_array(list_id), 2) FROM further_list INDEXED BY sqlite_autoindex_further_list_1
	WHERE job_no = send_job.no))`

// lastBegun returns the index of the last list whose subscribers the job has started to add.
func lastBegun(parts []jobPart) int {
	place := len(parts) - 1
	for place > 0 && parts[place].After < 0 {
		place--
	}
	return place
}

// listsOf returns the ids of all lists of a job, in order.
func listsOf(tx *db.Tx, j *core.SendJob) (ids []string, err error) {
	parts, err := jobParts(tx, j)
	for _, p := range parts {
		ids = append(ids, p.ListID)
	}
	return ids, err
}

// lists returns the lists with the given ids. If a list does not exist, it returns core.ErrListNotFound.
func lists(tx *db.Tx, ids []string) (ls []core.List, err error) {
	ls = make([]core.List, len(ids))
	for i, id := range ids {
		if ls[i], err = tenants.ReadList(tx, id); err != nil {
			return nil, err
		}
	}
	return ls, nil
}

// maySendAll is like maySend, for all lists of a job.
func maySendAll(tx *db.Tx, lists []core.List) (t core.Tenant, err error) {
	for i := range lists {
		if t, err = maySend(tx, &lists[i]); err != nil {
			return t, err
		}
	}
	return t, nil
}

// insertSendJobTo is like insertSendJob, for a job with several lists. The first list is stored with the job itself.
func insertSendJobTo(tx *db.Tx, j *core.SendJob, lists []string) error {
	j.Lists = int64(len(lists))
	if err := insertSendJob(tx, j); err != nil {
		return err
	}
	for i, id := range lists[1:] {
		if _, err := tx.Exec("INSERT INTO further_list (job_no, place, list_id) VALUES (?, ?, ?)", j.No, 1+i,
			id); err != nil {
			return err
		}
	}
	return nil
}

// beginList records where the recipients of the further list at index place begin: after the job's current recipients
// and n more.
func beginList(tx *db.Tx, j *core.SendJob, place, n int64) error {
	return tx.One("UPDATE further_list SET after_seq = ? WHERE job_no = ? AND place = ? AND after_seq IS NULL",
		j.Recipients+n, j.No, place)
}

// placeOf returns the index of a list among a job's lists. If the list is not one of them, it returns
// core.ErrListNotFound.
func (s *Store) placeOf(ctx context.Context, j *core.SendJob, listID string) (place int, err error) {
	err = s.Get(ctx, &place, "SELECT place FROM further_list INDEXED BY sqlite_autoindex_further_list_1 WHERE "+
		"job_no = ? AND list_id = ?", j.No, listID)
	if errors.Is(err, core.ErrNotFound) {
		err = core.ErrListNotFound
	}
	return place, err
}

// JobLists returns the ids of a job's lists, in order. Its only error is core.ErrStorage.
func (s *Store) JobLists(ctx context.Context, j *core.SendJob) (ids []string, err error) {
	parts, err := s.partsOfJob(ctx, j)
	for _, p := range parts {
		ids = append(ids, p.ListID)
	}
	return ids, err
}

// partsOfJob is like jobParts, but reads outside a write operation.
func (s *Store) partsOfJob(ctx context.Context, j *core.SendJob) (parts []jobPart, err error) {
	if j.Lists <= 1 {
		return jobParts(nil, j)
	}
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		parts, err = jobParts(r, j)
		return err
	})
	return parts, err
}

// partOf returns the index of the list through which the job reaches the recipient with a seq.
func partOf(parts []jobPart, seq int64) int {
	place := lastBegun(parts)
	for place > 0 && seq <= parts[place].After {
		place--
	}
	return place
}

// claimByList is like ClaimRecipients, for a job with several lists. It claims only recipients who were on the lists
// when the call started. Later calls claim those added in the meantime.
func (s *Store) claimByList(ctx context.Context, dst []core.Claim, k *ClaimKey, after int64, limit int) (
	_ []core.Claim, err error,
) {
	parts, err := s.partsOfJob(ctx, &core.SendJob{No: k.JobNo, ListID: k.ListID, Lists: 1 + int64(len(k.Further))})
	for place, p := range parts {
		begin := len(dst)
		if p.To <= after || err != nil || limit <= 0 {
			continue
		}
		dst, err = k.Of(place).claimOfList(ctx, s.DB, dst, max(after, p.After), limit)
		for len(dst) > begin && dst[len(dst)-1].Seq > p.To {
			dst = dst[:len(dst)-1]
		}
		for i := begin; i < len(dst); i++ {
			dst[i].Place = place
		}
		limit -= len(dst) - begin
	}
	return dst, err
}

const claimOneDeferred = "SELECT coalesce(group_concat(claim, char(30)), '') FROM (" + claimColumns + claimFrom +
	"AND r.seq = ?5 AND r.state = " + sqlRecipientDeferred + ")"

// claimAgainByList rechecks the deferred claims in dst[begin:] against their own lists. Until this call, they were
// checked only against the job's first list.
func (s *Store) claimAgainByList(ctx context.Context, dst []core.Claim, begin int, k *ClaimKey) ([]core.Claim, error) {
	parts, err := s.partsOfJob(ctx, &core.SendJob{No: k.JobNo, ListID: k.ListID, Lists: 1 + int64(len(k.Further))})
	for i := begin; i < len(dst) && err == nil; i++ {
		place := partOf(parts, dst[i].Seq)
		if place == 0 {
			continue
		}
		var one []core.Claim
		of := k.Of(place)
		one, err = claim(ctx, s.DB, nil, claimOneDeferred, k.JobNo, k.TenantID, of.ListID, of.MailedProof, dst[i].Seq)
		if len(one) == 1 { // otherwise, the recipient already has an outcome, which stays
			dst[i] = one[0]
		}
		dst[i].Place = place
	}
	return dst, err
}
