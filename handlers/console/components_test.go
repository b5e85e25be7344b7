package console

import "testing"

// A list shows what a reader without a name would get.
func TestPlain(t *testing.T) {
	for _, c := range []struct{ of, want string }{
		{"News of May", "News of May"},
		{`Hello {{preferences.first_name | default: "friend"}}`, "Hello friend"},
		{"Hello {{ preferences.first_name }}, {{list.name}}", "Hello [first_name], [list.name]"},
		{"{{", "{{"},
	} {
		if got := plain(c.of); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
