package markup

import (
	"cmp"
	"strings"

	"newsletterd/core"
)

// LogoWidth is the pixels of a tenant's logo at the head of a mail.
const LogoWidth = 160

// CompileCampaign makes the parts of a campaign's mail, whatever its kind: HTML and text are as they were written. The
// looks are those of its theme with the tenant's colour and logo, the name at its head the brand's, else that of its one
// list, else the tenant's. Errors are Compile's.
func CompileCampaign(f *core.CampaignFields, l *core.List, t *core.Tenant) (*Result, error) {
	r, err := compileContent(f, l, t)
	if err == nil {
		r.HTML, r.Text = addUTM(r.HTML, r.Text, f.UTM.Query(), t.PublicURL)
	}
	return r, err
}

func compileContent(f *core.CampaignFields, l *core.List, t *core.Tenant) (*Result, error) {
	switch f.Content.Kind {
	case core.ContentHTML:
		return &Result{HTML: f.Content.Source, Text: f.Content.Text, Warnings: []Warning{}}, nil
	case core.ContentText:
		return &Result{Text: f.Content.Source, Warnings: []Warning{}}, nil
	}
	theme, err := BuiltInTheme(f.Theme)
	if err != nil {
		return nil, err
	}
	name := l.Name
	if len(f.ListIDs) > 1 { // it is the same for the readers of all of them
		name = t.Name
	}
	return Compile(f.Content.Kind, f.Content.Source, Options{
		Theme: theme.WithBrand(strings.ToLower(t.BrandColor)), Language: cmp.Or(f.Language, l.Language, t.Language),
		Title: f.Subject, Name: cmp.Or(t.BrandName, name), Logo: t.BrandLogoURL, LogoWidth: LogoWidth,
		Address: t.PostalAddress,
	})
}

// CampaignParts is CompileCampaign as a core.CampaignCompiler, without its warnings.
func CampaignParts(f *core.CampaignFields, l *core.List, t *core.Tenant) (html, text string, err error) {
	r, err := CompileCampaign(f, l, t)
	if err != nil {
		return "", "", err
	}
	return r.HTML, r.Text, nil
}
