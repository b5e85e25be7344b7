package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// themeRoutes adds the routes for email themes.
func (o *Console) themeRoutes(t *web.Table) {
	read, write := core.ActionTemplateRead, core.ActionTemplateWrite
	o.get(t, "/looks/themes", read, o.showThemes, "The console: themes")
	o.post(t, "/looks/themes", write, o.addTheme, "The console: create a theme from a built-in theme")
	o.get(t, "/looks/themes/:id", read, o.theme, "The console: a theme")
	o.post(t, "/looks/themes/:id", write, o.changeTheme, "The console: change or delete a theme")
	o.get(t, "/looks/theme-preview", read, o.themePreview, "The console: preview an email in a theme, in a frame")
	o.post(t, "/looks/theme-preview", read, o.themePreview, "The console: preview an email in an unsaved theme, in a "+
		"frame")
}

// builtInTheme is a theme that is available to every tenant.
type builtInTheme struct{ Name, Title, Text string }

func (p *Page) builtInThemes() []builtInTheme {
	texts := map[string]string{
		"letter": p.T("Plain, like a letter"), "journal": p.T("Serif type and a masthead, like a magazine"),
		"studio": p.T("Clean, with a color bar"), "lantern": p.T("Warm and rounded"),
	}
	var out []builtInTheme
	for _, name := range core.BuiltInThemes {
		out = append(out, builtInTheme{name, p.themeName(name), texts[name]})
	}
	return out
}

// themeName returns the display name of a built-in theme.
func (p *Page) themeName(name string) string {
	switch name {
	case "letter":
		return p.T("Letter")
	case "journal":
		return p.T("Journal")
	case "studio":
		return p.T("Studio")
	case "lantern":
		return p.T("Lantern")
	}
	return titled(name)
}

