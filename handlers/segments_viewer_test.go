package handlers

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db/dbtest"
)

// A viewer tries to find out something about one person, reader7@d7.example, directly. All attempts fail, and the
// responses don't depend on whether the person exists.
func TestAViewerAsksAboutAPerson(t *testing.T) {
	e := newCountedEnv(t)
	e.call(201, "POST", "/api/tags", "pia", object{"name": "VIP"})
	saved := e.call(201, "POST", "/api/segments", "pia", object{"name": "Saved", "rule": domains(7)})["id"].(string)
	person := e.store.SubscriptionIDs(e.list).Of("reader7@d7.example")
	for _, rule := range []object{
		domains(7),
		{"field": "plan", "is": "secret"},
		{"field": "email", "is": "reader7@d7.example"},
		{"tag": "VIP"},
		{"any": []object{domains(upTo(30)...), {"field": "first_name", "starts_with": "R"}}},
		{"segment": saved},
	} {
		for path, body := range map[string]object{
			"/api/segment-count": {"list_ids": []string{e.list}, "rule": rule},
			"/api/segments":      {"name": "Mine", "rule": rule},
			"/api/bulk-actions":  {"list_id": e.list, "action": "tag", "tag": "VIP", "rule": rule},
		} {
			if rule["field"] != "email" { // not a field at all
				e.call(403, "POST", path, "vic", body)
			}
		}
		for _, way := range []string{"search", "export"} {
			if rule["field"] != "email" {
				e.call(403, "POST", "/api/admin/subscribers/"+way, "vic", object{"list_id": e.list, "rule": rule})
			}
		}
	}
	e.call(403, "PUT", "/api/segments/"+saved, "vic", object{"rule": domains(8)})
	for _, path := range []string{
		"/api/segments/" + saved + "/people?list_id=" + e.list,
		"/api/segments/" + saved + "/people/" + person + "/why?list_id=" + e.list,
	} {
		if res, b := e.ask("GET", path, "vic", nil); res.StatusCode != 403 && res.StatusCode != 404 {
			t.Errorf("%s: %d %s", path, res.StatusCode, b)
		}
	}
	for _, narrow := range []string{
		"email=%s", "email_prefix=%s", "search=%s", "field=plan&value=%s", "email_prefix=r&search=%s",
	} {
		var bodies []string
		for _, email := range []string{"reader7@d7.example", "reader7@none.example"} {
			path := "/api/admin/subscribers?list_id=" + e.list + "&" + fmt.Sprintf(narrow, url.QueryEscape(email))
			res, b := e.ask("GET", path, "vic", nil)
			bodies = append(bodies, fmt.Sprint(res.StatusCode, requestID.ReplaceAllString(string(b), "")))
		}
		if bodies[0] != bodies[1] || strings.Contains(bodies[0], "reader7") {
			t.Errorf("%s: %v", narrow, bodies)
		}
	}
}

// viewed returns everything that a viewer sees about a segment, and an editor about a campaign to it.
func (e *countedEnv) viewed(segment, campaign string, lists ...string) string {
	e.t.Helper()
	var out []any
	for n := range lists {
		got := e.call(200, "POST", "/api/segment-count", "vic",
			object{"list_ids": lists[:n+1], "segment_id": segment, "exact": n%2 == 0})
		delete(got, "as_of")
		out = append(out, got)
	}
	for _, query := range []string{"", "?estimate=true"} {
		got := e.call(200, "GET", "/api/campaigns/"+campaign+"/audience"+query, "ed", nil)
		delete(got, "as_of")
		out = append(out, got)
	}
	return fmt.Sprint(out)
}

// A viewer and an editor compare what they can see with and without one person: by a field, a tag and a domain, on one
// list and on two, and in groups of all sizes. Responses differ only where a count crosses the border of a range.
func TestAViewerComparesCounts(t *testing.T) {
	e := newCountedEnv(t)
	e.step("list solo tenant=acme")
	e.step("subscriber alone list=solo email=reader7@d7.example")
	vip := e.call(201, "POST", "/api/tags", "pia", object{"name": "VIP"})["id"].(string)
	id := e.store.SubscriptionIDs(e.list).Of("reader7@d7.example")
	lists := []string{e.list, e.value("solo")}
	sql := func(query string, args ...any) { dbtest.SQL(e.store.DB, query, args...) }
	for name, way := range map[string]struct {
		hers object // matches this person or no one
		set  func(on bool)
	}{
		"field": {object{"field": "plan", "is": "secret"}, func(on bool) {
			plan := map[bool]string{true: `{"plan":"secret"}`, false: `{"plan":"open"}`}[on]
			sql("UPDATE subscriber SET preferences = ? WHERE email_key = 'reader7@d7.example'", plan)
		}},
		"tag": {object{"tag": "VIP"}, func(on bool) {
			sql("DELETE FROM tagged")
			if on {
				sql("INSERT INTO tagged (list_id, id, tag_no, at) SELECT ?, ?, no, 1 FROM tag WHERE id = ?",
					e.list, id, vip)
			}
		}},
		"domain": {domains(7), nil},
	} {
		made := func(rule object) (segment, campaign string) {
			segment = e.call(201, "POST", "/api/segments", "pia",
				object{"name": core.NewID(), "rule": rule})["id"].(string)
			campaign = e.call(201, "POST", "/api/campaigns", "pia",
				object{"list_ids": lists, "subject": "News", "segment_id": segment})["id"].(string)
			return segment, campaign
		}
		segment, campaign := made(way.hers)
		differ := 0
		for n := range 52 { // other people in the group
			var others []int
			for k := 0; len(others) < n; k++ {
				if k != 7 {
					others = append(others, k)
				}
			}
			without := domains(append(others, 999)...) // no one has the number 999
			with := object{"any": []object{without, way.hers}}
			var seen []string
			for _, on := range []bool{true, false} {
				rule := with
				if way.set == nil && !on {
					rule = without
				} else if way.set != nil {
					way.set(on)
				}
				e.call(200, "PUT", "/api/segments/"+segment, "pia", object{"rule": rule})
				seen = append(seen, e.viewed(segment, campaign, lists...))
			}
			if seen[0] == seen[1] {
				continue
			}
			if differ++; n < 19 {
				t.Errorf("%s: %d others, with the person: %s\nwithout: %s", name, n, seen[0], seen[1])
			}
		}
		if differ == 0 || differ > 4 { // the ranges below 52 have four borders
			t.Errorf("%s: with and without the person, %d of 52 groups differ", name, differ)
		}
	}
}
