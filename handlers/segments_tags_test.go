package handlers

import (
	"fmt"
	"testing"
)

// A publisher adds and removes some tags of a person, whose other tags stay.
func TestSomeTagsOfAPerson(t *testing.T) {
	e := newCountedEnv(t)
	for _, name := range []string{"VIP", "Press", "Old"} {
		e.call(201, "POST", "/api/tags", "pia", object{"name": name})
	}
	at := "/api/admin/subscribers/" + e.store.SubscriptionIDs(e.list).Of("reader1@d1.example") + "/tags"
	for _, step := range []struct {
		body object
		want string
	}{
		{object{"add": []string{"vip", "Old"}}, "[Old VIP]"},
		{object{"add": []string{"Press", "VIP"}, "remove": []string{"OLD"}}, "[Press VIP]"},
		{object{"remove": []string{"Old"}}, "[Press VIP]"},
		{object{}, "[Press VIP]"},
	} {
		if got := fmt.Sprint(e.call(200, "PATCH", at, "pia", step.body)["tags"]); got != step.want {
			t.Errorf("%v: the tags are %s, want %s", step.body, got, step.want)
		}
	}
	if fault := e.call(400, "PATCH", at, "pia", object{"add": []string{"Typo"}}); fault["field"] != "add" {
		t.Errorf("an unknown tag to add: %v", fault)
	}
	if fault := e.call(400, "PATCH", at, "pia", object{"remove": []string{"Typo"}}); fault["field"] != "remove" {
		t.Errorf("an unknown tag to remove: %v", fault)
	}
	if fault := e.call(400, "PATCH", at, "pia", object{"tags": []string{"VIP"}}); fault["field"] != "tags" {
		t.Errorf("a key of PUT: %v", fault)
	}
	e.call(404, "PATCH", at, "ed", object{"remove": []string{"VIP"}})
}
