package console

import (
	"bytes"
	"net/http"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// logoRoutes are the pages of the logo of a tenant.
func (o *Console) logoRoutes(t *web.Table) {
	const change = core.ActionTenantSettings
	o.get(t, "/settings/logo", change, o.logo, "The console: the logo of a tenant")
	o.post(t, "/settings/logo", change, o.chooseLogo, "The console: choose the logo of a tenant")
	o.fileForm(t, "/settings/logo/upload", change, o.uploadLogo, "The console: upload the logo of a tenant")
}

// logoData is what templates/settings-logo.html shows next to the form.
type logoData struct {
	URL      string // of the logo as it is
	Hint     string // about dark surroundings; empty: none
	Pictures []core.MediaView
}

func (o *Console) logo(p *Page) (web.HTML, error) { return p.showLogo(nil) }

// showLogo shows the logo as mails have it, and the newest pictures to choose from.
func (p *Page) showLogo(fault error) (web.HTML, error) {
	var found []core.MediaView
	if _, err := p.Get("/api/media", p.ofTenant("limit", "60"), &found); err != nil {
		return web.HTML{}, err
	}
	d := logoData{URL: p.Tenant.BrandLogoURL, Hint: p.logoHint(p.Tenant.BrandLogoURL)}
	v := View{Title: p.T("Logo"), State: p.T("Shown at the top of your emails and pages")}
	for i := range found {
		if m := &found[i]; strings.HasPrefix(m.Type, "image/") {
			d.Pictures = append(d.Pictures, *m)
			v.Images = web.SourceOf(m.URL) // all are served at the origin of the tenant
		}
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	return p.showSettings("settings-logo", "", v, filled{values: p.Form}, d)
}

// logoHint says that a logo can hardly be seen in dark surroundings, and what helps; empty: it can, or no one knows.
func (p *Page) logoHint(address string) string {
	if address == "" || !p.console.options.HiddenInDark(p.Call, address) {
		return ""
	}
	return p.T("This logo is hard to see on dark backgrounds. Put it on a white plate, or use one with a light outline.")
}

// chooseLogo takes a picture of the tenant, by its address; an empty one is no logo. "plate" puts the current logo on a
// white plate.
func (o *Console) chooseLogo(p *Page) (web.HTML, error) {
	if p.Form["do"] == "plate" {
		return p.logoSet(p.plateLogo())
	}
	return p.logoSet(p.setLogo(p.Form["logo"]))
}

// plateLogo adds the logo on a plate to the media of the tenant, and takes it as the logo.
func (p *Page) plateLogo() error {
	plate, err := p.console.options.OnPlate(p.Call, p.Tenant.BrandLogoURL)
	if err != nil {
		return err
	}
	var made core.MediaView
	q := p.ofTenant("name", p.T("Logo on a white plate")+".png")
	if err := p.Upload(http.MethodPost, "/api/media?"+q.Encode(), "image/png", bytes.NewReader(plate), &made); err != nil {
		return err
	}
	return p.setLogo(made.URL)
}

func (p *Page) setLogo(address string) error {
	body := map[string]any{"brand_logo_url": address}
	return p.Do(http.MethodPut, "/api/admin/tenants/"+p.Tenant.ID, body, nil)
}

// logoSet makes the answer to a form of the page.
func (p *Page) logoSet(err error) (web.HTML, error) {
	if err != nil {
		return p.showLogo(err)
	}
	return p.Redirect(p.Path("settings", "logo"), "saved")
}

// uploadLogo hands the form with a picture on to the media of the tenant, and takes it as the logo. One that can't be
// the logo is not kept.
func (o *Console) uploadLogo(p *Page) (web.HTML, error) {
	var made core.MediaView
	err := p.Upload(http.MethodPost, "/api/media?"+p.ofTenant().Encode(),
		p.Request.Header.Get("Content-Type"), &arriving{p: p, r: p.Request.Body, head: noLimit}, &made)
	if err != nil {
		return p.showLogo(err)
	}
	if strings.HasPrefix(made.Type, "image/") {
		err = p.setLogo(made.URL)
	} else {
		err = core.Invalidf("file", "The file is a document. Choose an image for the logo.")
	}
	if err != nil {
		if err := p.Do(http.MethodDelete, "/api/media/"+made.ID, nil, nil); err != nil {
			p.LogError(err)
		}
	}
	return p.logoSet(err)
}
