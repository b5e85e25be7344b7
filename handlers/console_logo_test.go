package handlers

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// uploads sends a form with a file.
func (e *tenantConsole) uploads(path, name string, file []byte) *httptest.ResponseRecorder {
	e.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", name)
	e.must(err)
	_, err = part.Write(file)
	e.must(err)
	e.must(form.Close())
	r := httptest.NewRequest("POST", path, &b)
	r.Header.Set("Content-Type", form.FormDataContentType())
	for name, value := range e.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res := httptest.NewRecorder()
	e.handler.ServeHTTP(res, r)
	return res
}

// Without scripts, a logo is uploaded or chosen from the tenant's images, and shown at the width it has in emails.
// Other URLs are refused as in the settings.
func TestConsoleLogo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.shows(e.path("settings"), "Save and add logo")
		e.shows(e.path("looks"), `href="`+e.path("settings", "logo")+`"`, "Add logo")
		step := `<a href="` + e.path("settings", "logo") + `">Add your logo (optional)</a>`
		e.shows("/console/"+e.tenant.ID, step+`<span class="sub">`)
		e.shows(e.path("settings", "logo"), "No logo yet. Emails start with the name of their list instead.",
			"Upload logo")
		other := e.seed.NewMedia("rose.png", []string{"12345"})
		e.shows(e.path("settings", "logo"), "Or choose an existing image", "rose.png")

		res := e.uploads(e.path("settings", "logo", "upload"), "Our logo.png", drawn(t))
		logo := e.now().BrandLogoURL
		if res.Code != http.StatusSeeOther || !strings.HasPrefix(logo, "https://news.example.org/") {
			t.Fatalf("%d: %q, %s", res.Code, logo, textOf(res.Body.String()))
		}
		e.shows(e.path("settings", "logo"), `<img src="`+logo+`" alt="Your logo in an email"`, "Our logo.png",
			`aria-pressed="true"`)
		e.shows(e.path("settings"), `<img src="`+logo+`" alt="Your logo"`, "Save and change logo")
		e.shows(e.path("looks"), `<img src="`+logo+`" alt="Your logo"`, "Change logo")
		e.shows("/console/"+e.tenant.ID, step+`<span class="hidden-visually"> (done)`)

		page := e.shows(e.path("settings", "logo"), "rose.png")
		at := strings.Index(page, other.Mail.Digits())
		from := strings.LastIndex(page[:at], `"`) + 1
		chosen := page[from : at+strings.IndexByte(page[at:], '"')]
		e.sends(e.path("settings", "logo"), url.Values{"logo": {chosen}})
		if got := e.now().BrandLogoURL; got != chosen || got == logo || e.now().Name == "" {
			t.Errorf("%q, not %q", got, chosen)
		}
		e.refuses(e.path("settings", "logo"), url.Values{"logo": {"http://a.example/x.png"}}, http.StatusBadRequest,
			"https://")
		e.sends(e.path("settings", "logo"), url.Values{"dark": {chosen}})
		e.sends(e.path("settings", "logo"), url.Values{"logo": {""}}) // otherwise, the next logo would get the dark one
		if got := e.now(); got.BrandLogoURL != "" || got.BrandDarkLogoURL != "" {
			t.Errorf("%q, %q", got.BrandLogoURL, got.BrandDarkLogoURL)
		}
	})
}

// A file that can't be the logo is refused, and is not among the images afterwards.
func TestConsoleRefusedLogo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		refused := func(name string, file []byte, why string) {
			t.Helper()
			res := e.uploads(e.path("settings", "logo", "upload"), name, file)
			if res.Code != http.StatusBadRequest || !strings.Contains(textOf(res.Body.String()), why) {
				t.Errorf("%d, no %q: %s", res.Code, why, textOf(res.Body.String()))
			}
			if logo := e.now().BrandLogoURL; logo != "" {
				t.Errorf("the logo is %q", logo)
			}
			kept, err := e.store.MediaOf(t.Context(), e.tenant.ID, "", core.Page{Limit: 10})
			e.must(err)
			if len(kept) != 0 {
				t.Errorf("%q is kept", kept[0].Name)
			}
		}
		refused("Our logo.pdf", []byte("%PDF-1.7 the logo"), "Choose an image for the logo")
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{BrandLogoURL: new("https://a.example/logo.png")})
		for at, id := range map[string]string{"upload": "f-file", "upload-dark": "f-file-2"} {
			for _, file := range []string{"%PDF-1.7 the logo", "no image"} {
				page := e.uploads(e.path("settings", "logo", at), "logo", []byte(file)).Body.String()
				wrong := regexp.MustCompile(`id="([\w-]+)"[^>]* aria-invalid="true"`).FindStringSubmatch(page)
				if wrong == nil || wrong[1] != id {
					t.Errorf("%s of %q: wrong is %q", at, file, wrong)
				}
			}
		}
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{BrandLogoURL: new("")})
		_, err := e.store.UpdateTenant(t.Context(), e.tenant.ID, "test", func(of *core.Tenant) error {
			of.PublicURL = "http://news.acme.example"
			return nil
		})
		e.must(err)
		refused("Our logo.png", drawn(t), "https")
	})
}

