package core

import "testing"

func TestPlaceholders(t *testing.T) {
	fill := Placeholders("{{a}}", "Sonnenhang e. V.", "{{b}}", "Anna", "{{c}}", "{{a}}.")
	for text, want := range map[string]string{
		"From {{a}}.":             "From Sonnenhang e. V.",
		"From {{a}}. To {{b}}.":   "From Sonnenhang e. V. To Anna.",
		"From {{a}}, “{{a}}”.":    "From Sonnenhang e. V., “Sonnenhang e. V.”.",
		"{{c}} values stay {{d}}": "{{a}}. values stay {{d}}",
	} {
		if got := fill.Replace(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
