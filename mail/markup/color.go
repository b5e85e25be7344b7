package markup

import "newsletterd/core"

// color parses a theme color that Check has accepted.
func color(s string) core.Color {
	c, _ := core.ParseColor(s)
	return c
}

// WithBrand returns the theme with a brand color of the form #rrggbb for links, buttons and bars. If text would not be
// readable, it uses the nearest readable shade. For any other string, it returns the theme unchanged.
func (t *Theme) WithBrand(brand string) *Theme {
	own := *t
	if c, ok := core.ParseColor(brand); ok {
		own.Light = Palette(core.ThemeColors(t.Light).WithBrand(c))
		own.Dark = Palette(core.ThemeColors(t.Dark).WithBrand(c))
	}
	return &own
}
