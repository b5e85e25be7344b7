package people

import (
	"context"
	"errors"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

const (
	// hygieneRows is the approximate number of recipients that a search for inactive subscribers reads. Reading them
	// takes about 50 ms.
	hygieneRows = 50_000
	// fewestLooks and hygieneLooks are the minimum and maximum numbers of subscribers that a search checks.
	fewestLooks, hygieneLooks = 100, 5000
	// asksAtOnce is the maximum number of subscribers whom one call asks or unsubscribes. askStep is the maximum for
	// one operation.
	asksAtOnce, askStep = 5000, 100
	// askApart is the interval between emails that ask again. It leaves room for more urgent emails.
	askApart = 100 * time.Millisecond
	// pendingLooks is the maximum number of unconfirmed subscriptions that are counted.
	pendingLooks = 20_000
)

// silence is a search for subscribers of a list who have been inactive.
type silence struct {
	list  core.List
	since core.Instant
	jobs  []campaigns.MeasuredJob
	// everyone is the number of jobs that identify all recipients. A job that identifies only those who agreed shows who
	// is active, but not who is inactive.
	everyone int
	window   int64 // number of subscribers that each step checks
}

// silentReader is a subscriber who may be inactive.
type silentReader struct {
	ID        string       `db:"id"`
	ChangedAt core.Instant `db:"changed_at"` // time of the subscription's last change
	AskedAt   core.Instant `db:"asked_at"`
	HeardAt   core.Instant `db:"heard_at"`
}

// may reports whether the subscriber can be asked again. since is the start of the period of inactivity.
func (r *silentReader) may(since core.Instant) bool {
	return r.AskedAt < max(r.ChangedAt, 1) || r.HeardAt > 0 && r.HeardAt < since
}

// silenceOf prepares a search for subscribers who have been inactive for a number of months. known is false if the
// stored campaigns aren't enough for that.
func (s *Store) silenceOf(ctx context.Context, listID string, months int, now core.Instant) (q silence, known bool,
	err error,
) {
	q = silence{since: core.SilentSince(months, now)}
	if q.list, err = s.List(ctx, listID); err != nil {
		return q, false, err
	}
	q.jobs, err = campaigns.MeasuredJobs(s.Reads(ctx), listID, q.since, now)
	full := len(q.jobs) == campaigns.MaxMeasured
	q.jobs = slices.DeleteFunc(q.jobs, func(j campaigns.MeasuredJob) bool { return !j.Known })
	oldest := now
	for i := range q.jobs {
		if !q.jobs[i].ByConsent() {
			q.everyone, oldest = q.everyone+1, q.jobs[i].At
		}
	}
	if err != nil || q.everyone == 0 {
		return q, false, err
	}
	if full {
		oldest = q.since // older jobs exist
	}
	q.window = min(max(hygieneRows/int64(len(q.jobs)), fewestLooks), hygieneLooks)
	return q, core.SilenceKnown(q.everyone, oldest, q.since, now), nil
}

// readersOf selects a list's subscribers who are emailed, ordered by id. Parameters 4 and 5 are unused.
const readersOf = `SELECT s.id, coalesce(m.changed_at, 0) AS changed_at, coalesce(m.asked_at, 0) AS asked_at,
	coalesce(m.heard_at, 0) AS heard_at FROM subscriber AS s
	CROSS JOIN subscription AS m ON m.list_id = s.list_id AND m.id = s.id AND m.status = 'active' ` + campaigns.Barred + `
	WHERE s.list_id = ?1 AND s.id > ?2 AND ` + campaigns.MayBeEmailed + " ORDER BY s.id LIMIT +?3"

// heard reports whether a person opened the email or clicked a link, or may have done so.
func heard(m core.Marks) bool { return m.Opens() >= core.ClassUnclear || m.Clicked() }

// step checks the next subscribers after an id. It returns the inactive ones, the number of subscribers checked, and
// the last id, which is empty at the end of the list.
func (q *silence) step(r db.Querier, after string) (silent []silentReader, looked int64, next string, err error) {
	var all []silentReader
	err = r.All(&all, readersOf, q.list.ID, after, q.window, nil, nil, q.list.TenantID)
	if err != nil || len(all) == 0 {
		return nil, 0, "", err
	}
	first, last := all[0].ID, all[len(all)-1].ID
	if int64(len(all)) == q.window {
		next = last
	}
	mails, wasHeard := map[string]int{}, map[string]bool{}
	for _, j := range q.jobs {
		rows, err := j.Between(r, first, last)
		if err != nil {
			return nil, 0, "", err
		}
		for i := range rows {
			if rows[i].Sent && !j.ByConsent() {
				mails[rows[i].ID]++
			}
			if heard(rows[i].Marks) {
				wasHeard[rows[i].ID] = true
			}
		}
	}
	for _, a := range all {
		if a.ChangedAt <= q.since && mails[a.ID] >= core.MinMailings && !wasHeard[a.ID] && a.HeardAt <= q.since {
			silent = append(silent, a)
		}
	}
	return silent, int64(len(all)), next, nil
}

// mayAskPending selects unconfirmed people who may get a reminder. It excludes people who unsubscribed before, here
// or through a file.
const mayAskPending = ` FROM subscription AS s INDEXED BY subscription_waiting WHERE s.list_id = ?1 AND
	s.status = 'pending' AND s.generation = 1 AND s.means <> 'left' AND s.changed_at <= ?2 AND s.asked_at = 0`

// ListHygiene counts a list's subscribers who are blocked, who have not confirmed, or who have been inactive for a
// number of months. In a long list, it checks only some subscribers for inactivity and returns their number. Ids are
// practically random, so these subscribers are a fair sample. If there is no such list, it returns
// core.ErrListNotFound.
func (s *Store) ListHygiene(ctx context.Context, listID string, months int, now core.Instant) (h core.Hygiene,
	err error,
) {
	q, known, err := s.silenceOf(ctx, listID, months, now)
	if err != nil {
		return h, err
	}
	counts, err := s.ListCounts(ctx, []string{listID})
	if err != nil {
		return h, err
	}
	c := counts[listID]
	h = core.Hygiene{Bounced: c.Bounced, Complaint: c.Complaint, Suppressed: c.Suppressed, Pending: c.Pending}
	h.Silence = core.Silence{
		Months: months, Since: q.since, Known: known, Mailings: q.everyone, Mailable: c.Mailable,
	}
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		if err := r.Get(&h.AskPending, "SELECT count(*) FROM (SELECT 1"+mayAskPending+" LIMIT +?3)", listID,
			int64(now.Add(-core.AskAfter)), pendingLooks); err != nil {
			return err
		}
		if err := r.Get(&h.RemovePending, "SELECT count(*) FROM (SELECT 1"+mayRemovePending+" LIMIT +?3)", listID,
			int64(now.Add(-members.ConfirmTTL)), pendingLooks); err != nil {
			return err
		}
		if err := r.Get(&h.Asked, countAsked, listID, int64(now.Add(-core.AnswerWithin))); err != nil || !known {
			return err
		}
		silent, looked, _, err := q.step(r, "")
		h.Silence.Looked, h.Silence.Silent = looked, int64(len(silent))
		for i := range silent {
			if silent[i].may(q.since) {
				h.Silence.Ask++
			}
		}
		return err
	})
	return h, err
}

