package tenants

import (
	"encoding/json"

	"newsletterd/store/db"
)

// IDsOf returns the subscription ids that an address has on the lists of a tenant or, if tenantID is empty, on all
// lists. The result is a JSON array of pairs of list and id.
func IDsOf(tx *db.Tx, emailKey, tenantID string) (string, error) {
	return IDsAmong(tx.DB(), tx, emailKey, tenantID)
}

// IDsAmong is like IDsOf, but reads the lists through r.
func IDsAmong(s *db.DB, r db.Querier, emailKey, tenantID string) (string, error) {
	query, args := "SELECT id FROM list", []any(nil)
	if tenantID != "" {
		query, args = query+" INDEXED BY list_tenant WHERE tenant_id = ?", []any{tenantID}
	}
	var lists []string
	if err := r.All(&lists, query, args...); err != nil {
		return "", err
	}
	ids := make([][2]string, len(lists))
	for i, list := range lists {
		ids[i] = [2]string{list, s.SubscriptionID(list, emailKey)}
	}
	pairs, err := json.Marshal(ids)
	return string(pairs), err
}
