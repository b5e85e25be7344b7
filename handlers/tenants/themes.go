package tenants

import (
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// themes serves /api/admin/themes.
type themes struct{ store *store.Store }

// themeRoutes adds the routes for themes.
func (r *Room) themeRoutes(t *web.Table) {
	a := themes{r.Store}
	const all = "/api/admin/themes"
	read, write := core.ActionTemplateRead, core.ActionTemplateWrite
	rows := web.Crud(t, all, "Theme", "a theme", "the tenants' own themes",
		web.Resource{
			Find: a.find, Missing: web.ErrNotFound, List: web.List(a.list, func(t core.Theme) string { return t.ID }),
			Create: web.JSON(a.create).Fails(core.NotFound, core.Conflict), Show: web.Path(a.show),
			Update: web.JSON(a.update).Fails(core.Conflict),
			Remove: web.Path(a.remove).Fails(core.Conflict),
			May:    web.Rights{Read: read, Create: write, Change: write, Remove: write},
		})
	rows.List.Refuses(web.TenantNamed)
	rows.Create.Requires("name").
		Example(web.Object{
			"tenant_id": web.ExampleID, "name": "Ours", "base": "journal", "font": "georgia", "radius": 4,
			"light":  web.Object{"accent": "#7a1f3d", "link": "#7a1f3d"},
			"social": []web.Object{{"name": "Mastodon", "url": "https://social.example/@acme"}},
		}).
		Refuses(ofTheme...)
	rows.Update.Example(web.Object{"footer_text": "Sent with care by Acme.", "width": 620}).
		Refuses(ofTheme...)
	rows.Remove.Refuses(web.Clashing("theme_in_use", "", "A draft or a campaign in review uses the theme"))
	t.Add("POST", all+"/:id/preview", web.Admin(read), web.Member,
		web.Path(a.preview).Find(a.find).Missing(web.ErrNotFound),
		"Preview a sample newsletter in a theme").Named("previewTheme")
	t.Add("POST", "/api/admin/theme-preview", web.Admin(read), web.Member, web.JSON(a.try).Fails(core.NotFound),
		"Preview a sample newsletter in a built-in or unsaved theme").
		Named("tryTheme").
		Example(web.Object{
			"base": "lantern", "light": web.Object{"accent": "#7a1f3d"}, "tenant_id": web.ExampleID,
		}).
		Refuses(ofTheme...)
}

func (a themes) find(c *web.Call) error {
	t, err := a.store.Theme(c, c.ID())
	return web.OwnRecord(c, t.TenantID, core.ActionTemplateRead, err, web.ErrNotFound)
}

func (a themes) list(c *web.Call, in web.TenantFilter, page core.Page) ([]core.Theme, error) {
	return web.PageFor(c, in, page, a.store.Themes)
}

// newTheme is the body of POST /api/admin/themes.
type newTheme struct {
	TenantID string `json:"tenant_id" like:"tenant"`
	core.ThemeInput
}

func (a themes) create(c *web.Call, in newTheme) (t core.Theme, err error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return t, err
	}
	of, err := a.store.Tenant(c, tenant)
	if err == nil {
		t, err = drafts.NewTheme(&of, in.ThemeInput, c.Now)
	}
	if err == nil {
		err = a.store.AddTheme(c, t, web.Actor(c))
	}
	return t, web.UnknownTenant(err)
}

func (a themes) show(c *web.Call, id string) (core.Theme, error) { return a.store.Theme(c, id) }

func (a themes) update(c *web.Call, in core.ThemeInput) (core.Theme, error) {
	return a.store.UpdateTheme(c, c.ID(), web.Actor(c), c.Now, func(t *core.Theme) error { return t.Change(in, c.Now) })
}

func (a themes) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteTheme(c, id, web.Actor(c), c.Now)
}

// themePreview is a sample newsletter that uses a theme.
type themePreview struct {
	drafts.Preview
	Warnings []string             `json:"warnings" about:"One sentence for each color in adjusted"`
	Adjusted []core.AdjustedColor `json:"adjusted" about:"Unreadable colors, with the colors that emails use instead"`
}

func (a themes) preview(c *web.Call, id string) (out themePreview, err error) {
	t, err := a.store.Theme(c, id)
	if err != nil {
		return out, err
	}
	of, err := a.store.Tenant(c, t.TenantID)
	if err != nil {
		return out, err
	}
	return sample(c, &t, &of)
}

// try renders a theme without storing it. The theme needs no name.
func (a themes) try(c *web.Call, in newTheme) (out themePreview, err error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return out, err
	}
	of, err := a.store.Tenant(c, tenant)
	if err != nil {
		return out, web.UnknownTenant(err)
	}
	if in.Name == nil {
		in.Name = new("Theme")
	}
	t, err := drafts.NewTheme(&of, in.ThemeInput, c.Now)
	if err != nil {
		return out, err
	}
	return sample(c, &t, &of)
}

// sample renders a sample newsletter that uses a theme.
func sample(c *web.Call, t *core.Theme, of *core.Tenant) (out themePreview, err error) {
	bulk, moved, err := drafts.ThemeSample(t, of)
	if err != nil {
		return out, err
	}
	r := drafts.SampleRecipient(c.PublicURL(), c.Now)
	out.Warnings, out.Adjusted = []string{}, append([]core.AdjustedColor{}, moved...)
	for _, color := range moved {
		out.Warnings = append(out.Warnings, color.String())
	}
	out.Subject, out.Text, out.HTML, err = bulk.Parts(&r)
	return out, err
}

// ofTheme holds the refusals for a theme's fields.
var ofTheme = []web.Refusal{
	web.TenantNamed,
	web.Refused("name", "The name is an ID or the name of a built-in theme"),
	web.Refused("base", "This field can't be changed"),
	web.Refused("social[].name", "Blank, or contains placeholders"),
	web.Refused("social[].url", "Not an absolute URL"),
	web.Refused("logo_url", "Not an absolute URL"),
	web.Clash("The tenant has reached its limit for themes"), web.ThereIsOne,
}
