package console

import (
	"cmp"
	"net/url"
	"strings"

	"newsletterd/core"
	"newsletterd/mail/markup"
)

// followLight sets the dark colors of buttons, bars and links in a submitted theme form (body) to match the light ones,
// unless a person chose them. id is the ID of the stored theme; if it is empty, nothing changes.
func (p *Page) followLight(id string, body map[string]any) error {
	if id == "" {
		return nil
	}
	var was core.Theme
	if _, err := p.Get("/api/admin/themes/"+url.PathEscape(id), nil, &was); err != nil {
		return err
	}
	base, err := markup.BaseTheme(was.Base, &p.Tenant)
	if err != nil {
		return err
	}
	light, dark := body["light"].(map[string]string), body["dark"].(map[string]string)
	accent := darkOf(&base, base.Light.Accent, cmp.Or(light["accent"], was.Light.Accent))
	link := darkOf(&base, base.Light.Link, cmp.Or(light["link"], was.Light.Link))
	wasAccent := darkOf(&base, base.Light.Accent, was.Light.Accent)
	wasLink := darkOf(&base, base.Light.Link, was.Light.Link)
	for _, c := range []struct{ name, base, was, now string }{
		{"accent", base.Dark.Accent, wasAccent.Accent, accent.Accent},
		{"on", base.Dark.On, wasAccent.On, accent.On},
		{"link", base.Dark.Link, wasLink.Link, link.Link},
	} {
		if at, ok := dark[c.name]; ok && (strings.EqualFold(at, c.base) || strings.EqualFold(at, c.was)) {
			dark[c.name] = c.now
		}
	}
	return nil
}

// darkOf returns a built-in theme's dark colors with the given light color instead of the theme's own.
func darkOf(base *core.Theme, own, light string) core.ThemeColors {
	c, ok := core.ParseColor(light)
	if !ok || strings.EqualFold(own, light) {
		return base.Dark
	}
	return base.Dark.WithBrand(c)
}
