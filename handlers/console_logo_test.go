package handlers

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// A logo is uploaded or chosen from the pictures of the tenant, without scripts, and shown in mails' width; another
// address is refused as the settings refuse it.
func TestConsoleLogo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.shows(e.path("settings"), "Upload or choose a logo")
		e.shows(e.path("settings", "logo"), "There is no logo: your name stands in its place.", "Upload a logo")
		other := e.seed.NewMedia("rose.png", []string{"12345"})
		e.shows(e.path("settings", "logo"), "Or choose one of your pictures", "rose.png")

		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		part, err := form.CreateFormFile("file", "Our logo.png")
		e.must(err)
		_, err = part.Write(drawn(t))
		e.must(err)
		e.must(form.Close())
		r := httptest.NewRequest("POST", e.path("settings", "logo", "upload"), &b)
		r.Header.Set("Content-Type", form.FormDataContentType())
		for name, value := range e.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		res := httptest.NewRecorder()
		e.handler.ServeHTTP(res, r)
		logo := e.now().BrandLogoURL
		if res.Code != http.StatusSeeOther || !strings.HasPrefix(logo, "https://news.example.org/") {
			t.Fatalf("%d: %q, %s", res.Code, logo, textOf(res.Body.String()))
		}
		e.shows(e.path("settings", "logo"), `<img src="`+logo+`" alt="Your logo in a mail"`, "Our logo.png",
			`aria-pressed="true"`)
		e.shows(e.path("settings"), `<img src="`+logo+`" alt="Your logo"`, "Another logo")

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
		e.sends(e.path("settings", "logo"), url.Values{"logo": {""}})
		if got := e.now().BrandLogoURL; got != "" {
			t.Errorf("%q", got)
		}
	})
}
