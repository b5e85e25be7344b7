package markup

import (
	"slices"
	"strings"

	"newsletterd/core"
)

// fontStack is the font stack for a font name in a tenant's theme.
type fontStack struct{ stack, fallback string }

// fontStacks maps the names in core.ThemeFonts to stacks.
var fontStacks = map[string]fontStack{
	"system":    {fontUI, "Arial"},
	"helvetica": {fontSans, "Arial"},
	"verdana":   {"Verdana, Geneva, sans-serif", "Verdana"},
	"trebuchet": {"Trebuchet MS, Verdana, sans-serif", "Verdana"},
	"tahoma":    {"Tahoma, Verdana, Segoe UI, sans-serif", "Tahoma"},
	"georgia":   {fontSerif, "Georgia"},
	"palatino":  {fontOld, "Georgia"},
	"times":     {"Times New Roman, Times, serif", "Times New Roman"},
	"courier":   {"Courier New, Courier, monospace", "Courier New"},
}

// fontWord returns a stack's font name.
func fontWord(stack string) string {
	for _, word := range core.ThemeFonts {
		if fontStacks[word].stack == stack {
			return word
		}
	}
	return core.ThemeFonts[0]
}

// BaseTheme returns a built-in theme with the tenant's color, on which a new theme of the tenant is based. An empty
// name means the first theme. It returns the same error as BuiltInTheme.
func BaseTheme(name string, t *core.Tenant) (core.Theme, error) {
	b, err := BuiltInTheme(name)
	if err != nil {
		return core.Theme{}, core.Invalidf("base", "base must be one of %s.", strings.Join(core.BuiltInThemes, ", "))
	}
	b = b.WithBrand(strings.ToLower(t.BrandColor))
	return core.Theme{
		Base: b.Name, Light: core.ThemeColors(b.Light), Dark: core.ThemeColors(b.Dark), Font: fontWord(b.Body),
		HeadingFont: fontWord(b.Heading), Size: b.Size, HeadingWeight: b.Weight, Width: b.Width, Padding: b.Padding,
		Radius: b.Radius, Masthead: b.Masthead, LogoWidth: LogoWidth,
	}, nil
}

// OwnTheme converts a tenant's theme for use in emails. If text would not be readable in light mode, in dark mode or
// with inverted colors, OwnTheme replaces colors with the nearest readable ones. moved lists the adjusted colors.
func OwnTheme(own *core.Theme) (t *Theme, moved []core.AdjustedColor, err error) {
	base, err := BuiltInTheme(own.Base)
	if err != nil {
		return nil, nil, err
	}
	t = &Theme{
		Name: own.Name, Light: Palette(own.Light), Dark: Palette(own.Dark), Body: fontStacks[own.Font].stack,
		Heading: fontStacks[own.HeadingFont].stack, Fallback: fontStacks[own.Font].fallback, Size: own.Size,
		Radius: own.Radius, Width: own.Width, Padding: own.Padding, Masthead: own.Masthead, Weight: own.HeadingWeight,
	}
	for _, side := range []struct {
		name   string
		p, def *Palette
	}{{"light", &t.Light, &base.Light}, {"dark", &t.Dark, &base.Dark}} {
		chosen := *side.p
		side.p.makeReadable(side.def)
		was, is := chosen.named(), side.p.named()
		for _, name := range colorNames {
			if was[name] != is[name] {
				moved = append(moved, core.AdjustedColor{
					Palette: side.name, Color: name, Chosen: was[name], Used: is[name],
				})
			}
		}
	}
	return t, moved, t.Check()
}

// socialURL returns a footer link's URL in the form used in emails.
func socialURL(raw string) string {
	clean, _ := new(document).cleanURL(raw, true)
	return clean
}

// colorNames lists the names of palette colors, in the order in which OwnTheme returns them.
var colorNames = []string{"page", "card", "text", "title", "muted", "link", "accent", "on", "tint", "line"}

// colorSteps is the number of steps between two colors.
const colorSteps = 64

// toward changes color c step by step into color to, and returns the first color for which ok returns true. If there is
// none, it returns to.
func toward(c, to core.Color, ok func(core.Color) bool) core.Color {
	for i := range colorSteps {
		if m := c.Mix(to, float64(i)/colorSteps); ok(m) {
			return m
		}
	}
	return to
}

// softened replaces pure black and white with close colors, because email clients either don't invert them or make them
// glaring.
func softened(c core.Color) core.Color {
	switch c {
	case core.Black:
		return core.Color{0x12, 0x12, 0x12}
	case core.White:
		return core.Color{0xfd, 0xfd, 0xfd}
	}
	return c
}

// inks lists text colors, at least one of which is readable on most colors.
var inks = []core.Color{{0x14, 0x15, 0x18}, {0xf7, 0xf7, 0xf8}}

// inkOn returns a text color that is readable on all given colors.
func inkOn(on ...core.Color) (ink core.Color, ok bool) {
	for _, ink := range inks {
		if !slices.ContainsFunc(on, func(c core.Color) bool { return !ink.Legible(c) }) {
			return ink, true
		}
	}
	return ink, false
}

// makeReadable adjusts the palette's colors until all text is readable. If that fails, it uses colors from def, a
// readable palette.
func (p *Palette) makeReadable(def *Palette) {
	for _, c := range []*string{&p.Page, &p.Card, &p.Tint, &p.Line, &p.Accent} {
		*c = softened(color(*c)).String()
	}
	hasInk := func(on ...core.Color) func(core.Color) bool {
		return func(c core.Color) bool {
			_, ok := inkOn(append(on, c)...)
			return ok
		}
	}
	card := toward(color(p.Card), color(def.Card), hasInk())
	tint := toward(color(p.Tint), card, hasInk(card))
	ink, ok := inkOn(card, tint)
	if !ok { // can't happen with any palette; a test tries random ones
		*p = *def
		return
	}
	written := func(c core.Color) bool { return c == softened(c) && c.Legible(card) && c.Legible(tint) }
	p.Card, p.Tint = card.String(), tint.String()
	for _, c := range []*string{&p.Text, &p.Title, &p.Muted, &p.Link} {
		*c = toward(color(*c), ink, written).String()
	}
	on := softened(color(p.On))
	accent := toward(color(p.Accent), color(p.Link), func(c core.Color) bool {
		if on.Legible(c) {
			return true
		}
		for _, other := range append(inks, card) {
			if other.Legible(c) {
				on = other
				return true
			}
		}
		return false
	})
	if !on.Legible(accent) {
		on = card // links are readable on the card
	}
	p.Accent, p.On = accent.String(), on.String()
}
