package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"newsletterd/core"
)

// TestFieldsBefore checks that the members that an import replaced are restored unless they changed since.
func TestFieldsBefore(t *testing.T) {
	long := `"` + strings.Repeat("x", core.MaxPreferences-20) + `"`
	for _, c := range []struct{ was, made, now, want core.Preferences }{
		{`{"city":"Ulm"}`, `{"city":"Bonn"}`, `{"city":"Bonn"}`, `{"city":"Ulm"}`},
		{`{"city":"Ulm"}`, `{"city":"Bonn"}`, `{"city":"Köln"}`, `{"city":"Köln"}`},
		{`{"city":"Ulm"}`, `{"city":"Bonn"}`, `{}`, `{}`},
		{
			`{"a":1,"city":"Ulm"}`, `{"a":2,"b":[1,2],"city":"Bonn"}`, `{"a":3,"b": [1, 2],"city":"Bonn","d":"D"}`,
			`{"a":3,"city":"Ulm","d":"D"}`,
		},
		{`{"a":"<b>"}`, `{"a":"<i>"}`, `{"a":"\u003ci\u003e"}`, `{"a":"\u003cb\u003e"}`},
		{`{"a":"A","b":"B"}`, `{"b":"B"}`, `{"b":"B"}`, `{"a":"A","b":"B"}`},
		{`{"a":"A","b":"B"}`, `{"b":"B"}`, `{"a":"","b":"B"}`, `{"a":"","b":"B"}`},
		{`{}`, `{"_tracking":true}`, `{"_tracking":true}`, `{}`},
		{`{"_tracking":true,"a":1}`, `{"_tracking":false,"a":2}`, `{"_tracking":false,"a":2}`, `{"_tracking":false,"a":1}`},
		{`{"_tracking":true}`, `{"a":1}`, `{"a":1}`, `{}`},
		{
			core.Preferences(`{"a":` + long + `}`), `{"a":"A"}`, `{"a":"A","b":"And more than has room"}`,
			`{"a":"A","b":"And more than has room"}`,
		},
		{"", `{"a":"A"}`, `{"a":"A"}`, `{}`},
	} {
		f := core.FieldsReplaced(c.was, c.made)
		var kept core.FieldsBefore
		if err := json.Unmarshal([]byte(f.Column()), &kept); err != nil {
			t.Fatal(err)
		}
		if got := kept.Restore(c.now); got != c.want {
			t.Errorf("%.40s became %s, then %s: restored %.60s, want %s", c.was, c.made, c.now, got, c.want)
		}
	}
	if f := core.FieldsReplaced(`{"a":1, "b":2}`, `{"b":2,"a":1}`); f != nil {
		t.Errorf("the same in another order: %v", f)
	}
	first := core.FieldsReplaced(`{"a":"1","b":"1"}`, `{"a":"2","b":"1"}`)
	both := first.Then(core.FieldsReplaced(`{"a":"2","b":"1"}`, `{"a":"3","b":"2"}`))
	if got := both.Restore(`{"a":"3","b":"2"}`); got != `{"a":"1","b":"1"}` {
		t.Errorf("after two rows: %s", got)
	}
}
