package campaigns

import (
	"context"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// Most recipients of a job come in the order of their subscribers, and most of these are still to be mailed. So the
// three tables are read range by range, each from its beginning to its end, which costs less than to look up each row
// of two of them. Who may not be mailed, or is not as expected, is looked at again by himself.
const (
	selectClaimRange = "SELECT coalesce(group_concat(claim, char(30)), '') FROM (SELECT concat_ws(char(31), seq, " +
		"tries, ambiguous, subscriber_id, email_key) AS claim " +
		"FROM recipient WHERE job_no = ?1 AND seq > ?2 AND state = " + sqlRecipientQueued + " ORDER BY seq LIMIT +?3)"

	// A line of a person who is not to be mailed is the id alone. Of the numbers, those of barred, the fifth is not
	// used.
	selectRangeSubscribers = "SELECT coalesce(group_concat(line, char(30)), '') FROM (SELECT CASE WHEN s.word = " +
		"'active' AND s.block = '' " +
		"AND p.kind IS NULL AND d.reason IS NULL THEN concat_ws(char(31), s.id, s.email_key, s.email, " +
		"s.preferences) ELSE s.id END AS line " +
		"FROM subscriber AS s " + Barred + " WHERE s.list_id = ?1 AND s.id BETWEEN ?2 AND ?3 ORDER BY s.id LIMIT +?4)"

	// A line of a person who subscribes is empty.
	selectRangeSubscriptions = "SELECT count(*) || char(30) || coalesce(group_concat(line, char(30)), '') FROM " +
		"(SELECT CASE WHEN status != 'active' THEN id END AS line " +
		"FROM subscription WHERE list_id = ?1 AND id BETWEEN ?2 AND ?3 ORDER BY id LIMIT +?4)"
)

const (
	minClaimRange   = 32 // fewer recipients are looked up one by one
	maxSparseness   = 3  // subscribers for each recipient of a range, at most
	scatteredClaims = 16 // claims after one that found no range
)

// claimRange is ClaimRecipients for a range of subscribers. ok is false where there is none.
func (s *Store) claimRange(ctx context.Context, dst []core.Claim, k *ClaimKey, after int64,
	limit int) (out []core.Claim, ok bool,
	err error,
) {
	var rows, people, left string
	if rows, err = s.readText(ctx, selectClaimRange, k.JobNo, after, limit); err != nil {
		return dst, false, err
	}
	out, ok = parseClaimRange(dst, rows)
	claims := out[len(dst):]
	if !ok || len(claims) < minClaimRange {
		return dst, false, nil
	}
	first, last, most := claims[0].SubscriberID, claims[len(claims)-1].SubscriberID, maxSparseness*len(claims)
	if people, err = s.readText(ctx, selectRangeSubscribers, k.ListID, first, last, most, nil, k.TenantID); err != nil {
		return dst, false, err
	}
	if left, err = s.readText(ctx, selectRangeSubscriptions, k.ListID, first, last, most); err != nil {
		return dst, false, err
	}
	count, left, _ := strings.Cut(left, "\x1e")
	if n, _ := strconv.Atoi(count); n >= most {
		return dst, false, nil
	}
	odd := 0
	for i := range claims {
		c := &claims[i]
		if fillClaim(c, &people) && !containsID(&left, c.SubscriberID) {
			continue
		}
		if odd++; odd > len(claims)/8 {
			return dst, false, nil
		}
		one, err := s.claim(ctx, nil, claimQueued, k.JobNo, k.TenantID, k.ListID, k.MailedProof, c.Seq-1, 1)
		if err != nil {
			return dst, false, err
		}
		if len(one) != 1 || one[0].Seq != c.Seq { // it has an outcome by now
			return dst, false, nil
		}
		*c = one[0]
	}
	return out, true, nil
}

// readText runs a query of the readers that answers one text.
func (s *Store) readText(ctx context.Context, query string, args ...any) (text string, err error) {
	st, err := s.Prepared(ctx, query)
	if err == nil {
		err = db.Translate(st.Stmt.QueryRow(args...).Scan(&text))
	}
	return text, err
}

// parseClaimRange appends the claims of a range; ok is false if their subscribers are not in order, or a row is no
// claim.
func parseClaimRange(dst []core.Claim, rows string) (out []core.Claim, ok bool) {
	previous := ""
	for rows != "" {
		var row string
		row, rows, _ = strings.Cut(rows, "\x1e")
		var n [3]int64
		for i := range n {
			var field string
			field, row, _ = strings.Cut(row, "\x1f")
			var err error
			if n[i], err = strconv.ParseInt(field, 10, 64); err != nil {
				return dst, false
			}
		}
		c := core.Claim{Seq: n[0], Tries: int(n[1]), Ambiguous: int(n[2])}
		c.SubscriberID, c.EmailKey, _ = strings.Cut(row, "\x1f")
		if c.SubscriberID <= previous {
			return dst, false
		}
		previous = c.SubscriberID
		dst = append(dst, c)
	}
	return dst, true
}

// fillClaim completes a claim by the line of its subscriber, and moves people past it. It reports whether the
// subscriber may be mailed, is still there, and has the address of the claim.
func fillClaim(c *core.Claim, people *string) bool {
	for *people != "" {
		line, rest, _ := strings.Cut(*people, "\x1e")
		id, fields, active := strings.Cut(line, "\x1f")
		if id > c.SubscriberID {
			return false
		}
		*people = rest
		if id < c.SubscriberID {
			continue
		}
		key, fields, _ := strings.Cut(fields, "\x1f")
		c.Email, c.Preferences, _ = strings.Cut(fields, "\x1f")
		return active && key == c.EmailKey
	}
	return false
}

// containsID reports whether an id is in a list that is in order, and moves the list past it.
func containsID(list *string, id string) bool {
	for *list != "" {
		first, rest, _ := strings.Cut(*list, "\x1e")
		if first > id {
			return false
		}
		*list = rest
		if first == id {
			return true
		}
	}
	return false
}
