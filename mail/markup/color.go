package markup

import "newsletterd/core"

// readable reports whether a text is readable on a color (WCAG 2.2: 4.5 to 1), and stays so if an email program inverts
// both colors.
func readable(text, on core.Color) bool {
	return text.Contrast(on) >= 4.5 && text.Inverted().Contrast(on.Inverted()) >= 4.5
}

// color parses a color of a theme that Check has accepted.
func color(s string) core.Color {
	c, _ := core.ParseColor(s)
	return c
}

// WithBrand returns the theme with a color of the form #rrggbb for links, buttons and bars. If text is not readable
// on it, the nearest readable shade is used. For any other text, it returns the theme unchanged.
func (t *Theme) WithBrand(brand string) *Theme {
	own := *t
	if c, ok := core.ParseColor(brand); ok {
		switch c { // email programs don't invert these two, or make them glaring
		case core.Black:
			c = core.Color{0x12, 0x12, 0x12}
		case core.White:
			c = core.Color{0xf7, 0xf7, 0xf7}
		}
		own.Light.brand(c)
		own.Dark.brand(c)
	}
	return &own
}

// brand sets the nearest readable shades of a color in the palette.
func (p *Palette) brand(brand core.Color) {
	const steps = 64
	card, tint, title := color(p.Card), color(p.Tint), color(p.Title)
	link := brand
	for i := 1; i <= steps && !(readable(link, card) && readable(link, tint)); i++ {
		link = brand.Mix(title, float64(i)/steps)
	}
	p.Link = link.String()
	for i := range steps + 1 {
		accent := brand.Mix(link, float64(i)/steps)
		for _, on := range []core.Color{card, title} {
			if readable(on, accent) {
				p.Accent, p.On = accent.String(), on.String()
				return
			}
		}
	}
}