// titled returns an API name with its first letter capitalized.
func titled(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// themesData holds the data for templates/themes.html.
type themesData struct {
	BuiltIn []builtInTheme
	Own     []core.Theme
	Name    string
	Bases   []option
	Base    string
}

func (o *Console) showThemes(p *Page) (web.HTML, error) { return p.showThemes(nil) }

func (p *Page) showThemes(fault error) (web.HTML, error) {
	d := themesData{BuiltIn: p.builtInThemes(), Name: p.Form["name"], Base: p.Form["base"]}
	q := p.ofTenant("limit", strconv.Itoa(core.MaxThemes))
	if _, err := p.Get("/api/admin/themes", q, &d.Own); err != nil {
		return web.HTML{}, err
	}
	for _, b := range d.BuiltIn {
		d.Bases = append(d.Bases, option{b.Name, b.Title})
	}
	v := View{
		Title: p.T("Design"), State: p.T("Fonts and colors for your emails. Each campaign uses one theme."), Frames: true,
		Data: &d,
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	return p.Show("themes", v)
}

func (o *Console) addTheme(p *Page) (web.HTML, error) {
	body := map[string]any{"tenant_id": p.Tenant.ID, "name": p.Form["name"], "base": p.Form["base"]}
	var made core.Theme
	if err := p.Do(http.MethodPost, "/api/admin/themes", body, &made); err != nil {
		return p.showThemes(err)
	}
	return p.Redirect(p.Path("looks", "themes", made.ID), "theme-created")
}

// themeGroup is a section of a theme's form.
type themeGroup struct {
	Title  string
	Help   string
	Fields []field
	Closed bool
	Colors bool
}

// themeData holds the data for templates/theme.html.
type themeData struct {
	core.Theme
	Groups   []themeGroup
	Warnings []string // warnings about colors that emails change
	LogoHint string   // hint about dark mode; empty: none
}

func (o *Console) theme(p *Page) (web.HTML, error) { return p.showTheme(nil) }

func (p *Page) showTheme(fault error) (web.HTML, error) {
	var d themeData
	if _, err := p.Get("/api/admin/themes/"+p.ID(), nil, &d.Theme); err != nil {
		return web.HTML{}, err
	}
	v := View{
		Title: d.Name, Within: []Link{{p.T("Design"), p.Path("looks")}, {p.T("Themes"), p.Path("looks", "themes")}},
		State: p.T("Based on {{base}}. Changes apply to drafts. Emails already sent don't change.", "base",
			p.themeName(d.Base)),
		Data: &d, Frames: true,
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	shown := struct{ Adjusted []core.AdjustedColor }{}
	if err := p.Do(http.MethodPost, "/api/admin/themes/"+d.ID+"/preview", nil, &shown); err != nil {
		return web.HTML{}, err
	}
	for _, color := range shown.Adjusted {
		d.Warnings = append(d.Warnings, p.adjustedColor(color))
	}
	if d.LogoURL != "" || p.Tenant.BrandDarkLogoURL == "" {
		d.LogoHint = p.logoHint(cmp.Or(d.LogoURL, p.Tenant.BrandLogoURL))
	}
	values, err := themeValues(&d.Theme)
	if err != nil {
		return web.HTML{}, err
	}
	if fault != nil && p.Form["do"] == "" {
		for name, value := range p.Form {
			values[name] = value
		}
	}
	d.Groups = p.themeForm(values, func(name string) string { return wrongOn(fault, name, v.Fault) })
	return p.Show("theme", v)
}

// adjustedColor returns a warning that emails use a different color than the theme.
func (p *Page) adjustedColor(adjusted core.AdjustedColor) string {
	name := adjusted.Color
	for _, c := range p.themeColors() {
		if c.Value == name {
			name = c.Text
		}
	}
	text := p.T("{{name}}: {{chosen}} is hard to read, so emails use {{has}}.", "name", name, "chosen",
		adjusted.Chosen, "has", adjusted.Used)
	if adjusted.Palette == "dark" {
		text = p.T("Dark") + " – " + text
	}
	return text
}

// themeColors returns options with the names of a theme's colors in the API.
func (p *Page) themeColors() []option {
	return []option{
		{"accent", p.T("Buttons and bars")},
		{"on", p.T("Button text")},
		{"link", p.T("Links")},
		{"title", p.T("Headings")},
		{"text", p.T("Text")},
		{"muted", p.T("Small print")},
		{"card", p.T("Text background")},
		{"page", p.T("Page background")},
		{"tint", p.T("Boxes")},
		{"line", p.T("Lines")},
	}
}

// themeValues returns a theme's form values: light.page, font, social and so on.
func themeValues(t *core.Theme) (map[string]string, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	values := map[string]string{}
	for name, value := range all {
		if colors, ok := value.(map[string]any); ok {
			for color, value := range colors {
				values[name+"."+color] = fmt.Sprint(value)
			}
			continue
		}
		values[name] = fmt.Sprint(value)
	}
	links := ""
	for _, l := range t.Social {
		links += l.Name + " " + l.URL + "\n"
	}
	values["social"] = links
	return values, nil
}

// themeSizes lists the numeric settings of a theme.
var themeSizes = []string{"size", "heading_weight", "width", "padding", "radius", "logo_width"}

// themeForm returns the fields of a theme's form.
func (p *Page) themeForm(values map[string]string, wrong func(name string) string) []themeGroup {
	input := func(name, label, kind string) field {
		return newField(name, label, values[name]).Kind(kind).Blame(wrong(name))
	}
	choice := func(name, label string, options ...option) field {
		return newChoice(name, label, values[name], options).Blame(wrong(name))
	}
	colors := func(side string) (out []field) {
		for _, c := range p.themeColors() {
			out = append(out, input(side+"."+c.Value, c.Text, "color"))
		}
		return out
	}
	var fonts, weights []option
	for _, name := range core.ThemeFonts {
		fonts = append(fonts, option{name, titled(name)})
	}
	for _, weight := range []string{"400", "500", "600", "700", "800"} {
		weights = append(weights, option{weight, weight})
	}
	return []themeGroup{
		{Fields: []field{input("name", p.T("Name"), "text").Must().Limit(core.MaxName)}},
		{Title: p.T("Colors"), Fields: colors("light"), Colors: true},
		{Title: p.T("Dark mode colors"), Fields: colors("dark"), Colors: true, Closed: true, Help: p.T("Buttons, " +
			"bars and links follow the colors above until you choose others here.")},
		{Title: p.T("Typography"), Fields: []field{
			choice("font", p.T("Text"), fonts...), choice("heading_font", p.T("Headings"), fonts...),
			input("size", p.T("Text size (14–20 px)"), "number"), choice("heading_weight", p.T("Heading weight"), weights...),
		}},
		{Title: p.T("Layout"), Closed: true, Fields: []field{
			input("width", p.T("Width (480–680 px)"), "number"), input("padding", p.T("Side padding (0–48 px)"), "number"),
			input("radius", p.T("Corner radius (0–24 px)"), "number"),
		}},
		{Title: p.T("Header"), Closed: true, Fields: []field{
			choice("masthead", p.T("Name style"), option{core.MastheadLeft, p.T("Plain, left")},
				option{core.MastheadCenter, p.T("Centered between lines")}, option{core.MastheadBar, p.T("On a color bar")}),
			input("logo_url", p.T("Logo URL"), "text").Web().Help(p.T("Leave blank to use your logo.")),
			input("logo_width", p.T("Logo width (24–600 px)"), "number"),
		}},
		{Title: p.T("Footer"), Closed: true, Fields: []field{
			newArea("footer_text", p.T("Footer text"), values["footer_text"]).Tall(3).Limit(core.MaxFooterText).
				Blame(wrong("footer_text")),
			newArea("postal_address", p.T("Postal address"), values["postal_address"]).Tall(3).Limit(500).
				Help(p.T("Leave blank to use the postal address from Settings.")).Blame(wrong("postal_address")),
			newArea("social", p.T("Social links"), values["social"]).Tall(3).Blame(wrong("social")).
				Help(p.T("One per line, name and URL: Mastodon https://social.example/@us")),
		}},
	}
}

// themeBody returns the API request body for a submitted theme form.
func (p *Page) themeBody() (map[string]any, error) {
	body, light, dark := map[string]any{}, map[string]string{}, map[string]string{}
	for name, value := range p.Form {
		value = strings.ReplaceAll(value, "\r\n", "\n")
		side, color, _ := strings.Cut(name, ".")
		switch {
		case side == "light" && color != "":
			light[color] = value
		case side == "dark" && color != "":
			dark[color] = value
		case name == "social":
			links, err := socialLinks(value)
			if err != nil {
				return nil, err
			}
			body[name] = links
		case name == "logo_url":
			body[name] = webAddress(value)
		default:
			body[name] = value
		}
	}
	for _, name := range themeSizes {
		if value, ok := body[name]; ok {
			n, err := strconv.Atoi(strings.TrimSpace(fmt.Sprint(value)))
			if err != nil {
				return nil, core.Invalidf(name, "Enter a number.")
			}
			body[name] = n
		}
	}
	body["light"], body["dark"] = light, dark
	delete(body, "do")
	return body, nil
}

// socialLinks parses lines that each contain a name and a URL.
func socialLinks(text string) ([]core.SocialLink, error) {
	links := []core.SocialLink{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		if i < 0 {
			return nil, core.Invalidf("social", "Enter a name and a URL on each line.")
		}
		links = append(links, core.SocialLink{Name: strings.TrimSpace(line[:i]), URL: webAddress(line[i+1:])})
	}
	return links, nil
}

// changeTheme saves or deletes a theme.
func (o *Console) changeTheme(p *Page) (web.HTML, error) {
	path := "/api/admin/themes/" + p.ID()
	if p.Form["do"] == "delete" {
		if err := p.Do(http.MethodDelete, path, nil, nil); err != nil {
			return p.showTheme(err)
		}
		return p.Redirect(p.Path("looks", "themes"), "deleted")
	}
	body, err := p.themeBody()
	if err == nil {
		err = p.followLight(p.ID(), body)
	}
	if err == nil {
		err = p.Do(http.MethodPut, path, body, nil)
	}
	if err != nil {
		return p.showTheme(err)
	}
	return p.Redirect(p.Path("looks", "themes", p.ID()), "saved")
}

// themePreview renders an email in a theme for a frame: a stored theme (id), a built-in one (base), or the one in the
// form.
func (o *Console) themePreview(p *Page) (web.HTML, error) {
	path, body := "/api/admin/theme-preview", map[string]any{"base": p.Query("base")}
	var err error
	switch id := p.Query("id"); {
	case p.IsForm():
		if body, err = p.themeBody(); err == nil {
			body["base"] = p.Query("base")
			err = p.followLight(p.Query("id"), body)
		}
	case id != "":
		path, body = "/api/admin/themes/"+url.PathEscape(id)+"/preview", nil
	}
	if body != nil {
		body["tenant_id"] = p.Tenant.ID
	}
	var mail shownMail
	if err == nil {
		err = p.Do(http.MethodPost, path, body, &mail)
	}
	if text, _, ok := p.FaultOf(err); ok {
		mail, err = shownMail{Text: text}, nil
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.showMail(mail)
}
