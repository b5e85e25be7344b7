package campaigns

import (
	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// ApplyEffect applies the effect of a relay's or provider's report about an address to the address's subscribers on all
// lists of a tenant. known reports whether there are any.
func ApplyEffect(tx *db.Tx, tenantID, emailKey, effect string, at, now core.Instant) (known bool, err error) {
	pairs, err := tenants.IDsOf(tx, emailKey, tenantID)
	if err != nil {
		return false, err
	}
	var subs []core.Subscriber
	err = tx.All(&subs, "SELECT "+subscriberColumns+` FROM json_each(?) AS j
		CROSS JOIN subscriber ON list_id = j.value->>0 AND subscriber.id = j.value->>1`, pairs)
	if err != nil {
		return false, err
	}
	for i := range subs {
		was := subs[i].Counted()
		if !subs[i].Report(effect, at, now) {
			continue
		}
		if !subs[i].Mailable() {
			tx.Departs(tenantID)
		}
		if err := SaveSubscriber(tx, was, &subs[i]); err != nil {
			return true, err
		}
	}
	return len(subs) > 0, nil
}
