package handlers

import (
	"bytes"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// sendsFile posts a form with a file, as a browser without script does, and returns where the answer leads to.
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
		e.shows("/looks", http.StatusOK, "No picture yet", "Upload", `aria-current="page"`)
		to := e.sendsFile("/looks/upload", http.StatusSeeOther, drawn(t), map[string]string{"alt": "Our window"})
		path, _, _ := strings.Cut(to, "?")
		id := strings.TrimPrefix(path, "/looks/pictures/")
		m, err := e.store.Media(t.Context(), id)
		e.must(err)
		if m.Name != "Shop window.png" || m.Alt != "Our window" || m.TenantID != e.tenant.ID || !strings.HasSuffix(to, "?done=picture") {
			t.Errorf("%+v, leads to %s", m, to)
		}
		e.shows("/looks", http.StatusOK, "Shop window.png", "Our window", "40 × 30 pixels", m.Mail.Digits())
		e.shows("/looks?q=garden", http.StatusOK, "There is no picture like that.", "-Shop window.png")
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

// A picture that something shows is deleted only when that is asked for again.
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
		e.sends(path, http.StatusConflict, url.Values{"do": {"delete"}}, "letter", `value="force"`, "Keep it")
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

// A viewer has no looks.
func TestConsoleLooksOfAViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleViewer)
		e.shows("/looks", http.StatusForbidden, "-/looks\"")
		e.sends("/looks/pictures/"+core.NewID(), http.StatusForbidden, url.Values{"do": {"delete"}})
	})
}
