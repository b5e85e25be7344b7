package core

import "slices"

// MaxTestAddresses is the maximum number of addresses in a tenant's or a campaign's test group.
const MaxTestAddresses = 20

// checkTestGroup validates and normalizes a test group's addresses and removes duplicates.
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

// Tests reports whether the tenant's test group contains an address.
func (t *Tenant) Tests(email Email) bool { return holdsAddress(t.TestAddresses, email) }

// TestGroup returns the default recipients for a campaign's test emails: its own test group or, if that is empty, the
// tenant's.
func (f *CampaignFields) TestGroup(t *Tenant) []string {
	if len(f.TestAddresses) > 0 {
		return f.TestAddresses
	}
	return t.TestAddresses
}
