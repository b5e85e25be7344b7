package handlers

import (
	"testing"

	"newsletterd/store/db/dbtest"
)

// The audience of a long list is estimated from a sample if the request asks for it, and counted otherwise. The list
// has 28,800 people by its counts, of whom the sample is stored. Every second one is in the segment.
func TestAnAudienceIsEstimatedOnRequest(t *testing.T) {
	e := newCountedEnv(t)
	sql := func(query string, args ...any) { dbtest.SQL(e.store.DB, query, args...) }
	sql("DELETE FROM subscriber")
	sql(`INSERT INTO subscriber (list_id, id, email_key, email, word, word_at, preferences, created_at, changed_at)
		WITH RECURSIVE n (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < 599)
		SELECT ?1, printf('%08x-%04d', (k % 16 << 28) + k / 16 * 1000, k), concat('r', k, '@d', k % 2, '.example'),
		concat('r', k, '@d', k % 2, '.example'), 'active', 0, '{}', 0, 0 FROM n`, e.list)
	sql("UPDATE list_count SET active = 28800, mailable = 28800 WHERE list_id = ?", e.list)
	half := e.call(201, "POST", "/api/segments", "pia", object{"name": "Half", "rule": domains(1)})["id"].(string)
	made := e.call(201, "POST", "/api/campaigns", "pia",
		object{"list_ids": []string{e.list}, "subject": "News", "segment_id": half})["id"].(string)
	path := "/api/campaigns/" + made + "/audience"
	to := e.call(200, "GET", path+"?estimate=true", "pia", nil)
	if to["about"] != true || to["recipients"] != 14400.0 || to["outside"] != 14400.0 || to["active"] != 28800.0 {
		t.Errorf("an estimate: %v", to)
	}
	for _, query := range []string{"", "?estimate=false"} {
		if to = e.call(200, "GET", path+query, "pia", nil); to["about"] != nil || to["recipients"] != 300.0 {
			t.Errorf("a count: %v", to)
		}
	}
}
