package markup

import "newsletterd/core"

// readable reports whether a text can be read on a colour (WCAG 2.2: 4.5 to 1), and also where a mail program inverts
// both.
func readable(text, on core.Color) bool {
	return text.Contrast(on) >= 4.5 && text.Inverted().Contrast(on.Inverted()) >= 4.5
}

// color reads a colour of a theme, which Check has seen.
func color(s string) core.Color {
	c, _ := core.ParseColor(s)
	return c
}

// WithBrand returns the theme with a colour of the form #rrggbb for links, buttons and bars. Where it can't be read,
// the nearest shade that can is taken. Any other text changes nothing.
func (t *Theme) WithBrand(brand string) *Theme {
	own := *t
	if c, ok := core.ParseColor(brand); ok {
		switch c { // mail programs leave these two, or turn them glaring
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

// brand puts shades of a colour, the nearest that can be read, into the palette.
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
