package campaigns

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// candidate is a subscriber of a list who may be emailed.
type candidate struct {
	ID       string `db:"id"`
	EmailKey string `db:"email_key"`
}

// rangeOfList is the rest of a query for the subscribers in a range of ids who may be emailed.
const rangeOfList = ` FROM subscriber AS s ` + Barred + `
	WHERE s.list_id = ?1 AND s.id > ?2 AND s.id <= ?3 AND ` + MayBeEmailed + " ORDER BY s.id"

// candidatesOfList selects the ids and addresses of the subscribers in rangeOfList. Parameters 4 and 5 are unused.
var candidatesOfList = Lines("SELECT concat(s.id, char(31), s.email_key) AS line" + rangeOfList)

// candidatesBetween returns a list's subscribers who may be emailed, with ids greater than after and at most upper.
func candidatesBetween(q db.Querier, tenantID, list, after, upper string) (found []candidate, err error) {
	var text string
	err = q.Get(&text, candidatesOfList, list, after, upper, nil, nil, tenantID)
	for text != "" {
		var c candidate
		c.ID, text, _ = strings.Cut(text, partEnd)
		c.EmailKey, text, _ = strings.Cut(text, lineEnd)
		found = append(found, c)
	}
	return found, err
}

// reachedAmong selects, from a JSON array of subscriber ids, those that are recipients of a job within a range of seqs.
// It returns their 0-based indexes. sentAmong selects only those who got the email, may have got it or will get it.
const (
	reachedAmong = `SELECT j.place FROM (SELECT ?1 AS no, ?2 AS low, ?3 AS high, value AS subscriber_id, key AS place
		FROM json_each(?4)) AS j CROSS JOIN recipient AS r ON ` + IsRecipient
	sentAmong = reachedAmong + " AND (r.state <= " + SqlRecipientSent + " OR r.ambiguous > 0)"
)

// activeAmong selects, from a JSON array of ids, the active subscribers of a list. It returns their 0-based indexes.
// mailableAmong selects only those without a block. judgedAmong selects only those without a block who had joined by
// the time ?3.
const (
	activeAmong = `SELECT j.key FROM json_each(?2) AS j CROSS JOIN subscriber AS s ON s.list_id = ?1 AND s.id = j.value AND
		s.word = 'active'`
	mailableAmong = activeAmong + " AND s.block = ''"
	judgedAmong   = mailableAmong + " AND iif(s.joined_at = 0, s.created_at, s.joined_at) <= ?3"
)

// fewestExpanded is the minimum number of subscribers that one operation checks. Looking a subscriber up in an earlier
// list or an exclusion blocks the writer for about 50 µs. The more lookups each subscriber needs, the fewer subscribers
// a step checks.
const fewestExpanded = 10

// nextStep selects the id at which the next step through a list's subscribers ends.
const nextStep = "SELECT id FROM subscriber WHERE list_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?"

// stepOf returns the number of subscribers that one step checks in the list at index place, which is at most the
// parameter most.
func stepOf(most int64, place int, n *core.Narrowing) int64 {
	searches := place + n.Searches()
	if n.Segmented() { // notJudged searches the earlier lists again; the rule was evaluated before
		searches += place
	}
	return max(min(most, fewestExpanded), most/int64(1+searches))
}

// expandLists is like expand, for a job with several lists, exclusions or a segment. ahead holds the subscribers who
// match. A recipient reached through an earlier list is not added again. The recipient rows show who was reached,
// because they are written together with the position.
func expandLists(tx *db.Tx, j *core.SendJob, after, mark string, step int64, ahead lookahead) (more bool,
	err error,
) {
	parts, err := jobParts(tx, j)
	if err != nil {
		return false, err
	}
	place, upper := lastBegun(parts), db.LastID
	list := parts[place].ListID
	narrowing, err := core.ParseNarrowing(j.Narrowing)
	if err != nil {
		return false, err
	}
	var n int64
	var duplicates, excluded int
	if st := ahead.part; st != nil && place == 0 {
		if st.from != j.ExpandedTo || st.reached != j.Recipients {
			return true, nil // the job has moved since, so the range is read again
		}
		upper, more = st.to, st.more
		if n, err = st.addTo(tx, j, &narrowing); err == nil && !more {
			err = tx.Get(&excluded, outside, list, j.Recipients+n, j.No)
		}
	} else {
		err = tx.Get(&upper, nextStep, list, after, stepOf(step, place, &narrowing)-1)
		if more = err == nil; err != nil && !errors.Is(err, core.ErrNotFound) {
			return false, err
		}
		var found []candidate
		found, duplicates, excluded, err = newOnList(tx, j, &narrowing, parts, place, after, upper, ahead.judged)
		if err == nil {
			n, err = int64(len(found)), addRecipients(tx, j, found)
		}
	}
	if err != nil {
		return false, err
	}
	if !more && place+1 < len(parts) {
		if err := beginList(tx, j, int64(place)+1, n); err != nil {
			return false, err
		}
		more, mark, upper = true, restOfList, ""
	}
	return more, tx.One(`UPDATE send_job SET recipients = recipients + ?, expanded_to = ?, expanded = ?, duplicates =
		duplicates + ?, excluded = excluded + ? WHERE no = ?`, n, mark+upper, !more, duplicates, excluded, j.No)
}

