package tenants

import (
	"newsletterd/core"
	"newsletterd/store/db"
)

// The kinds stored with the hash of an erased address, in addition to the kinds of core.Status.
const (
	erasedLeft     = core.KindLeft
	erasedDisabled = "disabled" // blocked; see Disable
)

// ErasedHash returns the keyed hash of a folded address, derived with the subscription id key. The hash is useless
// without the database. A person with the database can only check whether an address that they already know was erased.
func ErasedHash(s *db.DB, emailKey string) string { return s.SubscriptionID("erased", emailKey) }

// KeepErased stores the hash of an erased address. If the hash is already stored, it changes nothing.
func KeepErased(tx *db.Tx, emailKey, tenantID, kind string, now core.Instant) error {
	_, err := tx.Exec("INSERT INTO erased (hash, tenant_id, kind, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO "+
		"NOTHING",
		ErasedHash(tx.DB(), emailKey), tenantID, kind, int64(now))
	return err
}

// LeftBefore returns the time that a tenant's next events about an erased address must exceed, or 0 if the address was
// not erased for the tenant. Receivers reject events older than the unsubscribe event that they got, and the clock may
// have been set back.
func LeftBefore(tx *db.Tx, emailKey, tenantID string) (at core.Instant, err error) {
	err = tx.Get(&at,
		"SELECT coalesce(max(created_at), 0) FROM erased WHERE hash = ? AND tenant_id = ? AND kind = 'left'",
		ErasedHash(tx.DB(), emailKey), tenantID)
	return at, err
}

// LeftAt stores the time of the unsubscribe event that receivers get for an erased address.
func LeftAt(tx *db.Tx, emailKey, tenantID string, at core.Instant) error {
	_, err := tx.Exec("UPDATE erased SET created_at = ?3 WHERE hash = ?1 AND tenant_id = ?2 AND kind = 'left' AND "+
		"created_at < ?3",
		ErasedHash(tx.DB(), emailKey), tenantID, int64(at))
	return err
}

// ErasedFrom reports whether imports into a list must not change an erased address. kind is the address's kind from
// ErasedAmong, and sub its subscription to the list, or nil. If the person has confirmed again, imports may change it.
// An unconfirmed request, which anyone can send, is not enough.
func ErasedFrom(kind string, sub *core.Subscription) bool {
	return kind != "" && (kind != erasedLeft || sub == nil || sub.Status == core.SubscriptionPending && !sub.Left())
}

// ErasedAmong returns the strongest stored kind of each address that was erased for a tenant, keyed by folded address.
// It checks n folded addresses, which key returns by index. If no address was ever erased, it runs only one statement.
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
	// The alphabetical order of the kinds is also their order of strength: bounced, complaint, disabled, suppressed.
	// Only the weakest kind, which comes first, is an exception.
	err := from.All(&found,
		`SELECT hash, kind FROM erased WHERE hash IN (SELECT value FROM json_each(?)) AND tenant_id IN ('', ?)
		ORDER BY kind <> 'left', kind`, hashes.Column(), tenantID)
	kinds := make(map[string]string, len(found))
	for _, f := range found {
		kinds[keys[f.Hash]] = f.Kind
	}
	return kinds, err
}

// ErasedBlock returns the block that the send side gets for an erased address of the given kind. The weakest kind leads
// to no block.
func ErasedBlock(kind string) core.Status {
	switch kind {
	case "", erasedLeft:
		return core.NotBlocked
	case erasedDisabled:
		return core.StatusSuppressed
	}
	return core.Status(kind)
}
