package console

import (
	"encoding/json"
	"testing"

	"newsletterd/core"
)

// The dialog that inserts a field starts with the first name, because emails do. Other fields keep their order.
func TestNamesAreOfferedFirst(t *testing.T) {
	p := &Page{Lang: "en"}
	var all []fieldChoice
	known := []core.FieldCoverage{{Name: "city"}, {Name: "country"}, {Name: "last_name"}, {Name: "Vorname"}}
	if err := json.Unmarshal([]byte(p.fieldChoices(known, nil).String()), &all); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range all {
		got += f.Name + " "
	}
	if want := "preferences.Vorname preferences.first_name preferences.last_name preferences.city preferences.country email "; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