// newOnList returns the candidates in a range of the list at index place. It leaves out subscribers who were already
// reached or are excluded, and returns the number of each.
func newOnList(tx *db.Tx, j *core.SendJob, n *core.Narrowing, parts []jobPart, place int, after, upper string,
	ahead judged,
) (found []candidate, duplicates, excluded int, err error) {
	list := parts[place].ListID
	if found, err = candidatesBetween(tx, j.TenantID, list, after, upper); err != nil {
		return nil, 0, 0, err
	}
	all := len(found)
	if found, err = notReached(tx.DB(), tx, found, j.No, parts[:place]); err == nil {
		found, err = notInRetried(tx, found, j, place)
	}
	if err == nil {
		found, err = notJudged(tx, found, parts[:place], j, n)
	}
	duplicates = all - len(found)
	if err == nil {
		found, err = narrow(tx.DB(), tx, found, n)
	}
	if err == nil {
		found, err = ahead.keep(tx, j, n, list, found)
	}
	return found, duplicates, all - duplicates - len(found), err
}

// notInRetried drops the candidates whom the job retried by j reached through a list before the one at place.
func notInRetried(tx *db.Tx, found []candidate, j *core.SendJob, place int) ([]candidate, error) {
	if j.RetryOf == "" {
		return found, nil
	}
	old, err := sendJob(tx, j.RetryOf)
	if err != nil {
		return nil, err
	}
	parts, err := jobParts(tx, &old)
	if err != nil {
		return nil, err
	}
	return notReached(tx.DB(), tx, found, old.No, parts[:min(place, lastBegun(parts)+1)])
}

// narrow drops the candidates that a campaign excludes.
func narrow(s *db.DB, r db.Querier, found []candidate, n *core.Narrowing) ([]candidate, error) {
	for _, list := range n.ExcludeListIDs {
		var err error
		if found, err = without(s, found, list, func(ids string) (places []int, err error) {
			return places, r.All(&places, activeAmong, list, ids)
		}); err != nil {
			return nil, err
		}
	}
	for _, campaign := range n.ExcludeCampaignIDs {
		parts, err := campaignParts(r, campaign)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if known, err := recipientsKnown(r, p); err != nil || !known { // email no one rather than excluded people
				return nil, err
			}
			if found, err = without(s, found, p.ListID, func(ids string) (places []int, err error) {
				return places, r.All(&places, sentAmong, p.jobNo, p.After+1, p.To, ids)
			}); err != nil {
				return nil, err
			}
		}
	}
	return following(s, r, found, n.Audience)
}

// sameAmong selects the recipients of an earlier campaign who get its follow-up. unopenedAmong selects only those who
// did not open the earlier campaign. An unclear open counts as an open, but an automated one does not.
var (
	sameAmong     = reachedAmong + " AND (r.state = " + SqlRecipientSent + " OR r.ambiguous > 0)"
	unopenedAmong = reachedAmong + fmt.Sprintf(` AND r.state = `+SqlRecipientSent+` AND r.marks & %d = 0
		AND (r.marks & %d = 0 OR r.marks & %d <> 0) AND (r.marks & %d = 0 OR r.marks & %d <> 0)`,
		core.MarkReadByPerson|core.MarkReadUnclear, core.MarkOpened, core.MarkReadByScanner, core.MarkClicked,
		core.MarkMachineClicked)
)

