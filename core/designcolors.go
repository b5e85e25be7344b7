package core

// LetterLight and LetterDark are the colors of the first built-in theme.
var (
	LetterLight = ThemeColors{
		Page: "#fdfdfc", Card: "#fdfdfc", Text: "#26272b", Title: "#141518", Muted: "#63656d", Link: "#1e40af",
		Accent: "#1e40af", On: "#fbfcff", Tint: "#f1f3f8", Line: "#dfe2e8",
	}
	LetterDark = ThemeColors{
		Page: "#16171a", Card: "#16171a", Text: "#dcdde1", Title: "#f1f1f3", Muted: "#a0a2aa", Link: "#93b4ff",
		Accent: "#93b4ff", On: "#10131c", Tint: "#22242a", Line: "#383b43",
	}
)

// DesignColors returns the colors of a tenant's design in light and dark mode: those of the first built-in theme, with
// brand as the tenant's color (#rrggbb). For any other string, it returns the theme's own colors. Newsletters in that
// theme, automatic emails and pages share them.
func DesignColors(brand string) (light, dark ThemeColors) {
	if c, ok := ParseColor(brand); ok && brand != LetterLight.Accent {
		return LetterLight.WithBrand(c), LetterDark.WithBrand(c)
	}
	return LetterLight, LetterDark
}

// WithBrand returns the colors with a tenant's color for links, buttons and bars. If text would be unreadable, it uses
// the nearest readable shade.
func (c ThemeColors) WithBrand(brand Color) ThemeColors {
	switch brand { // email programs don't invert these two, or make them glaring
	case Black:
		brand = Color{0x12, 0x12, 0x12}
	case White:
		brand = Color{0xf7, 0xf7, 0xf7}
	}
	const steps = 64
	card, _ := ParseColor(c.Card)
	tint, _ := ParseColor(c.Tint)
	title, _ := ParseColor(c.Title)
	link := brand
	for i := 1; i <= steps && !(link.Legible(card) && link.Legible(tint)); i++ {
		link = brand.Mix(title, float64(i)/steps)
	}
	c.Link = link.String()
	for i := range steps + 1 {
		accent := brand.Mix(link, float64(i)/steps)
		for _, on := range []Color{card, title} {
			if on.Legible(accent) {
				c.Accent, c.On = accent.String(), on.String()
				return c
			}
		}
	}
	return c
}

// Legible reports whether text in the color is readable on another color (WCAG 2.2: 4.5 to 1), even if an email program
// inverts both.
func (c Color) Legible(on Color) bool {
	return c.Contrast(on) >= 4.5 && c.Inverted().Contrast(on.Inverted()) >= 4.5
}
