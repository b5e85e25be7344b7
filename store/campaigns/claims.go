package campaigns

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// skipReasonIndex is an SQL expression: 0 for a recipient who may be emailed, otherwise an index into skipReasons.
const skipReasonIndex = `CASE WHEN s.id IS NULL THEN 1 WHEN s.word != 'active' THEN 2 WHEN s.block != '' THEN 3
	WHEN EXISTS (SELECT 1 FROM suppression WHERE tenant_id = ?2 AND email_key = r.email_key) THEN 3
	WHEN EXISTS (SELECT 1 FROM disabled WHERE email_key = r.email_key AND tenant_id IN ('', ?2)) THEN 4
	WHEN m.status != 'active' THEN 2
	WHEN ?4 AND coalesce(m.means, '') NOT IN ('mailed', 'undo') THEN 5 ELSE 0 END`

var skipReasons = [...]string{
	"", core.ReasonGone, core.ReasonUnsubscribed, core.ReasonSuppressed, core.ReasonDisabled, core.ReasonNoProof,
	core.ReasonCancelled,
}

const claimFrom = " FROM recipient AS r" + claimJoins

const claimJoins = `
	LEFT JOIN subscriber AS s ON s.list_id = ?3 AND s.id = r.subscriber_id
	LEFT JOIN subscription AS m ON m.list_id = ?3 AND m.id = r.subscriber_id
	WHERE r.job_no = ?1 `

// claimColumns joins all data of a claim into one column, because fetching a column or row costs more than splitting a
// string. Numbers come first and the preferences last. The separators are control characters, which identifiers,
// addresses and JSON never contain.
const claimColumns = "SELECT concat_ws(char(31), r.seq, r.tries, r.ambiguous, r.due_at, " + skipReasonIndex +
	", r.email_key, coalesce(s.id, ''), coalesce(s.email, ''), coalesce(s.preferences, '')) AS claim"

// Each statement returns its claims as one row, in the order of the inner query. The plus sign before a parameter keeps
// SQLite from planning for the parameter's value, which would re-prepare the statement on each run.
const (
	claimQueued = "SELECT coalesce(group_concat(claim, char(30)), '') FROM (" + claimColumns + claimFrom +
		"AND r.seq > ?5 AND r.state = " + sqlRecipientQueued + " ORDER BY r.seq LIMIT +?6)"
	claimDeferred = "SELECT coalesce(group_concat(claim, char(30)), '') FROM (" + claimColumns +
		" FROM recipient AS r INDEXED BY recipient_deferred" + claimJoins + "AND r.state = " + sqlRecipientDeferred +
		" AND r.due_at <= ?7 AND (r.due_at, r.seq) > (?5, ?6) ORDER BY r.due_at, r.seq LIMIT +?8)"
)

// ClaimKey holds the job and list data that claims are checked against.
type ClaimKey struct {
	JobNo            int64
	TenantID, ListID string
	MailedProof      bool // the list's require_mailed_proof

	Further   []ClaimKey // keys of the lists after the first
	scattered int        // number of further claims that don't look for a range
}

// Of returns the key for the job's list at an index.
func (k *ClaimKey) Of(place int) *ClaimKey {
	if place == 0 {
		return k
	}
	return &k.Further[place-1]
}

// ClaimKey returns the key for claims of a job. If one of the job's lists was deleted, it returns core.ErrListNotFound.
func (s *Store) ClaimKey(ctx context.Context, j *core.SendJob) (k ClaimKey, err error) {
	lists, err := s.JobLists(ctx, j)
	for i, id := range lists {
		l, err := s.List(ctx, id)
		if err != nil {
			return k, err
		}
		one := ClaimKey{JobNo: j.No, TenantID: j.TenantID, ListID: id, MailedProof: l.RequireMailedProof}
		if i == 0 {
			k = one
		} else {
			k.Further = append(k.Further, one)
		}
	}
	return k, err
}

// ClaimRecipients appends claims for up to limit queued recipients of a job to dst, with seqs greater than after. It
// writes nothing. The caller keeps its claims in memory, because only one process sends from the file. After a restart,
// rows without an outcome are claimed again. All claims for a job must use the same k, in sequential calls, because k
// remembers the fastest way to read them. Its only error is core.ErrStorage.
func (s *Store) ClaimRecipients(ctx context.Context, dst []core.Claim, k *ClaimKey, after int64,
	limit int) ([]core.Claim,
	error,
) {
	if len(k.Further) > 0 {
		return s.claimByList(ctx, dst, k, after, limit)
	}
	return k.claimOfList(ctx, s.DB, dst, after, limit)
}

// claimOfList is like ClaimRecipients, for one list.
func (k *ClaimKey) claimOfList(ctx context.Context, d *db.DB, dst []core.Claim, after int64, limit int) (
	[]core.Claim, error,
) {
	if k.scattered == 0 && !k.MailedProof {
		if out, ok, err := k.claimRange(ctx, d, dst, after, limit); ok || err != nil {
			return out, err
		}
		k.scattered = scatteredClaims
	}
	k.scattered = max(k.scattered-1, 0)
	return claim(ctx, d, dst, claimQueued, k.JobNo, k.TenantID, k.ListID, k.MailedProof, after, limit)
}

// ClaimDeferred is like ClaimRecipients, for deferred recipients that are due. It starts after the position (afterDue,
// afterSeq). Its only error is core.ErrStorage.
func (s *Store) ClaimDeferred(ctx context.Context, dst []core.Claim, k *ClaimKey, afterDue core.Instant, afterSeq int64,
	now core.Instant, limit int,
) ([]core.Claim, error) {
	begin := len(dst)
	dst, err := claim(ctx, s.DB, dst, claimDeferred, k.JobNo, k.TenantID, k.ListID, k.MailedProof, int64(afterDue),
		afterSeq, int64(now), limit)
	if err != nil || len(k.Further) == 0 || len(dst) == begin {
		return dst, err
	}
	return s.claimAgainByList(ctx, dst, begin, k)
}

// claim appends to dst the claims that a query returns as one string.
func claim(ctx context.Context, d *db.DB, dst []core.Claim, query string, args ...any) ([]core.Claim, error) {
	rows, err := d.Text(ctx, query, args...)
	if err != nil {
		return dst, err
	}
	for rows != "" {
		var row string
		row, rows, _ = strings.Cut(rows, "\x1e")
		c, err := parseClaim(row)
		if err != nil {
			return dst, err
		}
		dst = append(dst, c)
	}
	return dst, nil
}

func parseClaim(row string) (c core.Claim, err error) {
	var n [5]int64
	rest := row
	for i := range n {
		var field string
		field, rest, _ = strings.Cut(rest, "\x1f")
		if n[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return c, fmt.Errorf("store: a claim: %w", err)
		}
	}
	c.Seq, c.Tries, c.Ambiguous, c.DueAt, c.Skip = n[0], int(n[1]), int(n[2]), core.Instant(n[3]), skipReasons[n[4]]
	c.EmailKey, rest, _ = strings.Cut(rest, "\x1f")
	c.SubscriberID, rest, _ = strings.Cut(rest, "\x1f")
	c.Email, c.Preferences, _ = strings.Cut(rest, "\x1f")
	return c, nil
}
