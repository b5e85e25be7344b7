package markup

import (
	"cmp"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// LogoWidth is the width in pixels of a tenant's logo at the top of an email.
const LogoWidth = 160

// CompileCampaign compiles a campaign's content, whatever its kind, into an email. It returns HTML and text content
// unchanged. The design comes from own, a theme of the tenant. If own is nil, it comes from a built-in theme with the
// tenant's color and logo. The name at the top is the brand name. Without one, it is the name of the only list, or else
// the tenant's. CompileCampaign returns the same errors as Compile.
func CompileCampaign(f *core.CampaignFields, own *core.Theme, l *core.List, t *core.Tenant) (*Result, error) {
	if err := checkPolls(f); err != nil {
		return nil, err
	}
	r, err := compileContent(f, own, l, t)
	if err == nil {
		err = checkPolls(f, r.HTML, r.Text)
	}
	if err == nil {
		r.HTML, r.Text = addUTM(r.HTML, r.Text, f.UTM.Query(), t.PublicURL)
	}
	return r, err
}

func compileContent(f *core.CampaignFields, own *core.Theme, l *core.List, t *core.Tenant) (*Result, error) {
	switch f.Content.Kind {
	case core.ContentHTML:
		return &Result{
			HTML: WithPolls(mail.PartHTML, f.Content.Source, f.Polls, true),
			Text: WithPolls(mail.PartText, f.Content.Text, f.Polls, true), Warnings: []Warning{},
		}, nil
	case core.ContentText:
		return &Result{Text: WithPolls(mail.PartText, f.Content.Source, f.Polls, true), Warnings: []Warning{}}, nil
	}
	o, err := LooksOf(f.Theme, own, t)
	if err != nil {
		return nil, err
	}
	o.Language, o.Title = cmp.Or(f.Language, l.Language, t.Language), f.Subject
	o.Name, o.Polls = l.Name, f.Polls
	if len(f.ListIDs) > 1 { // the subscribers of all lists see the same name
		o.Name = t.Name
	}
	o.Name = cmp.Or(t.BrandName, o.Name)
	o.Beginning = o.Name != "" && strings.TrimSpace(f.Preheader) == ""
	return Compile(f.Content.Kind, f.Content.Source, o)
}

// LooksOf returns Options with the fields that depend on the theme: own, a theme of the tenant, or the built-in theme
// called name if own is nil. It returns the same error as BuiltInTheme.
func LooksOf(name string, own *core.Theme, t *core.Tenant) (o Options, err error) {
	o = Options{
		Logo: t.BrandLogoURL, DarkLogo: t.BrandDarkLogoURL, LogoWidth: LogoWidth, Address: t.PostalAddress,
	}
	if own == nil {
		if o.Theme, err = BuiltInTheme(name); err == nil {
			o.Theme = o.Theme.WithBrand(strings.ToLower(t.BrandColor))
		}
		return o, err
	}
	o.LogoWidth = own.LogoWidth
	if own.LogoURL != "" {
		o.Logo, o.DarkLogo = own.LogoURL, ""
	}
	o.Footer, o.Social, o.Address = own.FooterText, own.Social, cmp.Or(own.PostalAddress, o.Address)
	o.Theme, _, err = OwnTheme(own)
	return o, err
}

// CampaignParts is a core.CampaignCompiler. It is like CompileCampaign, but returns no warnings.
func CampaignParts(f *core.CampaignFields, own *core.Theme, l *core.List, t *core.Tenant) (html, text string,
	err error,
) {
	r, err := CompileCampaign(f, own, l, t)
	if err != nil {
		return "", "", err
	}
	return r.HTML, r.Text, nil
}
