package tenants

import (
	"encoding/json"

	"newsletterd/store/db"
)

// IDsOf computes the ids of an address on every list, or those of one tenant: pairs of list and id, as JSON.
func IDsOf(tx *db.Tx, emailKey, tenantID string) (string, error) {
	return IDsAmong(tx.DB(), tx, emailKey, tenantID)
}

// IDsAmong is IDsOf by a reader of its own.
func IDsAmong(s *db.DB, r db.Querier, emailKey, tenantID string) (string, error) {
	var lists []string
	if err := r.All(&lists, "SELECT id FROM list WHERE ?1 = '' OR tenant_id = ?1", tenantID); err != nil {
		return "", err
	}
	ids := make([][2]string, len(lists))
	for i, list := range lists {
		ids[i] = [2]string{list, s.SubscriptionID(list, emailKey)}
	}
	pairs, err := json.Marshal(ids)
	return string(pairs), err
}
