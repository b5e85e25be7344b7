package tenants

import (
	"newsletterd/core"
	"newsletterd/store/db"
)

// What is kept of an erased address, as a hash: its kinds of core.Status and these.
const (
	erasedLeft     = core.KindLeft
	erasedDisabled = "disabled" // as Disable says
)

// ErasedHash is the keyed hash of a folded address, by the key that derives ids of subscriptions: without the database
// it says nothing, and with it one must know the address to ask.
func ErasedHash(s *db.DB, emailKey string) string { return s.SubscriptionID("erased", emailKey) }

// KeepErased notes a hash; again changes nothing.
func KeepErased(tx *db.Tx, emailKey, tenantID, kind string, now core.Instant) error {
	_, err := tx.Exec("INSERT INTO erased (hash, tenant_id, kind, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO "+
		"NOTHING",
		ErasedHash(tx.DB(), emailKey), tenantID, kind, int64(now))
	return err
}

// LeftBefore is the instant that what comes after an erasing has to be after: a receiver takes no event that seems
// older than the leaving that it was told, and clocks go back. 0: the address was not erased at the tenant.
func LeftBefore(tx *db.Tx, emailKey, tenantID string) (at core.Instant, err error) {
	err = tx.Get(&at,
		"SELECT coalesce(max(created_at), 0) FROM erased WHERE hash = ? AND tenant_id = ? AND kind = 'left'",
		ErasedHash(tx.DB(), emailKey), tenantID)
	return at, err
}

// LeftAt notes the instant of a leaving that others are told for an erased address.
func LeftAt(tx *db.Tx, emailKey, tenantID string, at core.Instant) error {
	_, err := tx.Exec("UPDATE erased SET created_at = ?3 WHERE hash = ?1 AND tenant_id = ?2 AND kind = 'left' AND "+
		"created_at < ?3",
		ErasedHash(tx.DB(), emailKey), tenantID, int64(at))
	return err
}

// ErasedFrom reports whether a kind of ErasedAmong keeps files from changing what an address has on one list: sub, nil:
// it has nothing there. Who has come back to the list by the mailbox has; a request that anyone can send is none.
func ErasedFrom(kind string, sub *core.Subscription) bool {
	return kind != "" && (kind != erasedLeft || sub == nil || sub.Status == core.SubscriptionPending && !sub.Left())
}

// ErasedAmong returns for those folded addresses that were erased at a tenant what is known of them: the strongest
// kind. One statement where no one ever was.
func ErasedAmong(s *db.DB, from db.Querier, tenantID string, n int, key func(i int) string) (map[string]string, error) {
	var any bool
	if err := from.Get(&any, "SELECT EXISTS (SELECT 1 FROM erased)"); err != nil || !any {
		return nil, err
	}
	hashes, keys := make(core.Strings, n), make(map[string]string, n)
	ids := s.SubscriptionIDs("erased")
	for i := range hashes {
		hashes[i] = ids.Of(key(i))
		keys[hashes[i]] = key(i)
	}
	var found []struct {
		Hash string `db:"hash"`
		Kind string `db:"kind"`
	}
	// In the order of words, but for the weakest: bounced, complaint, disabled, suppressed.
	err := from.All(&found,
		`SELECT hash, kind FROM erased WHERE hash IN (SELECT value FROM json_each(?)) AND tenant_id IN ('', ?)
		ORDER BY kind <> 'left', kind`, hashes.Column(), tenantID)
	kinds := make(map[string]string, len(found))
	for _, f := range found {
		kinds[keys[f.Hash]] = f.Kind
	}
	return kinds, err
}

// ErasedBlock is what stands on the send side against an address of which a kind is known; none of the weakest.
func ErasedBlock(kind string) core.Status {
	switch kind {
	case "", erasedLeft:
		return core.NotBlocked
	case erasedDisabled:
		return core.StatusSuppressed
	}
	return core.Status(kind)
}