// countAsked counts the subscribers who were asked again while active and are still active.
const countAsked = `SELECT count(*) FILTER (WHERE heard_at = 0 AND asked_at > ?2) AS waiting,
	count(*) FILTER (WHERE heard_at > 0) AS answered, count(*) FILTER (WHERE heard_at = 0 AND asked_at <= ?2) AS no_answer
	FROM subscription WHERE list_id = ?1 AND asked_at > 0 AND
	asked_at > changed_at AND status = 'active'`

// AskAgain is a request to ask subscribers of a list whether they still want its emails.
type AskAgain struct {
	ListID string
	Who    string // core.AskUnconfirmed or core.AskSilent
	Months int    // number of months of inactivity
	After  string // id at which an earlier call ended
	Actor  string
	Budget time.Duration // time after which the call stops and returns its position; 0 means no limit
}

// AskAgain queues an email with a confirmation link for each of these subscribers, at most 5,000 per call. It returns
// their number and the id from which to continue. next is empty after the last subscriber. A person is asked once per
// subscription, and again only if they answered and became inactive again. Unsubscribed and blocked addresses are not
// asked, nor are those that already got the daily maximum of such emails. It returns core.ErrListNotFound,
// core.ErrListInactive, or a Conflict if it can't determine who is inactive.
func (s *Store) AskAgain(ctx context.Context, a AskAgain, now core.Instant) (asked int64, next string, err error) {
	list, err := s.ListWithTenant(ctx, a.ListID)
	if err != nil {
		return 0, "", err
	}
	if !list.Active() || s.Options().MemberElsewhere {
		return 0, "", core.ErrListInactive
	}
	begun, mails := time.Now(), int64(0)
	ask := func(ids []string) error {
		for part := range slices.Chunk(ids, askStep) {
			if err := s.Bulk(ctx, func(tx *db.Tx) error {
				n, err := askOnce(tx, list, &a, part, mails, now)
				asked += n
				return err
			}); err != nil {
				return err
			}
			mails = asked
		}
		return nil
	}
	over := func() bool { return asked >= asksAtOnce || a.Budget > 0 && time.Since(begun) > a.Budget }
	if a.Who == core.AskUnconfirmed {
		err = s.eachUnconfirmed(ctx, &a, now, &next, ask, over)
	} else {
		err = s.eachSilent(ctx, &a, now, &next, ask, over)
	}
	return asked, next, err
}

