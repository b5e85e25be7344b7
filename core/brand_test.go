package core

import (
	"strings"
	"testing"
)

// TestBrandName checks that a brand name used in the daemon's own emails contains no address.
func TestBrandName(t *testing.T) {
	for name, fine := range map[string]bool{
		"": true, "Acme Gardens": true, "Dr. Oetker": true, "U.S. News": true, "Müller & Söhne": true,
		"Version 2.0": true,
		"1. FC Köln":  true, "A/B": true, "株式会社": true,
		"Sicherheit! Öffnen Sie http://evil.example/x": false, "evil.example": false, "Open WWW.evil now": false,
		"see evil.example/x": false, "a@b": false, "//evil": false, "3m.com": false, "123.de": false,
		"evil。example": false,
		"evil.e-x":     false, "ev\u200bil": false, "a\u202eb": false, "bücher.example": false, "t.me/x": false,
		strings.Repeat("ä", 60): true, strings.Repeat("ä", 61): false,
	} {
		tenant, err := NewTenant(TenantInput{Name: new("Acme"), BrandName: &name}, 1)
		if (err == nil) != fine {
			t.Errorf("%q: %v", name, err)
		}
		if e, ok := err.(*Error); err != nil && (!ok || e.Field != "brand_name") {
			t.Errorf("%q: %+v", name, err)
		}
		tenant = Tenant{Name: "Acme", Status: TenantActive, Approval: ApprovalNone, BrandName: name}
		if got := tenant.AccountBrand(); (got == name) != (fine && name != "") || got != name && got != "Acme" {
			t.Errorf("%q is shown as %q", name, got)
		}
		if err := tenant.Change(TenantInput{Language: new("de"), BrandName: &name}, true, 1); err != nil &&
			strings.TrimSpace(name) == name &&
			!strings.ContainsAny(name, "\n") {
			t.Errorf("%q from before keeps a tenant from being changed: %v", name, err)
		}
	}
	if got := (&Tenant{Name: "acme.example"}).AccountBrand(); got != "" {
		t.Errorf("a name like a host is shown as %q", got)
	}
}

// TestPublicURLOfAdministrators checks that only operators can set a public URL whose host is not one of the tenant's
// domains.
func TestPublicURLOfAdministrators(t *testing.T) {
	for origin, fine := range map[string]bool{
		"": true, "https://acme.example": true, "https://News.Acme.example:8443": true, "https://acme.example.": false,
		"https://squat.example": false, "https://notacme.example": false, "https://acme.example.evil.example": false,
		"https://10.0.0.1": false,
	} {
		for _, operator := range []bool{true, false} {
			tenant, err := NewTenant(TenantInput{Name: new("A"), Domains: &[]string{"acme.example"}}, 1)
			if err != nil {
				t.Fatal(err)
			}
			err = tenant.Change(TenantInput{PublicURL: &origin}, operator, 2)
			if operator && strings.HasSuffix(origin, ".") {
				continue
			}
			if (err == nil) != (fine || operator) {
				t.Errorf("%q, operator %v: %v", origin, operator, err)
			}
		}
	}
}
