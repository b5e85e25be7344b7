package members

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

const consentColumns = "list_id, subscription_id, at, what, means, source, remote, user_agent, text_version, " +
	"generation, job_no, reason"

var insertConsent = db.InsertInto("consent", consentColumns) + " ON CONFLICT DO NOTHING"

// AddConsent adds an entry to the consent ledger. Two entries of the same kind for a subscription in the same
// millisecond count as one.
func AddConsent(tx *db.Tx, c core.Consent) error {
	_, err := tx.Exec(insertConsent,
		c.ListID, c.SubscriptionID, int64(c.At), c.What, c.Proof, c.Source, c.Remote, c.UserAgent, c.TextVersion,
		c.Generation, c.JobNo, c.Reason)
	return err
}

// Consents returns the ledger of a subscription, oldest first. Its only error is core.ErrStorage.
func (s *Store) Consents(ctx context.Context, listID, subscriptionID string) ([]core.Consent, error) {
	var c []core.Consent
	err := s.All(ctx, &c, SelectConsents, listID, subscriptionID)
	DateConsents(c)
	return c, err
}

// DateConsents sets, in each of consents, the time when the person subscribed in another system, according to the
// stored evidence.
func DateConsents(consents []core.Consent) {
	for i := range consents {
		if c := &consents[i]; c.What == core.ConsentImported || c.What == core.ConsentConfirmed {
			c.SubscribedAt = core.EvidenceTime(c.Reason)
		}
	}
}

// SelectConsents selects the consents of a subscription, oldest first.
const SelectConsents = `SELECT c.list_id, c.subscription_id, c.at, c.what, c.means, c.source, c.remote, c.user_agent,
	c.text_version, c.generation, c.reason, coalesce(t.text, '') AS text
	FROM consent AS c LEFT JOIN consent_text AS t ON t.list_id = c.list_id AND t.version = c.text_version
	WHERE c.list_id = ? AND c.subscription_id = ? ORDER BY c.at, c.what`

// LeaveReason is a reason for unsubscribing from a list, with the number of people who gave it.
type LeaveReason struct {
	Reason    string       `db:"reason"     json:"reason"` // empty if no reason was given
	Leavers   int64        `db:"leavers"    json:"leavers"`
	LastAt    core.Instant `db:"last_at"    json:"last_at"`
	LastWords string       `db:"last_words" json:"last_words"` // newest text in a person's own words
}

// standing is an SQL condition for the unsubscribes of a list that were not undone.
const standing = "list_id = ?1 AND what = 'unsubscribed' AND taken_back = 0"

// reasonEnd is the SQL expression for the last string that counts as the same reason as low. A person's own words
// follow the reason, after a colon.
const reasonEnd = "iif(instr(low, ':'), substr(low, 1, instr(low, ':') - 1) || ';', low)"

// selectReasons finds each reason by searching after the end of the previous one. It needs no sorting and parses only
// the first text of each reason.
const selectReasons = `WITH RECURSIVE first (low) AS (
		SELECT min(reason) FROM consent WHERE ` + standing + `
		UNION ALL SELECT (SELECT min(reason) FROM consent WHERE ` + standing + " AND reason > " + reasonEnd + `)
		FROM first WHERE low IS NOT NULL),
	given (low, high) AS MATERIALIZED (SELECT low, ` + reasonEnd + ` FROM first WHERE low IS NOT NULL),
	counted AS MATERIALIZED (
		SELECT iif(low = high, low, substr(low, 1, instr(low, ':') - 1)) AS reason,
			(SELECT count(*) FROM consent WHERE ` + standing + ` AND reason BETWEEN low AND high) AS leavers,
			(SELECT max(at) FROM consent WHERE ` + standing + ` AND reason = low AND low = high) AS last_at,
			(SELECT max(at) || ' ' || reason FROM consent WHERE ` + standing + `
			AND reason BETWEEN low AND high AND low < high) AS words
		FROM given)
	SELECT reason, sum(leavers) AS leavers, max(coalesce(last_at, CAST(words AS INTEGER))) AS last_at,
		coalesce(max(substr(words, instr(words, ':') + 2)), '') AS last_words
	FROM counted GROUP BY reason ORDER BY leavers DESC, reason`

// LeaveReasons returns the reasons for unsubscribing from a list, each with the number of people who gave it, most
// frequent first. Undone unsubscribes do not count. It reads only unsubscribes, not the list's whole ledger. Its only
// error is core.ErrStorage.
func (s *Store) LeaveReasons(ctx context.Context, listID string) ([]LeaveReason, error) {
	var reasons []LeaveReason
	err := s.All(ctx, &reasons, selectReasons, listID)
	return reasons, err
}
