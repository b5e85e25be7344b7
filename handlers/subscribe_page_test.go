package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

// Of more fields than are taken from a form the same are, however often it is sent.
func TestFreeFieldsAreBounded(t *testing.T) {
	form := map[string]string{"email": "a@b.example", "source": "x", "_website": "y", "bad name": "z", "known": "k", "long": strings.Repeat("x", core.MaxFieldText+1)}
	want := []string{}
	for i := range 2 * maxFreeFields {
		name := fmt.Sprintf("f%02d", i)
		form[name] = "v"
		if i < maxFreeFields {
			want = append(want, name)
		}
	}
	for range 10 {
		values := map[string]any{}
		addFree(values, core.Fields{{Name: "known"}}, form)
		if got := slices.Sorted(maps.Keys(values)); !slices.Equal(got, want) {
			t.Fatalf("%q", got)
		}
	}
}

// What a subscriber saves on the page stays within the bound that preferences have everywhere.
func TestSavedPreferencesAreBounded(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list news tenant=acme")
	fields := []core.Field{{Name: "city", Label: "City", Type: core.FieldText}}
	_, err := e.store.UpdateList(t.Context(), e.value("news"), "test", func(l *core.List) error {
		l.Fields = fields
		return nil
	})
	e.must(err)
	e.step("subscription ann list=news email=ann@b.example status=active")
	e.step("unsubscribe-link link list=news email=ann@b.example")
	filled := core.Preferences(`{"x":"` + strings.Repeat("x", core.MaxPreferences-100) + `"}`)
	_, err = e.store.SetPreferences(t.Context(), e.value("news"), "ann@b.example", filled, core.At(time.Now()))
	e.must(err)
	for _, tt := range []struct {
		city   string
		status int
	}{{"Ulm", 200}, {strings.Repeat("u", 200), 413}} {
		res, err := http.PostForm(e.url+"/preferences", url.Values{"token": {e.value("link")}, "action": {"save"}, "p.city": {tt.city}})
		e.must(err)
		if res.Body.Close(); res.StatusCode != tt.status {
			t.Errorf("%d, want %d", res.StatusCode, tt.status)
		}
	}
}
