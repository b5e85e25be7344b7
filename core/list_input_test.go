package core

import (
	"reflect"
	"strings"
	"testing"
)

// TestListTakesEachInput checks that each field of ListInput has a field of the same name in List, and that Change sets
// it.
func TestListTakesEachInput(t *testing.T) {
	in := ListInput{
		Status: new(ListInactive), ConfirmToken: new(ConfirmReceipt), Language: new("de"),
		Fields:    &[]Field{{Name: "city", Label: "City", Type: "text"}},
		MailTexts: &MailTexts{Confirm: &MailText{Subject: "Please confirm"}},
	}
	v := reflect.ValueOf(&in).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		value := reflect.New(f.Type.Elem())
		switch kind := value.Elem().Kind(); {
		case !v.FieldByIndex(f.Index).IsNil():
			continue
		case kind == reflect.Bool:
			value.Elem().SetBool(true)
		case kind == reflect.String && strings.HasSuffix(f.Name, "URL"):
			value.Elem().SetString("https://acme.example/")
		case kind == reflect.String:
			value.Elem().SetString("a")
		default:
			t.Fatalf("%s: give it a valid value at the top of this test", f.Name)
		}
		v.FieldByIndex(f.Index).Set(value)
	}
	l := List{ID: "a", TenantID: "a"}
	if err := l.Change(in, 1); err != nil {
		t.Fatal(err)
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if got := reflect.ValueOf(l).FieldByName(f.Name); !got.IsValid() || got.IsZero() {
			t.Errorf("Change ignores ListInput.%s, or List has no such field", f.Name)
		}
	}
}
