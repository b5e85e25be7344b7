package console

import (
	"bytes"
	"errors"
	"net/http"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// logoRoutes adds the routes for a tenant's logo.
func (o *Console) logoRoutes(t *web.Table) {
	const change = core.ActionTenantSettings
	o.get(t, "/settings/logo", change, o.logo, "The console: the logo of a tenant")
	o.post(t, "/settings/logo", change, o.chooseLogo, "The console: choose the logo of a tenant")
	o.fileForm(t, "/settings/logo/upload", change, o.uploadLogo("brand_logo_url"),
		"The console: upload the logo of a tenant")
	o.fileForm(t, "/settings/logo/upload-dark", change, o.uploadLogo("brand_dark_logo_url"),
		"The console: upload the logo of a tenant for dark backgrounds")
}

// logoData is the data for templates/settings-logo.html, besides the form.
type logoData struct {
	URL      string // URL of the current logo
	Dark     string // URL of the logo for dark backgrounds; empty: none
	Hint     string // hint about dark mode; empty: none
	Pictures []core.MediaView
}

func (o *Console) logo(p *Page) (web.HTML, error) { return p.showLogo(nil) }

// showLogo shows the logo as in emails, and the newest images to choose from.
func (p *Page) showLogo(fault error) (web.HTML, error) {
	var found []core.MediaView
	if _, err := p.Get("/api/media", p.ofTenant("limit", "60"), &found); err != nil {
		return web.HTML{}, err
	}
	d := logoData{URL: p.Tenant.BrandLogoURL, Dark: p.Tenant.BrandDarkLogoURL}
	if d.Dark == "" {
		d.Hint = p.logoHint(d.URL)
	}
	v := View{Title: p.T("Logo"), State: p.T("Shown at the top of your emails and pages")}
	for i := range found {
		if m := &found[i]; strings.HasPrefix(m.Type, "image/") {
			d.Pictures = append(d.Pictures, *m)
			v.Images = web.SourceOf(m.URL) // all images have the tenant's origin
		}
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	return p.showSettings("settings-logo", "", v, filled{values: p.Form}, d)
}

// NoLogo returns the text that appears in place of the tenant's logo.
func (p *Page) NoLogo() string {
	if name := p.Tenant.BrandName; name != "" {
		return p.T("No logo yet. Emails start with “{{name}}” instead.", "name", name)
	}
	return p.T("No logo yet. Emails start with the name of their list instead.")
}

// logoHint returns a hint if the logo is hard to see in dark mode. Otherwise, or if that is unknown, it returns an
// empty string.
func (p *Page) logoHint(address string) string {
	if address == "" || !p.console.options.HiddenInDark(p.Call, address) {
		return ""
	}
	return p.T("This logo is hard to see on dark backgrounds. Upload a second logo, or add a white background.")
}

// chooseLogo sets the logo, or the one for dark backgrounds, to the URL of one of the tenant's images. An empty URL
// removes it. "plate" puts the current logo on a white background.
func (o *Console) chooseLogo(p *Page) (web.HTML, error) {
	if p.Form["do"] == "plate" {
		return p.logoSet(p.plateLogo())
	}
	if dark, ok := p.Form["dark"]; ok {
		return p.logoSet(p.setLogo("brand_dark_logo_url", dark))
	}
	return p.logoSet(p.setLogo("brand_logo_url", p.Form["logo"]))
}

// plateLogo adds a copy of the logo on a white background to the tenant's media and uses it as the logo.
func (p *Page) plateLogo() error {
	plate, err := p.console.options.OnPlate(p.Call, p.Tenant.BrandLogoURL)
	if err != nil {
		return err
	}
	var made core.MediaView
	q := p.ofTenant("name", p.T("Logo on white background")+".png")
	if err := p.Upload(http.MethodPost, "/api/media?"+q.Encode(), "image/png", bytes.NewReader(plate),
		&made); err != nil {
		return err
	}
	return p.setLogo("brand_logo_url", made.URL)
}

// setLogo stores a logo's URL in the given field of the tenant. Removing the logo also removes the one for dark
// backgrounds.
func (p *Page) setLogo(field, address string) error {
	body := map[string]any{field: address}
	if field == "brand_logo_url" && address == "" {
		body["brand_dark_logo_url"] = ""
	}
	return p.Do(http.MethodPut, "/api/admin/tenants/"+p.Tenant.ID, body, nil)
}

// logoSet responds after a form on the logo page.
func (p *Page) logoSet(err error) (web.HTML, error) {
	if err != nil {
		return p.showLogo(err)
	}
	return p.Redirect(p.Path("settings", "logo"), "saved")
}

// uploadLogo returns an endpoint that uploads an image to the tenant's media and uses it as the logo in a field.
func (o *Console) uploadLogo(field string) func(p *Page) (web.HTML, error) {
	return func(p *Page) (web.HTML, error) { return p.uploadLogo(field) }
}

// uploadLogo uploads a logo. If the image can't be a logo, it is deleted.
func (p *Page) uploadLogo(field string) (web.HTML, error) {
	var made core.MediaView
	err := p.Upload(http.MethodPost, "/api/media?"+p.ofTenant().Encode(),
		p.Request.Header.Get("Content-Type"), &arriving{p: p, r: p.Request.Body, head: noLimit}, &made)
	if err != nil {
		return p.showLogo(ofLogo(err, field))
	}
	if strings.HasPrefix(made.Type, "image/") {
		err = p.setLogo(field, made.URL)
	} else {
		err = core.Invalidf("file", "The file is a document. Choose an image for the logo.")
	}
	if err != nil {
		if err := p.Do(http.MethodDelete, "/api/media/"+made.ID, nil, nil); err != nil {
			p.LogError(err)
		}
	}
	return p.logoSet(ofLogo(err, field))
}

// ofLogo changes the field in err from the uploaded file to the logo's field, because the page has a form for each
// logo.
func ofLogo(err error, field string) error {
	if fault, ok := errors.AsType[*core.Error](err); ok && fault.Field == "file" {
		return fault.On(field)
	}
	return err
}
