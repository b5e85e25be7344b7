package handlers

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// sendsFile posts a form with a file, as a browser without scripts does, and returns where the response redirects.
func (e *peopleEnv) sendsFile(path string, status int, file []byte, fields map[string]string, texts ...string) (to string) {
	e.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", "Shop window.png")
	e.must(err)
	_, err = part.Write(file)
	e.must(err)
	for name, value := range fields {
		e.must(form.WriteField(name, value))
	}
	e.must(form.Close())
	r := httptest.NewRequest("POST", e.at(path), &b)
	r.Header.Set("Content-Type", form.FormDataContentType())
	for name, value := range e.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res := httptest.NewRecorder()
	e.handler.ServeHTTP(res, r)
	e.holds("POST "+path, res.Code, res.Body.String(), status, texts)
	return strings.TrimPrefix(res.Header().Get("Location"), "https://news.example.org"+e.at(""))
}

func drawn(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestConsolePictures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleEditor)
		e.shows("/looks", http.StatusOK, "No images yet", "Upload", `aria-current="page"`)
		to := e.sendsFile("/looks/upload", http.StatusSeeOther, drawn(t), map[string]string{"alt": "Our window"})
		path, _, _ := strings.Cut(to, "?")
		id := strings.TrimPrefix(path, "/looks/pictures/")
		m, err := e.store.Media(t.Context(), id)
		e.must(err)
		if m.Name != "Shop window.png" || m.Alt != "Our window" || m.TenantID != e.tenant.ID ||
			!strings.HasSuffix(to, "?done=added") {
			t.Errorf("%+v, leads to %s", m, to)
		}
		e.shows("/looks", http.StatusOK, "Shop window.png", "Our window", "40 × 30 px", m.Mail.Digits())
		e.shows("/looks?q=garden", http.StatusOK, "No images match your search.", "-Shop window.png")
		e.shows(path, http.StatusOK, "Shop window.png", "Our window", m.Mail.Digits())
		e.sendsFile("/looks/upload", http.StatusBadRequest, []byte("no picture"), nil, `role="alert"`, "Shop window.png")

		e.sends(path, http.StatusSeeOther, url.Values{"name": {"Window"}, "alt": {""}, "decorative": {"1"}})
		if m, err = e.store.Media(t.Context(), id); err != nil || m.Name != "Window" || m.Alt != "" || !m.Decorative {
			t.Errorf("%+v, %v", m, err)
		}
		e.sends(path, http.StatusSeeOther, url.Values{"name": {"Window"}, "alt": {"At dusk"}, "decorative": {"1"}})
		if m, err = e.store.Media(t.Context(), id); err != nil || m.Alt != "At dusk" || m.Decorative {
			t.Errorf("%+v, %v", m, err)
		}
		e.sends(path, http.StatusBadRequest, url.Values{"name": {""}, "alt": {"At dawn"}}, "At dawn", `role="alert"`)
	})
}

// An image that is in use is deleted only after a second confirmation.
func TestConsoleDeletesAPicture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleEditor)
		m := e.seed.NewMedia("logo", []string{"bytes of a logo"})
		shown, err := core.NewTemplate(e.tenant.ID, core.TemplateInput{
			Name: new("letter"), BodyHTML: new(`<img src="https://news.example.org/m/` + m.Mail.Digits() + `/logo.png">`),
		}, e.seed.Time())
		e.must(err)
		e.must(e.store.AddTemplate(t.Context(), shown, "test"))
		path := "/looks/pictures/" + m.ID
		e.sends(path, http.StatusConflict, url.Values{"do": {"delete"}}, "letter", `value="force"`, "Keep image")
		if _, err := e.store.Media(t.Context(), m.ID); err != nil {
			t.Fatal(err)
		}
		if to := e.sends(path, http.StatusSeeOther, url.Values{"do": {"force"}}); to != "/looks?done=deleted" {
			t.Errorf("leads to %s", to)
		}
		if _, err := e.store.Media(t.Context(), m.ID); core.KindOf(err) != core.NotFound {
			t.Errorf("%v", err)
		}
		e.shows(path, http.StatusNotFound)
	})
}

