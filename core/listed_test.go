package core

import "testing"

func TestNamedTextKeepsNames(t *testing.T) {
	if got := NamedText(`Hi {{preferences.first_name | default: "you"}}`); got != "Hi [first name]" {
		t.Error(got)
	}
}

func TestListedTextHasNoPlaceholders(t *testing.T) {
	for of, want := range map[string]string{
		"News of May": "News of May",
		`Hello {{preferences.first_name | default: "friend"}}`: "Hello friend",
		"{{ preferences.first_name }}, {{ email }}":            "[first name], [email]",
		"{{ nothing }} {{": "{{ nothing }} {{",
	} {
		if got := ListedText(of, nil); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