// eachUnconfirmed calls ask with the unconfirmed people who may be asked again, until over returns true.
func (s *Store) eachUnconfirmed(ctx context.Context, a *AskAgain, now core.Instant, next *string,
	ask func([]string) error, over func() bool,
) error {
	var at int64
	id := a.After
	err := s.Get(ctx, &at, "SELECT changed_at FROM subscription WHERE list_id = ?1 AND id = ?2 AND "+
		"status = 'pending' AND generation = 1", a.ListID, id)
	if err != nil && !errors.Is(err, core.ErrNotFound) { // if the person no longer exists, start over
		return err
	}
	for *next = ""; ; {
		var waiting []struct {
			ID        string
			ChangedAt int64 `db:"changed_at"`
		}
		err := s.All(ctx, &waiting, "SELECT s.id, s.changed_at"+mayAskPending+" AND (s.changed_at, s.id) > (?3, ?4) "+
			"ORDER BY s.changed_at, s.id LIMIT +?5", a.ListID, int64(now.Add(-core.AskAfter)), at, id, 5*askStep)
		if err != nil {
			return err
		}
		ids := make([]string, len(waiting))
		for i, w := range waiting {
			at, id, ids[i] = w.ChangedAt, w.ID, w.ID
		}
		if err := ask(ids); err != nil || len(ids) < 5*askStep {
			*next = ""
			return err
		}
		if *next = id; over() {
			return nil
		}
	}
}

// eachSilent is like eachUnconfirmed, for inactive subscribers.
func (s *Store) eachSilent(ctx context.Context, a *AskAgain, now core.Instant, next *string,
	ask func([]string) error, over func() bool,
) error {
	q, known, err := s.silenceOf(ctx, a.ListID, a.Months, now)
	if err != nil {
		return err
	}
	if !known {
		return core.Conflictf("conflict", "Opens and clicks weren't tracked in these months, so inactive subscribers "+
			"can't be identified. Choose other months, or turn on tracking for future campaigns.")
	}
	for {
		var silent []silentReader
		err := s.SnapshotRead(ctx, func(r *db.Reader) (err error) {
			silent, _, *next, err = q.step(r, a.After)
			return err
		})
		if err != nil {
			return err
		}
		var ids []string
		for i := range silent {
			if silent[i].may(q.since) {
				ids = append(ids, silent[i].ID)
			}
		}
		if err := ask(ids); err != nil {
			return err
		}
		if a.After = *next; *next == "" || over() {
			return nil
		}
	}
}

// askable selects the given subscriptions that may be asked again by email. They must have the requested status, must
// not be blocked, and must not have reached the limit per address.
const askable = `SELECT ` + members.SubscriptionColumns + ` FROM json_each(?2) AS j CROSS JOIN subscription AS s ON s.list_id = ?1 AND
	s.id = j.value ` + campaigns.Barred + ` WHERE s.status = ?3 AND p.kind IS NULL AND d.reason IS NULL AND ?5 > (
	SELECT count(*) FROM mail AS m WHERE m.email_key = s.email_key AND m.kind IN ('` + core.MailConfirm + `', '` +
	core.MailAskAgain + `') AND m.created_at > ?4 AND m.state != ` + tenants.SQLMailLeftOut + `)`

