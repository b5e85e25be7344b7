package console

import "testing"

// A list shows what a subscriber without a name would get, or the meaning of a placeholder.
func TestListed(t *testing.T) {
	p := &Page{Lang: "en"}
	for _, c := range []struct{ of, want string }{
		{"News of May", "News of May"},
		{`Hello {{preferences.first_name | default: "friend"}}`, "Hello friend"},
		{`Hello{{- preferences.first_name | default: ', friend' -}}`, "Hello, friend"},
		{`Hello{{ preferences.first_name | default: "" }}`, "Hello"},
		{"Hello {{ preferences.first_name }}, {{list.name}}", "Hello [First name], [list.name]"},
		{"{{", "{{"},
	} {
		if got := p.Listed(c.of); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
