package core

import (
	"slices"
	"testing"
)

// TestFreeMailSenders checks that a sender at a free mail provider is refused, with the reason, on every field that
// sets a sender.
func TestFreeMailSenders(t *testing.T) {
	if !slices.IsSorted(freeMail) {
		t.Error("the list is not sorted")
	}
	said := func(field string, err error) {
		t.Helper()
		if e, ok := err.(*Error); !ok || e.Kind != Invalid || e.Field != field ||
			e.Message != freeMailSender(field).Message {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, err := NewTenant(TenantInput{
		Name: new("Acme"), Domains: &[]string{"GMail.com"}, MailFrom: new("ann@GMail.com"),
	}, 1)
	said("mail_from", err)
	_, err = ProposeDomain("t", "gmx.de", 1)
	said("domain", err)
	tenant := Tenant{Name: "Acme", Status: TenantActive, Approval: ApprovalNone, Domains: Strings{"acme.example"}}
	said("from_email", (&CampaignFields{FromEmail: "ann@yahoo.de"}).HasSender(&tenant))
	// an existing sender stays valid
	tenant.Domains, tenant.MailFrom = Strings{"gmail.com"}, "ann@gmail.com"
	if err := tenant.Change(TenantInput{Name: new("Other"), MailFrom: new("ann@gmail.com")}, true, 2); err != nil {
		t.Error(err)
	}
	if IsFreeMail("acme.example") || !IsFreeMail("web.de") || !IsFreeMail("126.com") || !IsFreeMail("zoho.com") {
		t.Error("the list can't be searched")
	}
}
