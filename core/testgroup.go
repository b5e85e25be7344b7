package core

import "slices"

// MaxTestAddresses is how many addresses the test group of a tenant or a campaign may have.
const MaxTestAddresses = 20

// checkTestGroup checks the addresses of a test group and brings them into their normal form, each once.
func checkTestGroup(group []string) ([]string, error) {
	if len(group) > MaxTestAddresses {
		return nil, Invalidf("test_addresses", "test_addresses must have at most %d entries.", MaxTestAddresses)
	}
	var checked []string
	for _, address := range group {
		email, err := ParseEmail(address)
		if err != nil {
			return nil, Invalidf("test_addresses", "test_addresses: %q is not a valid email address.", address)
		}
		if !holdsAddress(checked, email) {
			checked = append(checked, string(email))
		}
	}
	return checked, nil
}

func holdsAddress(group []string, email Email) bool {
	return slices.ContainsFunc(group, func(a string) bool { return Email(a).Key() == email.Key() })
}

// Tests reports whether an address is in the test group of the tenant.
func (t *Tenant) Tests(email Email) bool { return holdsAddress(t.TestAddresses, email) }

// TestGroup returns where tests of a campaign go that name no address: its own test group, else that of its tenant.
func (f *CampaignFields) TestGroup(t *Tenant) []string {
	if len(f.TestAddresses) > 0 {
		return f.TestAddresses
	}
	return t.TestAddresses
}