// A viewer can't open the design pages.
func TestConsoleLooksOfAViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleViewer)
		e.shows("/looks", http.StatusForbidden, "-/looks\"")
		e.sends("/looks/pictures/"+core.NewID(), http.StatusForbidden, url.Values{"do": {"delete"}})
	})
}

func TestConsoleThemes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleEditor)
		e.shows("/looks/themes", http.StatusOK, "Letter", "Journal", "Studio", "Lantern", "theme-preview?base=lantern",
			"-Your themes")
		plain := e.shows("/looks/theme-preview?base=letter", http.StatusOK, "A smaller heading")
		if e.shows("/looks/theme-preview?base=studio", http.StatusOK, "A smaller heading") == plain {
			t.Error("one theme looks as another one")
		}
		e.shows("/looks/theme-preview?base=none", http.StatusOK, "base must be one of")
		speaks := func(language string) {
			_, err := e.store.UpdateTenant(e.Context(), e.tenant.ID, "", func(t *core.Tenant) error {
				t.Language = language
				return nil
			})
			e.must(err)
		}
		speaks("de")
		e.shows("/looks/theme-preview?base=letter", http.StatusOK, "Eine kleinere Überschrift", "-A smaller heading")
		speaks("")
		e.sends("/looks/themes", http.StatusBadRequest, url.Values{"name": {"studio"}, "base": {"journal"}}, `role="alert"`,
			`value="journal" selected`)
		to := e.sends("/looks/themes", http.StatusSeeOther, url.Values{"name": {"Ours"}, "base": {"journal"}})
		path, _, _ := strings.Cut(to, "?")
		id := strings.TrimPrefix(path, "/looks/themes/")
		was, err := e.store.Theme(t.Context(), id)
		e.must(err)
		e.shows(path, http.StatusOK, "Based on Journal", `type="color" value="`+was.Light.Accent+`"`, "theme-preview?id="+id)
		form := url.Values{
			"name": {"Ours"}, "light.accent": {"#7a1f3d"}, "light.text": {"#777777"}, "dark.link": {"#ffffff"},
			"font": {"georgia"},
			"size": {"17"}, "footer_text": {"Sent with care.\r\nBy us."}, "social": {"Our page social.example/@us\r\n\r\n"},
			"logo_url": {"//acme.example/logo.png"},
		}
		shown := e.sendsFrame("/looks/theme-preview?base=journal", form)
		for _, text := range []string{
			"#7a1f3d", "Sent with care.", "https://social.example/@us", "subscribed to Acme",
		} {
			if !strings.Contains(shown, text) {
				t.Errorf("the preview of a form lacks %q", text)
			}
		}
		if is, err := e.store.Theme(t.Context(), id); err != nil || is.Light != was.Light {
			t.Errorf("a preview has changed the theme: %v", err)
		}
		e.sends(path, http.StatusSeeOther, form)
		is, err := e.store.Theme(t.Context(), id)
		e.must(err)
		if is.Light.Accent != "#7a1f3d" || is.Light.Page != was.Light.Page || is.Dark.Link != "#ffffff" || is.Size != 17 ||
			is.FooterText != "Sent with care.\nBy us." || len(is.Social) != 1 || is.Social[0].Name != "Our page" {
			t.Errorf("%+v", is)
		}
		e.shows(path, http.StatusOK, "Text: #777777 is hard to read, so emails use #", "Our page https://social.example/@us")
		e.shows("/looks/theme-preview?id="+id, http.StatusOK, "#7a1f3d")
		e.shows("/looks/themes", http.StatusOK, "Your themes", "Ours")
		form.Set("size", "99")
		e.sends(path, http.StatusBadRequest, form, `value="99"`, "from 14 to 20", `aria-invalid="true"`)
		form.Set("size", "seventeen")
		e.sends(path, http.StatusBadRequest, form, "Enter a number.")
		if to := e.sends(path, http.StatusSeeOther, url.Values{"do": {"delete"}}); to != "/looks/themes?done=deleted" {
			t.Errorf("leads to %s", to)
		}
		e.shows(path, http.StatusNotFound)
	})
}

