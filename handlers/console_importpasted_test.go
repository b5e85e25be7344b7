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

// pastes sends the form with people entered as text, and returns the response.
func (e *peopleEnv) pastes(people string) *httptest.ResponseRecorder {
	e.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	e.must(w.WriteField("list", e.list.ID))
	e.must(w.WriteField("people", people))
	_, err := w.CreateFormFile("file", "")
	e.must(err)
	e.must(w.Close())
	r := httptest.NewRequest(http.MethodPost, e.at("/new-import"), &b)
	r.Header.Set("Content-Type", w.FormDataContentType())
	for name, value := range e.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	rec := httptest.NewRecorder()
	e.handler.ServeHTTP(rec, r)
	return rec
}

// People can be pasted as text, or uploaded in a file without a header. Both go through the dry run.
func TestConsoleImportsPastedPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		const people = "Dora Klein <dora@example.test>\r\n\r\nemil@example.test; Emil\r\nwho?\r\n" +
			"Fritz, fritz@example.test\r\n"
		e.shows("/new-import", http.StatusOK, `<textarea`, `name="people"`)
		rec := e.pastes(people)
		at := strings.TrimPrefix(rec.Header().Get("Location"), "https://news.example.org"+e.at(""))
		if rec.Code != http.StatusSeeOther {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		for _, at := range []string{at, e.uploads(e.list.ID, "people.txt", people)} {
			e.shows(at, http.StatusOK, `value="first_name" selected`, `value="last_name" selected`, "-weren't recognized",
				`name="source" type="text" value=""`, `placeholder="Example: `)
			form, _ := e.choices(at)
			e.sends(at, http.StatusSeeOther, form)
			e.runImports()
			e.shows(at, http.StatusOK, "<strong>3</strong> new subscribers", "Line 4", "Dry run result", "-Dry run done",
				">Names and addresses recognized<", ">Last name<", "-Map columns")
		}
		form, _ := e.choices(at)
		form.Set("do", "run")
		form.Set("source", " ")
		e.sends(at, http.StatusBadRequest, form, "Enter where you got the consent")
		form.Set("source", "the fair")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		if s := e.found("dora@example.test"); s.Preferences != `{"first_name":"Dora","last_name":"Klein"}` {
			t.Errorf("%+v", s)
		}
		if rec := e.pastes(strings.Repeat("x", 300<<10)); rec.Code != http.StatusBadRequest {
			t.Errorf("a long text: %d", rec.Code)
		}
	})
}

// A column with whole names becomes first and last name, as in pasted lines, unless the list has a field for it.
func TestConsoleImportsWholeNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		imported := func(file, address, want string) {
			at := e.uploads(e.list.ID, "a.csv", file)
			form, _ := e.choices(at)
			form.Set("do", "run")
			e.sends(at, http.StatusSeeOther, form)
			e.runImports()
			if s := e.found(core.Email(address)); string(s.Preferences) != want {
				t.Errorf("%q: %+v, want %s", file, s, want)
			}
		}
		imported("email;Full name\nann@reader.example;\"Gray, Ann\"\n", "ann@reader.example",
			`{"first_name":"Ann","last_name":"Gray"}`)
		imported("E-Mail;Name\ninge@reader.example;Dr. Inge von der Au\n", "inge@reader.example",
			`{"first_name":"Dr. Inge","last_name":"von der Au"}`)
		imported("email;Vorname;Name\nida@reader.example;Ida;Ida R.\n", "ida@reader.example",
			`{"first_name":"Ida","name":"Ida R."}`)
		_, err := e.store.UpdateList(t.Context(), e.list.ID, "", func(l *core.List) error {
			l.Fields = core.Fields{{Name: "name", Label: "Name", Type: core.FieldText}}
			return nil
		})
		e.must(err)
		imported("email;Full name\nbob@reader.example;Bob Gray\n", "bob@reader.example", `{"name":"Bob Gray"}`)
	})
}

// Errors in the names of the columns are in the language of the page.
func TestConsoleTranslatesColumnFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.lang = "de"
		at := e.uploads(e.list.ID, "a.csv", "Kunde,Ort\nann@reader.example,Ulm\n")
		e.shows(at, http.StatusOK, "Keine Spalte heißt „E-Mail“.", "Kunde, Ort", "-no column is",
			`value="Import: a.csv"`, "Der Dateiname allein beweist wenig.")
		form, _ := e.choices(at)
		form.Set("column.0", "")
		e.sends(at, http.StatusBadRequest, form, "Keine Spalte heißt „E-Mail“.", "-no column is")
	})
}

// The form for a person accepts an address with a name, as email programs copy it.
func TestConsoleAddsAddressWithName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.shows("/new-person?list="+e.list.ID, http.StatusOK, `name="email" type="text" inputmode="email"`)
		for address, typed := range map[core.Email]string{
			"dora@example.test": "Dora Klein <dora@example.test>",
			"dina@example.test": `"Klein, Dora" <dina@example.test>`,
		} {
			e.sends("/new-person", http.StatusSeeOther, url.Values{
				"list": {e.list.ID}, "agreed": {"yes"}, "source": {"the fair"}, "email": {typed},
			})
			if s := e.found(address); s.Preferences != `{"first_name":"Dora","last_name":"Klein"}` {
				t.Errorf("%+v", s)
			}
		}
		e.lang = "de"
		e.sends("/new-person", http.StatusBadRequest, url.Values{
			"list": {e.list.ID}, "agreed": {"no"}, "email": {"sabine.müller@example.test"},
		}, "Vor dem @ darf eine E-Mail-Adresse kein „ü“ enthalten.")
	})
}
