package store

import "newsletterd/core"

// audit writes down who changed what: actor is "user:<id>", "client:<id>" or "command".
func (tx *Tx) audit(now core.Instant, actor, action, tenantID, object string) error {
	_, err := tx.exec("INSERT INTO audit (at, actor, action, tenant_id, object) VALUES (?, ?, ?, ?, ?)",
		now, actor, action, tenantID, object)
	return err
}