// following drops the candidates that a follow-up campaign is not sent to.
func following(s *db.DB, r db.Querier, found []candidate, f *core.FollowUp) ([]candidate, error) {
	if f == nil || len(found) == 0 {
		return found, nil
	}
	query := map[string]string{
		core.FollowSame: sameAmong, core.FollowJoined: reachedAmong, core.FollowUnopened: unopenedAmong,
	}[f.Who]
	parts, err := campaignParts(r, f.Of)
	among := make([]bool, len(found))
	for i := 0; i < len(parts) && err == nil; i++ {
		p := parts[i]
		if f.Who == core.FollowJoined {
			if known, err := recipientsKnown(r, p); err != nil || !known { // email no one rather than everyone
				return nil, err
			}
		}
		var places []int
		if err = r.All(&places, query, p.jobNo, p.After+1, p.To, idsOn(s, found, p.ListID)); err != nil {
			return nil, err
		}
		for _, at := range places {
			among[at] = true
		}
	}
	left := found[:0]
	for i, c := range found {
		if among[i] != (f.Who == core.FollowJoined) {
			left = append(left, c)
		}
	}
	return left, err
}

// recipientsKnown reports whether a job's recipients through a list are still stored.
func recipientsKnown(r db.Querier, p sentPart) (there bool, err error) {
	err = r.Get(&there, "SELECT EXISTS (SELECT 1 FROM recipient WHERE job_no = ? AND seq = ?)", p.jobNo, p.After+1)
	return there, err
}

// mayExclude returns a Conflict if the recipients of an excluded campaign are no longer stored.
func mayExclude(tx *db.Tx, campaigns []string) error {
	for _, id := range campaigns {
		parts, err := campaignParts(tx, id)
		if err != nil {
			return err
		}
		for _, p := range parts {
			known, err := recipientsKnown(tx, p)
			if err != nil {
				return err
			}
			if !known {
				return core.Conflictf("conflict",
					"exclude_campaign_ids: the recipients of campaign %s are no longer stored. Leave it out.", id)
			}
		}
	}
	return nil
}

// mayFollow returns a Conflict if a campaign can't follow up on another one, or can't do so a second time.
func mayFollow(tx *db.Tx, f *core.FollowUp, t *core.Tenant) error {
	if f == nil {
		return nil
	}
	var of struct {
		Sent    bool `db:"sent"`
		Open    bool `db:"open"`
		Growing bool `db:"growing"` // whether a job can still get recipients
		Tracked bool `db:"tracked"`
		Again   bool `db:"again"`
		Known   bool `db:"known"`
	}
	err := tx.Get(
		&of,
		`SELECT coalesce(sum(sent), 0) > 0 AS sent, coalesce(max(status IN ('pending', 'running')), 0) AS open,
		coalesce(max(status IN ('pending', 'running') AND NOT expanded), 0) AS growing,
		coalesce(min(recipients = 0 OR EXISTS (SELECT 1 FROM recipient WHERE job_no = send_job.no AND seq = 1)), 0) AS known,
		coalesce(min((tracked & 5) = 1) AND sum(opened) > 0, 0) AS tracked, EXISTS (SELECT 1 FROM send_job WHERE tenant_id = ?2 AND narrowing <> ''
			AND narrowing->>'$.audience.of' = ?1 AND narrowing->>'$.audience.who' = '`+core.FollowUnopened+`' AND
			(recipients > 0 OR status IN ('pending', 'running'))) AS again
		FROM send_job WHERE campaign_id = ?1`,
		f.Of,
		t.ID,
	)
	switch {
	case err != nil:
		return err
	case !of.Sent:
		return core.Conflictf("conflict", "audience: campaign %s was not sent. Choose a sent campaign.", f.Of)
	case of.Growing, of.Open && f.Who != core.FollowJoined: // the others depend on the outcomes
		return core.Conflictf("conflict", "audience: campaign %s is still being sent. Wait until it has ended.", f.Of)
	case !of.Known:
		return core.Conflictf("conflict",
			"audience: the recipients of campaign %s are no longer stored. Choose a newer campaign.", f.Of)
	case f.Who == core.FollowUnopened && (!of.Tracked || t.NoTracking):
		return core.Conflictf("conflict", "audience: opens of campaign %s were not tracked per subscriber. Choose "+
			"another campaign.", f.Of)
	case f.Who == core.FollowUnopened && of.Again:
		return core.Conflictf("conflict",
			"audience: campaign %s was already resent to subscribers who didn't open it. Choose another campaign.",
			f.Of)
	}
	return nil
}