// askOnce asks some subscribers to confirm their subscription, or whether they want to keep it. n is the number of
// people whom the same call has already asked.
func askOnce(
	tx *db.Tx,
	list *core.ListWithTenant,
	a *AskAgain,
	ids core.Strings,
	n int64,
	now core.Instant,
) (asked int64,
	err error,
) {
	status, kind := core.SubscriptionPending, core.MailConfirm
	if a.Who == core.AskSilent {
		status, kind = core.SubscriptionActive, core.MailAskAgain
	}
	var subs []core.Subscription
	if err := tx.All(&subs, askable, list.ID, ids.Column(), status, int64(now.Add(-tenants.MailPeriod)),
		tenants.ConfirmsPerEmail,
		list.TenantID); err != nil {
		return 0, err
	}
	for i := range subs {
		sub := &subs[i]
		if a.Who == core.AskUnconfirmed && sub.Generation != 1 {
			continue
		}
		if err := tx.One("UPDATE subscription SET asked_at = ?, heard_at = 0 WHERE list_id = ? AND id = ?", int64(now),
			sub.ListID, sub.ID); err != nil {
			return 0, err
		}
		row := core.NewID()
		r := members.SubscribeRequest{Origin: core.Origin{Source: "reminder"}}
		if err := members.AddConfirmToken(tx, sub, row, false, &r, now); err != nil {
			return 0, err
		}
		mail := core.Mail{
			Kind: kind, TenantID: list.TenantID, ListID: list.ID, Email: sub.Email, TokenID: row,
			Params: core.AskedOnceMore, DueAt: now.Add(time.Duration(n+asked) * askApart),
		}
		if err := tenants.AddMail(tx, mail, now); err != nil {
			return 0, err
		}
		asked++
	}
	if asked == 0 {
		return 0, nil
	}
	tx.Tell("asked", nil, asked)
	tx.Tell("who", nil, a.Who)
	return asked, tx.Audit(now, a.Actor, "list.ask_again", list.TenantID, list.ID)
}

// UnsubscribeSilent unsubscribes a list's subscribers who were asked again and have not answered within 14 days, at
// most 5,000 per call. It returns their number and whether there are more. If there is no such list, it returns
// core.ErrListNotFound.
func (s *Store) UnsubscribeSilent(ctx context.Context, listID, actor string, budget time.Duration, now core.Instant) (
	left int64, more bool, err error,
) {
	list, err := s.List(ctx, listID)
	if err != nil {
		return 0, false, err
	}
	for begun := time.Now(); ; {
		n, found := int64(0), 0
		err = s.Bulk(ctx, func(tx *db.Tx) error {
			n, found, err = unsubscribeSilent(tx, &list, actor, now)
			return err
		})
		left += n
		if err != nil || found < askStep {
			return left, false, err
		}
		if left >= asksAtOnce || budget > 0 && time.Since(begun) > budget {
			return left, true, nil
		}
	}
}

func unsubscribeSilent(tx *db.Tx, list *core.List, actor string, now core.Instant) (left int64, found int, err error) {
	var ids []string
	err = tx.All(
		&ids,
		`SELECT id FROM subscription WHERE list_id = ?1 AND asked_at > 0 AND asked_at <= ?2 AND heard_at = 0 AND
		asked_at > changed_at AND status = 'active' LIMIT +?3`,
		list.ID,
		int64(now.Add(-core.AnswerWithin)),
		askStep,
	)
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	for _, id := range ids {
		l := members.UnsubscribeRequest{
			ListID: list.ID, SubscriptionID: id, Proof: core.ProofAdmin, Reason: core.ReasonNoAnswer,
			Origin: core.Origin{Source: actor},
		}
		change, _, err := members.Unsubscribe(tx, l, now)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return left, 0, err
		}
		if change != nil {
			left++
		}
	}
	tx.Tell("unsubscribed", nil, left)
	return left, len(ids), tx.Audit(now, actor, "list.unsubscribe_silent", list.TenantID, list.ID)
}

// LeftSinceAsked reports whether the recipient of m, an email that asks again, has unsubscribed since m was queued. Its
// only error is core.ErrStorage.
func (s *Store) LeftSinceAsked(ctx context.Context, m *core.Mail) (left bool, err error) {
	err = s.Get(ctx, &left, "SELECT EXISTS (SELECT 1 FROM subscription "+
		"WHERE list_id = ? AND id = ? AND asked_at = ? AND status = 'unsubscribed')", m.ListID,
		s.SubscriptionID(m.ListID, m.Email.Key()), int64(m.CreatedAt))
	return left, err
}
