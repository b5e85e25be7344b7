package core

import (
	"strings"
	"testing"
)

func TestFieldsOfTheTeam(t *testing.T) {
	fields := Fields{
		{Name: "city", SetBy: SetBySubscriber}, {Name: "vip", SetBy: SetByTeam}, {Name: "level", SetBy: SetByTeam},
	}
	long := Preferences(`{"city":"` + strings.Repeat("x", MaxPreferences-20) + `"}`)
	for _, c := range []struct{ was, by, want Preferences }{
		{`{}`, `{"n": 1.50}`, `{"n": 1.50}`}, // unchanged text
		{`{}`, `{"vip":true,"n":1.50}`, `{"n":1.50}`},
		{``, `{"vip":null}`, `{}`},
		{`{"vip":true}`, `{"vip":false,"city":"Ulm"}`, `{"city":"Ulm","vip":true}`},
		{`{"vip":true}`, `{"v\u0069p":false,"level":9}`, `{"vip":true}`},
		{`{"vip":true}`, ``, `{"vip":true}`},
		{`{"vip":true,"a":1}`, `{"vip":true, "b":2}`, `{"vip":true, "b":2}`},
		{`{"vip":{"x":[1.0]}}`, `{}`, `{"vip":{"x":[1.0]}}`},
		{`{"level":"gold member"}`, long, `{"level":"gold member"}`},
		{`no object`, `{"vip":1}`, `{}`},
	} {
		if got := fields.Guarded(c.was, c.by); got != c.want {
			t.Errorf("%.40s replaced by %.40s: %.60s", c.was, c.by, got)
		}
		if got := fields.Open().Guarded(c.was, c.by); got != c.by {
			t.Errorf("%.40s replaced by %.40s without fields of the team: %.60s", c.was, c.by, got)
		}
	}
	if open := fields.Open(); len(open) != 1 || open[0].Name != "city" || len(fields) != 3 {
		t.Errorf("%v of %v", open, fields)
	}
}

// TestSetByIsKept checks that a field of the team stays one if a program changes it without SetBy.
func TestSetByIsKept(t *testing.T) {
	l, err := NewList(ListInput{TenantID: new("t"), Name: new("News"), Fields: &[]Field{
		{Name: "vip", Label: "VIP", Type: FieldBoolean, SetBy: SetByTeam},
		{Name: "city", Label: "City", Type: FieldText},
	}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Change(ListInput{Fields: &[]Field{
		{Name: "city", Label: "Town", Type: FieldText},
		{Name: "vip", Label: "Special", Type: FieldBoolean},
		{Name: "new", Label: "New", Type: FieldText},
	}}, 2)
	if err != nil || l.Fields[0].SetBy != SetBySubscriber || l.Fields[1].SetBy != SetByTeam ||
		l.Fields[2].SetBy != SetBySubscriber {
		t.Errorf("%+v, %v", l.Fields, err)
	}
	var older Fields
	if err := older.Scan(`[{"name":"city","label":"City","type":"text","required":false}]`); err != nil ||
		older[0].SetBy != SetBySubscriber {
		t.Errorf("%+v, %v", older, err)
	}
}
