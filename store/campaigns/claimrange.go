package campaigns

import (
	"context"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// Most recipients of a job are in the order of their subscribers, and most of them may still be emailed. A claim
// therefore reads one range of each of the three tables, which costs less than looking up each row in two of them. It
// then looks up individually only the recipients who may not be emailed or whose row is not as expected.
const (
	selectClaimRange = "SELECT coalesce(group_concat(claim, char(30)), '') FROM (SELECT concat_ws(char(31), seq, " +
		"tries, ambiguous, subscriber_id, email_key) AS claim " +
		"FROM recipient WHERE job_no = ?1 AND seq > ?2 AND state = " + sqlRecipientQueued + " ORDER BY seq LIMIT +?3)"

	// A line holds only the id if the subscriber may not be emailed. The fifth of Barred's parameters is unused.
	selectRangeSubscribers = "SELECT coalesce(group_concat(line, char(30)), '') FROM (SELECT CASE WHEN s.word = " +
		"'active' AND s.block = '' " +
		"AND p.kind IS NULL AND d.reason IS NULL THEN concat_ws(char(31), s.id, s.email_key, s.email, " +
		"s.preferences) ELSE s.id END AS line " +
		"FROM subscriber AS s " + Barred + " WHERE s.list_id = ?1 AND s.id BETWEEN ?2 AND ?3 ORDER BY s.id LIMIT +?4)"

	// A line is empty if the subscription is active.
	selectRangeSubscriptions = "SELECT count(*) || char(30) || coalesce(group_concat(line, char(30)), '') FROM " +
		"(SELECT CASE WHEN status != 'active' THEN id END AS line " +
		"FROM subscription WHERE list_id = ?1 AND id BETWEEN ?2 AND ?3 ORDER BY id LIMIT +?4)"
)

const (
	minClaimRange   = 32 // if there are fewer recipients, each is looked up individually
	maxSparseness   = 3  // maximum number of subscribers per recipient in a range
	scatteredClaims = 16 // number of claims that don't look for a range after a claim that found none
)

// claimRange is like ClaimRecipients, but reads ranges. If there is no usable range, ok is false.
func (k *ClaimKey) claimRange(ctx context.Context, d *db.DB, dst []core.Claim, after int64, limit int) (
	out []core.Claim, ok bool, err error,
) {
	var rows, people, left string
	if rows, err = d.Text(ctx, selectClaimRange, k.JobNo, after, limit); err != nil {
		return dst, false, err
	}
	out, ok = parseClaimRange(dst, rows)
	claims := out[len(dst):]
	if !ok || len(claims) < minClaimRange {
		return dst, false, nil
	}
	first, last, most := claims[0].SubscriberID, claims[len(claims)-1].SubscriberID, maxSparseness*len(claims)
	if people, err = d.Text(ctx, selectRangeSubscribers, k.ListID, first, last, most, nil, k.TenantID); err != nil {
		return dst, false, err
	}
	if left, err = d.Text(ctx, selectRangeSubscriptions, k.ListID, first, last, most); err != nil {
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
		one, err := claim(ctx, d, nil, claimQueued, k.JobNo, k.TenantID, k.ListID, k.MailedProof, c.Seq-1, 1)
		if err != nil {
			return dst, false, err
		}
		if len(one) != 1 || one[0].Seq != c.Seq { // the recipient got an outcome in the meantime
			return dst, false, nil
		}
		*c = one[0]
	}
	return out, true, nil
}

// parseClaimRange parses claims and appends them to dst. ok is false if a row is malformed or the subscribers are not
// in order.
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

// fillClaim completes a claim with data from its subscriber's line in people, and advances people past that line. It
// reports whether the subscriber exists, may be emailed and has the address of the claim.
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

// containsID reports whether a sorted list contains an id, and advances the list past that id.
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
