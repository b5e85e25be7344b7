package markup

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"newsletterd/core"
	"newsletterd/mail"
)

// TestThemesCanBeRead checks that each built-in theme is readable in light and dark mode, and if an email program
// inverts its colors.
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

// TestBrandsCanBeRead checks that every theme stays readable with any color of a tenant, and that a readable color is
// used unchanged.
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

// unreadable returns the unreadable pairs of colors in a theme.
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
			if !color(pair[0]).Legible(color(pair[1])) {
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

// TestBaseThemes checks that core lists the themes of this package, and that a tenant's theme starts with the values of
// its base.
func TestBaseThemes(t *testing.T) {
	if !slices.Equal(ThemeNames(), core.BuiltInThemes) {
		t.Errorf("%q", core.BuiltInThemes)
	}
	for i := range themes {
		base, err := BaseTheme(themes[i].Name, &core.Tenant{})
		if err == nil {
			base, err = core.NewTheme("t", base, core.ThemeInput{Name: new(themes[i].Name)}, 1)
		}
		if err == nil || base.Base != themes[i].Name {
			t.Errorf("a theme of a built-in one's name: %+v, %v", base, err)
		}
		own, moved, err := OwnTheme(&base)
		if err != nil || len(moved) > 0 || *own != themes[i] {
			t.Errorf("%+v, %q, %v", own, moved, err)
		}
	}
	if len(fontStacks) != len(core.ThemeFonts) {
		t.Errorf("%d stacks", len(fontStacks))
	}
}

// TestOwnThemesCanBeRead checks that a tenant's theme is readable with any colors, and that readable colors stay
// unchanged.
func TestOwnThemesCanBeRead(t *testing.T) {
	colour := func(t *rapid.T, name string) *string {
		if rapid.Bool().Draw(t, name+" is given") {
			return new(rapid.SampledFrom([]string{"#000000", "#ffffff", "#777777", "#808080", "#ff0000", "#ffff00", "#0000ff"}).
				Draw(t, name))
		}
		return new(fmt.Sprintf("#%06x", rapid.IntRange(0, 1<<24-1).Draw(t, name)))
	}
	rapid.Check(t, func(t *rapid.T) {
		base, err := BaseTheme(rapid.SampledFrom(core.BuiltInThemes).Draw(t, "base"), &core.Tenant{})
		if err != nil {
			t.Fatal(err)
		}
		var sides [2]core.ThemeColorsInput
		for i := range sides {
			c := &sides[i]
			*c = core.ThemeColorsInput{
				Page: colour(t, "page"), Card: colour(t, "card"), Text: colour(t, "text"), Title: colour(t, "title"),
				Muted: colour(t, "muted"), Link: colour(t, "link"), Accent: colour(t, "accent"), On: colour(t, "on"),
				Tint: colour(t, "tint"), Line: colour(t, "line"),
			}
		}
		drawn, err := core.NewTheme("t", base, core.ThemeInput{Name: new("Ours"), Light: &sides[0], Dark: &sides[1]}, 1)
		if err != nil {
			t.Fatal(err)
		}
		own, moved, err := OwnTheme(&drawn)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range unreadable(own) {
			t.Error(fault)
		}
		if again := core.ThemeColors(own.Light); len(moved) == 0 && again != drawn.Light {
			t.Errorf("%+v became %+v, and nothing is told", drawn.Light, again)
		}
		kept := drawn
		kept.Light, kept.Dark = core.ThemeColors(own.Light), core.ThemeColors(own.Dark)
		if _, moved, err := OwnTheme(&kept); err != nil || len(moved) > 0 {
			t.Errorf("what can be read is moved: %q, %v", moved, err)
		}
	})
}

// TestOwnThemesFollowTheRules checks that a newsletter in a tenant's theme follows the rules of email programs with any
// sizes, fonts and footer. The footer must be escaped as text.
func TestOwnThemesFollowTheRules(t *testing.T) {
	const source = "# News\n\nText with `code` and [a link](https://x.example/).\n\n[Go](https://x.example/){.button}\n\n" +
		"::: tip\nA box\n:::\n\n> Quote\n\n::: columns\n::: column\nA\n:::\n::: column\nB\n:::\n:::\n"
	rapid.Check(t, func(t *rapid.T) {
		base, err := BaseTheme(rapid.SampledFrom(core.BuiltInThemes).Draw(t, "base"), &core.Tenant{})
		if err != nil {
			t.Fatal(err)
		}
		number := func(name string, least, most int) *int { return new(rapid.IntRange(least, most).Draw(t, name)) }
		words := rapid.StringMatching(`[ -z|~\n]{0,40}`)
		own, err := core.NewTheme("t", base, core.ThemeInput{
			Name: new("Ours"), Size: number("size", 14, 20), Width: number("width", 480, 680), Radius: number("radius", 0, 24),
			Padding: number("padding", 0, 48), HeadingWeight: new(100 * *number("weight", 4, 8)),
			Font:        new(rapid.SampledFrom(core.ThemeFonts).Draw(t, "font")),
			HeadingFont: new(rapid.SampledFrom(core.ThemeFonts).Draw(t, "heading font")),
			Masthead:    new(rapid.SampledFrom([]string{MastheadBar, MastheadCenter, MastheadLeft}).Draw(t, "masthead")),
			LogoURL:     new("https://x.example/logo.png"), LogoWidth: number("logo", 24, 600),
			FooterText: new(words.Draw(t, "footer") + "<b>&"), PostalAddress: new(words.Draw(t, "address") + "<i>"),
			Social: &[]core.SocialLink{{Name: words.Draw(t, "name") + "<u>", URL: `https://x.example/?a="<b>&c=d`}},
		}, 1)
		if core.KindOf(err) == core.Invalid && strings.HasPrefix(err.(*core.Error).Field, "social[0].name") {
			t.Skip("the name of a link has no line end")
		}
		if err != nil {
			t.Fatal(err)
		}
		f := core.CampaignFields{
			// the email's own preheader is hidden, and the rules don't apply to it
			Subject: "News", Preheader: "What else there is",
			Content: core.CampaignContent{Kind: core.ContentMarkdown, Source: source},
		}
		r, err := CompileCampaign(&f, &own, &core.List{Name: "L"}, &core.Tenant{})
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults(r.HTML) {
			t.Error(fault)
		}
		for _, tag := range []string{"<b>", "<i>", "<u>", `"<b`} {
			if strings.Contains(r.HTML, tag) {
				t.Errorf("%s stands in the HTML", tag)
			}
		}
		for _, want := range []string{"<b>&", "<i>", "<u>: https://x.example/?a="} {
			if !strings.Contains(r.Text, want) {
				t.Errorf("%q is missing in %s", want, r.Text)
			}
		}
		if _, err := mail.CompileBulk(mail.JobSpec("j", &core.Content{
			Copy: f.Copy("t", r.HTML, r.Text, 1), List: core.List{Name: "L"},
		}, mail.Address{Email: "a@x.example"})); err != nil {
			t.Error(err)
		}
	})
}
