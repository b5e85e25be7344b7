package markup

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Each built-in theme can be read: in light and dark surroundings, and where a mail program inverts its colours.
func TestThemesCanBeRead(t *testing.T) {
	for _, theme := range themes {
		if err := theme.Check(); err != nil {
			t.Error(theme.Name, err)
		}
		for _, fault := range unreadable(&theme) {
			t.Error(fault)
		}
	}
}

// A colour of the tenant's own changes that for no theme, whatever it is, and stands as it is where it can.
func TestBrandsCanBeRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		theme := rapid.SampledFrom(themes[:]).Draw(t, "theme")
		own := theme.WithBrand(fmt.Sprintf("#%06x", rapid.IntRange(0, 1<<24-1).Draw(t, "colour")))
		if err := own.Check(); err != nil {
			t.Error(err)
		}
		for _, fault := range unreadable(own) {
			t.Error(fault)
		}
	})
	if own := themes[0].WithBrand("#7a1f3d"); own.Light.Link != "#7a1f3d" || own.Light.Accent != "#7a1f3d" {
		t.Errorf("%+v", own.Light)
	}
	if own := themes[0].WithBrand("red"); own.Light != themes[0].Light {
		t.Errorf("%+v", own.Light)
	}
}

// unreadable returns what of a theme can't be read.
func unreadable(theme *Theme) (out []string) {
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
			if !readable(color(pair[0]), color(pair[1])) {
				out = append(out, fmt.Sprintf("%s, %s: %s on %s", theme.Name, side, pair[0], pair[1]))
			}
		}
		for name, c := range p.named() {
			if c == "#ffffff" || c == "#000000" {
				out = append(out, fmt.Sprintf("%s, %s.%s is %s", theme.Name, side, name, c))
			}
		}
	}
	return out
}
