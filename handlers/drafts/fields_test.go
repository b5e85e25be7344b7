package drafts

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail"
)

// In a long list, only the newest subscribers are checked, and the finding says so.
func TestFindingOfFieldsOfMany(t *testing.T) {
	f := core.CampaignFields{Content: core.CampaignContent{Source: "a\n{{ preferences.city }}"}}
	found := fieldFinding(&f, mail.UsedField{Name: "preferences.city", Part: "content.source"},
		&core.FieldCoverage{Name: "city", Known: 990, Readers: 1000}, false)
	if found.Where.Line != 2 || !strings.HasPrefix(found.Message, "10 of the 1000 newest ") {
		t.Errorf("%+v", found)
	}
}
