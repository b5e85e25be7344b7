package store

import (
	"context"

	"newsletterd/core"
)

const consentColumns = "list_id, subscription_id, at, what, means, source, remote, user_agent, text_version, " +
	"generation, job_no, reason"

var insertConsent = insertInto("consent", consentColumns) + " ON CONFLICT DO NOTHING"

// addConsent appends to the ledger. Two of a kind in one millisecond are one.
func (tx *Tx) addConsent(c core.Consent) error {
	_, err := tx.exec(insertConsent,
		c.ListID, c.SubscriptionID, int64(c.At), c.What, c.Proof, c.Source, c.Remote, c.UserAgent, c.TextVersion,
		c.Generation, c.JobNo, c.Reason)
	return err
}

// Consents reads the ledger of one subscription, oldest first. Its only error is core.ErrStorage.
func (s *Store) Consents(ctx context.Context, listID, subscriptionID string) ([]core.Consent, error) {
	var c []core.Consent
	err := s.all(ctx, &c, selectConsents, listID, subscriptionID)
	return c, err
}

const selectConsents = `SELECT c.list_id, c.subscription_id, c.at, c.what, c.means, c.source, c.remote, c.user_agent,
	c.text_version, c.generation, c.reason, coalesce(t.text, '') AS text
	FROM consent AS c LEFT JOIN consent_text AS t ON t.list_id = c.list_id AND t.version = c.text_version
	WHERE c.list_id = ? AND c.subscription_id = ? ORDER BY c.at, c.what`

// LeaveReason is how often a reason was given by those who left a list.
type LeaveReason struct {
	Reason    string       `db:"reason" json:"reason"` // empty: none was given
	Leavers   int64        `db:"leavers" json:"leavers"`
	LastAt    core.Instant `db:"last_at" json:"last_at"`
	LastWords string       `db:"last_words" json:"last_words"` // the newest in a leaver's own words
}

// LeaveReasons counts them, the most frequent first, without those of subscribers who took the unsubscribe back. It
// reads those who left, and not the ledger of the whole list. Its only error is core.ErrStorage.
func (s *Store) LeaveReasons(ctx context.Context, listID string) ([]LeaveReason, error) {
	var reasons []LeaveReason
	err := s.all(ctx, &reasons, `WITH taken_back AS (
			SELECT r.subscription_id, (SELECT iif(p.what = 'unsubscribed', p.at, 0) FROM consent AS p
				WHERE p.list_id = r.list_id AND p.subscription_id = r.subscription_id AND p.at < r.at
				AND p.what IN ('unsubscribed', 'resumed', 'confirmed', 'imported', 'disabled')
				ORDER BY p.at DESC LIMIT 1) AS at
			FROM consent AS r WHERE r.list_id = ?1 AND r.what = 'resumed'),
		given AS (
			SELECT at, iif(instr(reason, ':'), substr(reason, 1, instr(reason, ':') - 1), reason) AS reason,
				iif(instr(reason, ':'), substr(reason, instr(reason, ':') + 2), '') AS words
			FROM consent WHERE list_id = ?1 AND what = 'unsubscribed'
			AND (subscription_id, at) NOT IN (SELECT subscription_id, at FROM taken_back WHERE at > 0))
		SELECT g.reason, count(*) AS leavers, max(g.at) AS last_at,
			coalesce((SELECT w.words FROM given AS w WHERE w.reason = g.reason AND w.words <> '' ORDER BY w.at DESC
			LIMIT 1), '') AS last_words
		FROM given AS g GROUP BY g.reason ORDER BY leavers DESC, g.reason`, listID)
	return reasons, err
}
