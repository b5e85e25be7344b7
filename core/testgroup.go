package core

import "slices"

// MaxTestAddresses is the maximum number of addresses in the test group of a tenant or a campaign.
const MaxTestAddresses = 20

// checkTestGroup validates and normalizes the addresses of a test group and removes duplicates.
func checkTestGroup(group []string) ([]string, error) {
	if len(group) > MaxTestAddresses {
		return nil, Invalidf("test_addresses", "test_addresses must have at most %d entries. Remove some.",
			MaxTestAddresses)
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

// Tests reports whether an address is in the tenant's test group.
func (t *Tenant) Tests(email Email) bool { return holdsAddress(t.TestAddresses, email) }

// TestGroup returns the default recipients of a campaign's tests: its own test group or, if that is empty, the
// tenant's.
func (f *CampaignFields) TestGroup(t *Tenant) []string {
	if len(f.TestAddresses) > 0 {
		return f.TestAddresses
	}
	return t.TestAddresses
}
