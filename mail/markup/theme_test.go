package markup

import (
	"fmt"
	"strconv"
	"testing"
)

// Each built-in theme can be read: in light and dark surroundings, and where a mail program inverts its colours.
func TestThemesCanBeRead(t *testing.T) {
	for _, theme := range themes {
		if err := theme.Check(); err != nil {
			t.Error(theme.Name, err)
		}
		for side, p := range map[string]*Palette{"light": &theme.Light, "dark": &theme.Dark} {
			for _, pair := range [][2]string{
				{p.Text, p.Card},
				{p.Title, p.Card},
				{p.Muted, p.Card},
				{p.Link, p.Card},
				{p.On, p.Accent},
				{p.Text, p.Tint},
				{p.Title, p.Tint},
				{p.Link, p.Tint},
				{p.Muted, p.Tint},
			} {
				if c := Contrast(pair[0], pair[1]); c < 4.5 {
					t.Errorf("%s, %s: %s on %s: %.2f", theme.Name, side, pair[0], pair[1], c)
				}
				if c := Contrast(inverted(pair[0]), inverted(pair[1])); c < 4.5 {
					t.Errorf("%s, %s inverted: %s on %s: %.2f", theme.Name, side, pair[0], pair[1], c)
				}
			}
			for name, c := range p.named() {
				if c == "#ffffff" || c == "#000000" {
					t.Errorf("%s, %s.%s is %s", theme.Name, side, name, c)
				}
			}
		}
	}
	if c := Contrast("#000000", "#ffffff"); c != 21 {
		t.Error(c)
	}
}

// inverted is a colour of the opposite lightness and the same hue, as programs make it for dark surroundings.
func inverted(c string) string {
	n, _ := strconv.ParseUint(c[1:], 16, 32)
	r, g, b := int(n>>16), int(n>>8&255), int(n&255)
	shift := 255 - max(r, g, b) - min(r, g, b)
	return fmt.Sprintf("#%02x%02x%02x", r+shift, g+shift, b+shift)
}
