package markup

import (
	"strings"
	"testing"

	"newsletterd/core"
)

// In dark mode an email shows the logo for dark backgrounds, unless the logo stands on a bar or is that of the theme.
func TestLogoInDarkMode(t *testing.T) {
	const light, dark = "https://a.example/light.png", "https://a.example/dark.png"
	tenant := core.Tenant{Name: "Acme", BrandLogoURL: light, BrandDarkLogoURL: dark}
	left, err := BaseTheme("letter", &tenant)
	if err != nil {
		t.Fatal(err)
	}
	left.Masthead = core.MastheadLeft
	bar := left
	bar.Masthead = core.MastheadBar
	own := left
	own.LogoURL = "https://a.example/theme.png"
	for name, c := range map[string]struct {
		theme  *core.Theme
		change func(*core.Tenant)
		want   bool
	}{
		"both":         {&left, func(*core.Tenant) {}, true},
		"one":          {&left, func(t *core.Tenant) { t.BrandDarkLogoURL = "" }, false},
		"no light one": {&left, func(t *core.Tenant) { t.BrandLogoURL = "" }, false},
		"a bar":        {&bar, func(*core.Tenant) {}, false},
		"of the theme": {&own, func(*core.Tenant) {}, false},
	} {
		of := tenant
		c.change(&of)
		o, err := LooksOf("", c.theme, &of)
		if err != nil {
			t.Fatal(err)
		}
		o.Name = "Acme"
		r, err := Compile(core.ContentMarkdown, "Hello", o)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{
			`<img class="logo-dark" src="` + dark + `" alt="Acme" width="160" style="display:none;mso-hide:all;`,
			`<img class="logo" src="` + light,
			".logo{display:none !important}.logo-dark{display:block !important}",
			"[data-ogsc] .logo-dark{display:block !important}",
		} {
			if strings.Contains(r.HTML, part) != c.want {
				t.Errorf("%s: %s is there: %v\n%s", name, part, !c.want, r.HTML)
			}
		}
	}
}
