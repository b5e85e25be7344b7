package handlers

import (
	"slices"
	"testing"

	"newsletterd/core"
)

// A request for a bulk action is refused if it doesn't say exactly whom it is for, or if the caller may not do that.
func TestBulkActionsRefuse(t *testing.T) {
	e := newCountedEnv(t)
	e.step("user adi tenant_admin=acme")
	e.step("tenant other domains=other.example")
	e.step("user oth tenant_admin=other")
	e.call(201, "POST", "/api/tags", "pia", object{"name": "VIP"})
	const all = "/api/bulk-actions"
	one := e.store.SubscriptionIDs(e.list).Of("reader1@d1.example")
	many := make([]string, core.MaxBulkIDs+1)
	for i := range many {
		many[i] = core.NewID()
	}
	for _, tt := range []struct {
		as     string
		body   object
		status int
		field  any
	}{
		{"adi", object{"action": "unsubscribe"}, 400, "rule"},
		{"adi", object{"action": "unsubscribe", "ids": []string{}}, 400, "rule"},
		{"adi", object{"action": "unsubscribe", "ids": []string{one}, "rule": domains(1)}, 400, "rule"},
		{"adi", object{"action": "unsubscribe", "rule": object{"all": []object{}}}, 400, "rule.all"},
		{"adi", object{"action": "unsubscribe", "ids": []string{one, one}}, 400, "ids"},
		{"adi", object{"action": "unsubscribe", "ids": many}, 400, "ids"},
		{"adi", object{"action": "unsubscribe", "ids": []string{one}, "segment": "x"}, 400, "segment"},
		{"adi", object{"action": "unsubscribe", "ids": []string{one}, "tag": "VIP"}, 400, "tag"},
		{"adi", object{"action": "erase", "ids": []string{one}}, 400, "action"},
		{"pia", object{"action": "tag", "ids": []string{one}}, 400, "tag"},
		{"pia", object{"action": "untag", "ids": []string{one}, "tag": "Typo"}, 400, "tag"},
		{"pia", object{"action": "unsubscribe", "ids": []string{one}}, 403, nil},
		{"pia", object{"action": "remove", "ids": []string{one}}, 403, nil},
		{"ed", object{"action": "tag", "ids": []string{one}, "tag": "VIP"}, 403, nil},
		{"oth", object{"action": "unsubscribe", "ids": []string{one}}, 404, nil},
	} {
		tt.body["list_id"] = e.list
		if fault := e.call(tt.status, "POST", all, tt.as, tt.body); fault["field"] != tt.field {
			t.Errorf("%s, %v: %v", tt.as, tt.body, fault)
		}
	}
	if n, err := e.store.BulkActions(t.Context(), e.list, core.Page{Limit: 1}); err != nil || len(n) > 0 {
		t.Fatal(n, err)
	}

	// A publisher can undo tags, but not what an administrator did.
	start := func(as, action string) string {
		body := object{"list_id": e.list, "action": action, "ids": []string{one}}
		if core.BulkTags(action) {
			body["tag"] = "vip"
		}
		return all + "/" + e.call(202, "POST", all, as, body)["id"].(string)
	}
	for _, action := range slices.Backward(core.BulkKinds) {
		at, status := start("adi", action), 403
		if core.BulkTags(action) {
			status = 200
		}
		e.call(404, "GET", at, "oth", nil)
		e.call(404, "POST", at+"/cancel", "oth", nil)
		e.call(404, "POST", at+"/undo", "oth", nil)
		e.call(status, "POST", at+"/cancel", "pia", nil)
	}
}