// sentPart identifies the recipients whom a job reached through one list.
type sentPart struct {
	jobPart
	jobNo     int64
	consentAt core.Instant // start of a job that identifies only those who agreed; 0 means everyone
}

// campaignParts returns the lists of all jobs of a campaign, except lists without recipients.
func campaignParts(r db.Querier, campaignID string) (parts []sentPart, err error) {
	var jobs []core.SendJob
	if err := r.All(&jobs, "SELECT "+sendJobColumns+" FROM send_job WHERE campaign_id = ? AND recipients > 0 ORDER BY no",
		campaignID); err != nil {
		return nil, err
	}
	for i := range jobs {
		all, err := jobParts(r, &jobs[i])
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			if p.To > p.After {
				parts = append(parts, sentPart{jobPart: p, jobNo: jobs[i].No})
			}
		}
	}
	return parts, nil
}

// without drops the candidates that query finds. query gets a JSON array of the ids that the candidates' addresses have
// on the list, and returns the indexes of the ids that it finds.
func without(s *db.DB, found []candidate, list string, query func(ids string) ([]int, error)) ([]candidate, error) {
	if len(found) == 0 {
		return found, nil
	}
	places, err := query(idsOn(s, found, list))
	return dropped(found, places), err
}

// dropped removes the elements of all at the given indexes, in place.
func dropped[T any](all []T, places []int) []T {
	if len(places) == 0 {
		return all
	}
	drop := make([]bool, len(all))
	for _, i := range places {
		drop[i] = true
	}
	left := all[:0]
	for i := range all {
		if !drop[i] {
			left = append(left, all[i])
		}
	}
	return left
}

// idsOn returns a JSON array of the subscriber ids that the candidates' addresses have on a list.
func idsOn(s *db.DB, found []candidate, list string) string {
	ids := make([]string, len(found))
	of := s.SubscriptionIDs(list)
	for i := range found {
		ids[i] = of.Of(found[i].EmailKey)
	}
	return db.JsonOf(ids)
}

// notReached drops the candidates whom a job reached through one of the given lists.
func notReached(s *db.DB, r db.Querier, found []candidate, jobNo int64, parts []jobPart) (_ []candidate, err error) {
	for _, p := range parts {
		if p.To <= p.After {
			continue
		}
		if found, err = without(s, found, p.ListID, func(ids string) (places []int, err error) {
			return places, r.All(&places, reachedAmong, jobNo, p.After+1, p.To, ids)
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// addRecipients appends candidates to a job's recipients.
func addRecipients(tx *db.Tx, j *core.SendJob, found []candidate) error {
	if len(found) == 0 {
		return nil
	}
	rows := make([][2]string, len(found))
	for i, c := range found {
		rows[i] = [2]string{c.ID, c.EmailKey}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO recipient (job_no, seq, subscriber_id, email_key)
		SELECT ?1, ?2 + 1 + key, value->>0, value->>1 FROM json_each(?3)`, j.No, j.Recipients, string(text))
	return err
}

// judgeNarrowing returns an Invalid error if a list, campaign or segment of the narrowing does not belong to the
// tenant.
func judgeNarrowing(tx *db.Tx, tenantID string, n *core.Narrowing) error {
	for _, id := range n.ExcludeListIDs {
		l, err := tenants.ReadList(tx, id)
		if errors.Is(err, core.ErrListNotFound) || err == nil && l.TenantID != tenantID {
			return core.Invalidf("exclude_list_ids", "exclude_list_ids: list %s not found. Leave it out.", id)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range n.ExcludeCampaignIDs {
		if err := campaignOf(tx, tenantID, "exclude_campaign_ids", id); err != nil {
			return err
		}
	}
	if err := judgeSegments(tx, tenantID, n); err != nil {
		return err
	}
	if n.Audience == nil {
		return nil
	}
	return campaignOf(tx, tenantID, "audience.of", n.Audience.Of)
}

// campaignOf returns an Invalid error on field if the tenant has no such campaign.
func campaignOf(tx *db.Tx, tenantID, field, id string) error {
	c, err := campaign(tx, id)
	if errors.Is(err, core.ErrCampaignNotFound) || err == nil && c.TenantID != tenantID {
		return core.Invalidf(field, "%s: campaign %s not found. Choose another one.", field, id)
	}
	return err
}
