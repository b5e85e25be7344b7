package console

import (
	"regexp"
	"strings"
	"testing"

	"newsletterd/core"
)

// The accent color of dark pages is readable and keeps its hue, whatever the tenant's color.
func TestLighterAccent(t *testing.T) {
	for _, c := range []struct{ of, want string }{
		{"#1d6b52", "#51c59f"},
		{"#000000", "#9b9b9b"},
		{"#808080", "#bcbcbc"},
		{"#ffffff", "#ffffff"},
		{"#ffee00", "#e7e4b7"},
		{"#aa0000", "#db9494"},
		{"#0000ff", "#9e9ede"},
	} {
		accent, _ := core.ParseColor(c.of)
		ground := paperDark.Mix(accent, 2*tint)
		got := lighter(accent, ground, textContrast)
		if got.String() != c.want || got.Contrast(ground) < 6.5 {
			t.Errorf("%s: %s on %s, %.1f", c.of, got, ground, got.Contrast(ground))
		}
	}
}

// Colors that show a state don't depend on the tenant's color. Otherwise, a red one would look like a failure.
func TestStatesAreNotInTheColourOfTheTenant(t *testing.T) {
	rules := regexp.MustCompile(`(?m)^(\.progress|\.banner|\.badge\.live)\b.*?\{.*?\}`).FindAllString(styleSheet, -1)
	if len(rules) < 8 {
		t.Fatalf("%d rules", len(rules))
	}
	for _, rule := range rules {
		if strings.Contains(rule, "--accent") {
			t.Error(rule)
		}
	}
}
