package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// Fields that a file has added to a person beyond the fields of the list can be edited on the page of the person, and
// keep their type.
func TestConsolePersonsOwnFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		const email = "ida@reader.example"
		e.seed.Active(e.list.ID, email)
		set := func(p core.Preferences) {
			t.Helper()
			_, err := e.store.SetPreferences(t.Context(), e.list.ID, email, p, e.seed.Time())
			e.must(err)
		}
		set(`{"Kunden-Nr.":"K 7","city":"Bonn","company":"WRONG","lines":"a\nb","shoe":43,"tags":["a"],"vip":true}`)
		at := "/people/" + e.found(email).ID
		e.shows(at, http.StatusOK, `name="field.company" type="text" value="WRONG"`,
			`name="field.shoe" type="text" value="43"`,
			`name="field.Kunden-Nr." type="text" value="K 7"`, `name="field.vip"`, `-name="field.lines"`, `-name="field.tags"`,
			`[&#34;a&#34;]`)
		e.sends(at, http.StatusSeeOther, url.Values{
			"field.company": {"Rosen GmbH"}, "field.shoe": {"44"}, "field.Kunden-Nr.": {""}, "field.vip": {"true"},
			"field.city": {"Bonn"}, "field.unknown": {"x"},
		})
		want := core.Preferences(`{"city":"Bonn","company":"Rosen GmbH","lines":"a\nb","shoe":44,"tags":["a"],"vip":true}`)
		if got := e.found(email).Preferences; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		e.sends(at, http.StatusSeeOther, url.Values{"field.shoe": {"large"}, "field.vip": {"false"}})
		want = `{"city":"Bonn","company":"Rosen GmbH","lines":"a\nb","shoe":"large","tags":["a"],"vip":false}`
		if got := e.found(email).Preferences; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		e.sends(at, http.StatusBadRequest, url.Values{"field.company": {"a\nb"}},
			"contains characters that aren't allowed")
		long := strings.Repeat("x", core.MaxFieldText+1) // as an API client has written it
		set(core.Preferences(`{"city":"` + long + `"}`))
		e.sends(at, http.StatusSeeOther, url.Values{"field.city": {long}, "field.first_name": {"Ida"}})
		want = core.Preferences(`{"city":"` + long + `","first_name":"Ida"}`)
		if got := e.found(email).Preferences; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
