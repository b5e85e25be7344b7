package drafts

import (
	"cmp"
	"embed"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/markup"
)

// samples holds an example of every element that themes change, in each language of core.Languages.
//
//go:embed samples/*.md
var samples embed.FS

// NewTheme returns a new theme for a tenant. Its default color is the tenant's.
func NewTheme(t *core.Tenant, in core.ThemeInput, now core.Instant) (core.Theme, error) {
	base := ""
	if in.Base != nil {
		base = *in.Base
	}
	of, err := markup.BaseTheme(base, t)
	if err != nil {
		return of, err
	}
	if in.Base = nil; base != "" {
		in.Base = &of.Base
	}
	return core.NewTheme(t.ID, of, in, now)
}

// ThemeSample returns a sample newsletter that uses a tenant's theme, and the colors that were adjusted.
func ThemeSample(theme *core.Theme, t *core.Tenant) (bulk *mail.Bulk, moved []core.AdjustedColor, err error) {
	if _, moved, err = markup.OwnTheme(theme); err != nil {
		return nil, nil, err
	}
	o, err := markup.LooksOf("", theme, t)
	if err != nil {
		return nil, nil, err
	}
	o.Language, o.Title, o.Name = t.Language, theme.Name, cmp.Or(t.BrandName, t.Name)
	sample, err := samples.ReadFile("samples/" + cmp.Or(t.Language, core.Languages[0]) + ".md")
	if err != nil {
		return nil, nil, err
	}
	r, err := markup.Compile(markup.KindMarkdown, string(sample), o)
	if err != nil {
		return nil, nil, err
	}
	content := SampleContent(&core.Template{Name: theme.Name, BodyHTML: r.HTML, BodyText: r.Text})
	content.List.Name = o.Name
	bulk, err = mail.CompileShown("preview", &content)
	return bulk, moved, err
}
