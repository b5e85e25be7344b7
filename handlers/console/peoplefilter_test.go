package console

import (
	"encoding/json"
	"testing"

	"newsletterd/core"
)

// TestFilterOfAFieldIsARule checks that the page finds people with the same rule with which an action changes them, and
// that only the values of a checkbox can mean no.
func TestFilterOfAFieldIsARule(t *testing.T) {
	for _, c := range []struct {
		f     peopleFilter
		ruled bool
		want  string
	}{
		{
			peopleFilter{Status: core.SubscriptionActive, Field: "city", Value: "Berlin"},
			true,
			`{"field":"city","is":"Berlin"}`,
		},
		{peopleFilter{Status: core.SubscriptionActive, Field: "city"}, true, `{"field":"city","missing":true}`},
		{peopleFilter{Field: "city", Value: "Berlin"}, false, `{"field":"city","is":"Berlin"}`},
		{
			peopleFilter{Tagged: "T", Field: "vip", Value: "1", boolean: true},
			true,
			`{"all":[{"tag":"T"},{"field":"vip","is":true}]}`,
		},
		{
			peopleFilter{Status: core.SubscriptionActive, Field: "vip", Value: "0", boolean: true},
			true,
			`{"field":"vip","is":false}`,
		},
		{
			peopleFilter{Status: core.SubscriptionActive, Field: "vip", Value: "yes", boolean: true},
			true,
			`{"field":"vip","is":"yes"}`,
		},
		{peopleFilter{Answered: "C.2.a.b"}, true, `{"is":["a.b"],"poll":{"campaign":"C","number":2}}`},
	} {
		got, err := json.Marshal(c.f.whom(map[string]any{})["rule"])
		if err != nil || string(got) != c.want || c.f.ruled() != c.ruled {
			t.Errorf("%+v: %s, %v, by a rule: %t", c.f, got, err, c.f.ruled())
		}
	}
}