// The page that chooses a logo, and the page of a theme, warn about a dark logo with a transparent background. They
// don't warn about a logo that has its own background, is light, or is stored on another server.
func TestConsoleLogoOnDarkGround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		const hint = "This logo is hard to see on dark backgrounds. Upload a second logo"
		theme := e.sends(e.path("looks", "themes"), url.Values{"name": {"Ours"}, "base": {"letter"}})
		theme, _, _ = strings.Cut(theme, "?")
		says := func(name string, want bool) {
			t.Helper()
			for _, page := range []string{e.path("settings", "logo"), theme} {
				if got := strings.Contains(textOf(e.shows(page)), hint); got != want {
					t.Errorf("%s, %s: %t", name, page, got)
				}
			}
		}
		says("none", false)
		for _, c := range []struct {
			name        string
			ground, ink color.Color
			want        bool
		}{
			{"dark", color.Transparent, color.Black, true},
			{"light", color.Transparent, color.White, false},
			{"on white", color.White, color.Black, false},
		} {
			m := image.NewNRGBA(image.Rect(0, 0, 90, 30))
			draw.Draw(m, m.Bounds(), image.NewUniform(c.ground), image.Point{}, draw.Src)
			draw.Draw(m, image.Rect(10, 10, 80, 20), image.NewUniform(c.ink), image.Point{}, draw.Src)
			var file bytes.Buffer
			e.must(png.Encode(&file, m))
			if res := e.uploads(e.path("settings", "logo", "upload"), c.name+".png",
				file.Bytes()); res.Code != http.StatusSeeOther {
				t.Fatal(res.Code, textOf(res.Body.String()))
			}
			says(c.name, c.want)
			if c.want { // a second logo, or one click, fixes it
				dark := e.now().BrandLogoURL
				if res := e.uploads(e.path("settings", "logo", "upload-dark"), "second.png",
					drawn(t)); res.Code != http.StatusSeeOther {
					t.Fatal(res.Code, textOf(res.Body.String()))
				}
				second := e.now().BrandDarkLogoURL
				says("with a second logo", false)
				page := e.shows(e.path("settings", "logo"),
					`<img src="`+second+`" alt="Your logo in an email in dark mode"`)
				if strings.Count(page, `id="f-file"`) != 1 {
					t.Error("two fields have one id")
				}
				e.sends(e.path("settings", "logo"), url.Values{"dark": {""}})
				says("without the second logo", true)
				e.sends(e.path("settings", "logo"), url.Values{"dark": {second}})
				if got := e.now(); got.BrandDarkLogoURL != second || got.BrandLogoURL != dark {
					t.Errorf("chosen: %q, %q", got.BrandLogoURL, got.BrandDarkLogoURL)
				}
				e.sends(e.path("settings", "logo"), url.Values{"dark": {""}})
				e.sends(e.path("settings", "logo"), url.Values{"do": {"plate"}})
				if e.now().BrandLogoURL == dark {
					t.Error("the logo is the one without a plate")
				}
				says("on a plate", false)
			}
		}
		e.sends(e.path("settings", "logo"), url.Values{"logo": {"https://pictures.example/logo.png"}})
		says("elsewhere", false)
		e.refuses(e.path("settings", "logo"), url.Values{"do": {"plate"}}, http.StatusBadRequest,
			"Upload the image file first")
	})
}
