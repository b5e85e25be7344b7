package drafts

import (
	"testing"

	"newsletterd/core"
	"newsletterd/mail"
)

// Of a long list the newest readers are looked at, and the finding says so.
func TestFindingOfFieldsOfMany(t *testing.T) {
	f := core.CampaignFields{Content: core.CampaignContent{Source: "a\n{{ preferences.city }}"}}
	found := fieldFinding(&f, mail.UsedField{Name: "preferences.city", Part: "content.source"},
		&core.FieldCoverage{Name: "city", Known: 990, Readers: 1000}, false)
	if found.Where.Line != 2 || found.Message != "10 of 1000 readers that were looked at, the newest ones, "+
		"have no preferences.city and read nothing there." {
		t.Errorf("%+v", found)
	}
}
