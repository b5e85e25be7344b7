package store

import "newsletterd/core"

// What is kept of an erased address, as a hash: its kinds of core.Status and these.
const (
	erasedLeft     = "left"     // no import brings it back; the person may
	erasedDisabled = "disabled" // as Disable says
)

// erasedHash is the keyed hash of a folded address, by the key that derives ids of subscriptions: without the database
// it says nothing, and with it one must know the address to ask.
func erasedHash(s *DB, emailKey string) string { return s.SubscriptionID("erased", emailKey) }

// keepErased notes a hash; again changes nothing.
func (tx *Tx) keepErased(emailKey, tenantID, kind string, now core.Instant) error {
	_, err := tx.exec("INSERT INTO erased (hash, tenant_id, kind, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO "+
		"NOTHING",
		erasedHash(tx.DB(), emailKey), tenantID, kind, int64(now))
	return err
}

// leftBefore is the instant that what comes after an erasing has to be after: a receiver takes no event that seems
// older than the leaving that it was told, and clocks go back. 0: the address was not erased at the tenant.
func (tx *Tx) leftBefore(emailKey, tenantID string) (at core.Instant, err error) {
	err = tx.get(&at,
		"SELECT coalesce(max(created_at), 0) FROM erased WHERE hash = ? AND tenant_id = ? AND kind = 'left'",
		erasedHash(tx.DB(), emailKey), tenantID)
	return at, err
}

// leftAt notes the instant of a leaving that others are told for an erased address.
func (tx *Tx) leftAt(emailKey, tenantID string, at core.Instant) error {
	_, err := tx.exec("UPDATE erased SET created_at = ?3 WHERE hash = ?1 AND tenant_id = ?2 AND kind = 'left' AND "+
		"created_at < ?3",
		erasedHash(tx.DB(), emailKey), tenantID, int64(at))
	return err
}

// returned forgets that a person has gone, who has come back to a tenant's list by the mailbox.
func (tx *Tx) returned(emailKey, tenantID string) error {
	_, err := tx.exec("DELETE FROM erased WHERE hash = ? AND tenant_id = ? AND kind = 'left'",
		erasedHash(tx.DB(), emailKey), tenantID)
	return err
}

// erasedAmong returns for those folded addresses that were erased at a tenant what is known of them: the strongest
// kind. One statement where no one ever was.
func erasedAmong(s *DB, from querier, tenantID string, n int, key func(i int) string) (map[string]string, error) {
	var any bool
	if err := from.get(&any, "SELECT EXISTS (SELECT 1 FROM erased)"); err != nil || !any {
		return nil, err
	}
	hashes, keys := make(core.Strings, n), make(map[string]string, n)
	ids := s.subscriptionIDs("erased")
	for i := range hashes {
		hashes[i] = ids.of(key(i))
		keys[hashes[i]] = key(i)
	}
	var found []struct {
		Hash string `db:"hash"`
		Kind string `db:"kind"`
	}
	// In the order of words, but for the weakest: bounced, complaint, disabled, suppressed.
	err := from.all(&found,
		`SELECT hash, kind FROM erased WHERE hash IN (SELECT value FROM json_each(?)) AND tenant_id IN ('', ?)
		ORDER BY kind <> 'left', kind`, hashes.Column(), tenantID)
	kinds := make(map[string]string, len(found))
	for _, f := range found {
		kinds[keys[f.Hash]] = f.Kind
	}
	return kinds, err
}

// erasedBlock is what stands on the send side against an address of which a kind is known; none of the weakest.
func erasedBlock(kind string) core.Status {
	switch kind {
	case "", erasedLeft:
		return core.NotBlocked
	case erasedDisabled:
		return core.StatusSuppressed
	}
	return core.Status(kind)
}
