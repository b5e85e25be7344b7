package markup

import (
	"fmt"
	"slices"
	"strings"

	"newsletterd/core"
)

// fontStack is a stack of fonts that a tenant's theme names by a word.
type fontStack struct{ stack, fallback string }

// fontStacks are the stacks by the words of core.ThemeFonts.
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

// fontWord returns the word of a stack.
func fontWord(stack string) string {
	for _, word := range core.ThemeFonts {
		if fontStacks[word].stack == stack {
			return word
		}
	}
	return core.ThemeFonts[0]
}

// BaseTheme returns the values that a tenant's theme begins with: those of a built-in one (the empty name means the
// first), with the tenant's colour. It returns BuiltInTheme's error.
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

// OwnTheme returns a tenant's theme as mails have it. Colours in which a text can't be read, in light or dark
// surroundings or where a mail program inverts them, are moved to the nearest ones that can; moved says which.
func OwnTheme(own *core.Theme) (t *Theme, moved []string, err error) {
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
				moved = append(moved, fmt.Sprintf("%s.%s: %s can't be read everywhere; mails have %s.", side.name, name,
					was[name], is[name]))
			}
		}
	}
	return t, moved, t.Check()
}

// socialURL is the address of a link in the footer, as mails have it.
func socialURL(raw string) string {
	clean, _ := new(document).cleanURL(raw, true)
	return clean
}

// colorNames are the names of a palette's colours, in the order in which they are told.
var colorNames = []string{"page", "card", "text", "title", "muted", "link", "accent", "on", "tint", "line"}

// colorSteps is in how many steps a colour is moved to another.
const colorSteps = 64

// toward moves a colour to another one, as little as it takes for ok; the other one itself is taken in the end.
func toward(c, to core.Color, ok func(core.Color) bool) core.Color {
	for i := range colorSteps {
		if m := c.Mix(to, float64(i)/colorSteps); ok(m) {
			return m
		}
	}
	return to
}

// softened is a colour that mail programs neither leave as it is nor turn glaring.
func softened(c core.Color) core.Color {
	switch c {
	case core.Black:
		return core.Color{0x12, 0x12, 0x12}
	case core.White:
		return core.Color{0xfd, 0xfd, 0xfd}
	}
	return c
}

// inks are the colours of text that can be read on most others.
var inks = []core.Color{{0x14, 0x15, 0x18}, {0xf7, 0xf7, 0xf8}}

// inkOn returns a colour of text that can be read on all colours.
func inkOn(on ...core.Color) (ink core.Color, ok bool) {
	for _, ink := range inks {
		if !slices.ContainsFunc(on, func(c core.Color) bool { return !readable(ink, c) }) {
			return ink, true
		}
	}
	return ink, false
}

// makeReadable moves the colours of a palette until all that is written in them can be read. def is a palette that can.
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
	if !ok { // of no palette that there is; a test draws them
		*p = *def
		return
	}
	written := func(c core.Color) bool { return c == softened(c) && readable(c, card) && readable(c, tint) }
	p.Card, p.Tint = card.String(), tint.String()
	for _, c := range []*string{&p.Text, &p.Title, &p.Muted, &p.Link} {
		*c = toward(color(*c), ink, written).String()
	}
	on := softened(color(p.On))
	accent := toward(color(p.Accent), color(p.Link), func(c core.Color) bool {
		if readable(on, c) {
			return true
		}
		for _, other := range append(inks, card) {
			if readable(other, c) {
				on = other
				return true
			}
		}
		return false
	})
	if !readable(on, accent) {
		on = card // on which links can be read
	}
	p.Accent, p.On = accent.String(), on.String()
}