// The dark colors of buttons and links follow the light ones until a person chooses them.
func TestConsoleThemeDarkColorsFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		to := e.sends("/looks/themes", http.StatusSeeOther, url.Values{"name": {"Ours"}, "base": {"studio"}})
		path, _, _ := strings.Cut(to, "?")
		page := e.shows(path, http.StatusOK, "Polls, preference pages and the archive")
		saved := func(pairs ...string) core.Theme {
			t.Helper()
			form := controls(t, e.shows(path, http.StatusOK), "theme")
			for i := 0; i < len(pairs); i += 2 {
				form.Set(pairs[i], pairs[i+1])
			}
			e.sends(path, http.StatusSeeOther, form)
			theme, err := e.store.Theme(t.Context(), strings.TrimPrefix(path, "/looks/themes/"))
			e.must(err)
			return theme
		}
		parsed := func(color string) core.Color {
			c, ok := core.ParseColor(color)
			if !ok {
				t.Fatal(color)
			}
			return c
		}
		form := controls(t, page, "theme")
		was := saved()
		if was.Dark.Accent != form.Get("dark.accent") || was.Dark.Link != form.Get("dark.link") {
			t.Errorf("saved unchanged, the dark colors are %+v", was.Dark)
		}
		for _, color := range []string{"#b3261e", "#5a2d82"} {
			is, wants := saved("light.accent", color, "light.link", color), was.Dark.WithBrand(parsed(color))
			if is.Dark != wants {
				t.Errorf("%s: the dark colors are %+v, not %+v", color, is.Dark, wants)
			}
		}
		form.Set("light.accent", "#b3261e")
		id := strings.TrimPrefix(path, "/looks/themes/")
		wants := was.Dark.WithBrand(parsed("#b3261e")).Accent
		if shown := e.sendsFrame("/looks/theme-preview?base=studio&id="+id, form); !strings.Contains(shown, wants) {
			t.Errorf("the preview lacks %s", wants)
		}
		if is := saved("dark.accent", "#ffd400", "light.accent", "#b3261e"); is.Dark.Accent != "#ffd400" {
			t.Errorf("a chosen dark color became %s", is.Dark.Accent)
		}
		if is := saved("light.accent", "#5a2d82"); is.Dark.Accent != "#ffd400" {
			t.Errorf("a dark color chosen earlier became %s", is.Dark.Accent)
		}
	})
}

// sendsFrame posts a form whose response is shown in a frame, and checks that the response can't run scripts.
func (e *peopleEnv) sendsFrame(path string, form url.Values) string {
	e.Helper()
	res := e.ask("POST", e.at(path), form)
	body, err := io.ReadAll(res.Body)
	e.must(err)
	if policy := res.Header.Get("Content-Security-Policy"); res.StatusCode != http.StatusOK ||
		!strings.HasPrefix(policy, "sandbox allow-same-origin; default-src 'none'") ||
		!strings.Contains(policy, "frame-ancestors 'self'") {
		e.Errorf("%d, %s", res.StatusCode, policy)
	}
	return string(body)
}

// German pages show the names of built-in themes in German.
func TestConsoleThemesInGerman(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleEditor)
		e.lang = "de"
		named := []string{
			`value="letter">Brief`, `value="journal">Magazin`, `value="studio">Studio`, `value="lantern">Laterne`,
		}
		e.shows(e.path("?tab=settings"), http.StatusOK, named...)
		e.shows("/looks/themes", http.StatusOK, append(named, "-Journal", "-Lantern")...)
		to := e.sends("/looks/themes", http.StatusSeeOther, url.Values{"name": {"Unseres"}, "base": {"lantern"}})
		path, _, _ := strings.Cut(to, "?")
		e.shows(path, http.StatusOK, "Laterne", "-Lantern")
	})
}
