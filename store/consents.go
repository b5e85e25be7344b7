package store

import (
	"context"

	"newsletterd/core"
)

// addConsent appends to the ledger. Two of a kind in one millisecond are one.
func (tx *Tx) addConsent(c core.Consent) error {
	_, err := tx.exec(`INSERT INTO consent (list_id, subscription_id, at, what, means, source, remote, user_agent, text_version, generation)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		c.ListID, c.SubscriptionID, int64(c.At), c.What, c.Means, c.Source, c.Remote, c.UserAgent, c.TextVersion, c.Generation)
	return err
}

// Consents reads the ledger of one subscription, oldest first.
func (s *Store) Consents(ctx context.Context, listID, subscriptionID string) ([]core.Consent, error) {
	var c []core.Consent
	err := s.all(ctx, &c, `SELECT list_id, subscription_id, at, what, means, source, remote, user_agent, text_version, generation
		FROM consent WHERE list_id = ? AND subscription_id = ? ORDER BY at, what`, listID, subscriptionID)
	return c, err
}
