package handlers

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

// The preferences that a subscriber saves on the page have the same size limit as everywhere.
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
		res, err := http.PostForm(e.url+"/preferences",
			url.Values{"token": {e.value("link")}, "action": {"save"}, "p.city": {tt.city}})
		e.must(err)
		if res.Body.Close(); res.StatusCode != tt.status {
			t.Errorf("%d, want %d", res.StatusCode, tt.status)
		}
	}
}

// After unsubscribing from all lists together, an undo restores all subscriptions together, except for lists that the
// person had left before, had never confirmed, or that are now inactive.
func TestLeavingAllIsTakenBack(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	want := map[string]string{
		"daily": "active", "weekly": "active", "left": "unsubscribed", "asked": "unsubscribed",
		"closed": "unsubscribed",
	}
	for name := range want {
		e.step("list " + name + " tenant=acme")
		e.step("subscription s" + name + " list=" + name + " email=ann@b.example status=" +
			map[string]string{"asked": "pending", "left": "unsubscribed"}[name])
	}
	e.step("unsubscribe-link link list=daily email=ann@b.example")
	send := func(path string, form url.Values) string {
		res, err := http.PostForm(e.url+path, form)
		e.must(err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if e.must(err); res.StatusCode != 200 {
			t.Fatalf("%s: %s %s", path, res.Status, b)
		}
		return string(b)
	}
	left := send("/preferences", url.Values{"token": {e.value("link")}, "action": {"leave_all"}})
	_, err := e.store.UpdateList(t.Context(), e.value("closed"), "test", func(l *core.List) error {
		l.Status = core.ListInactive
		return nil
	})
	e.must(err)
	form := regexp.MustCompile(`action="/undo">\s*<input type="hidden" name="token" value="([^"]+)"`).FindStringSubmatch(left)
	if form == nil {
		t.Fatalf("no way back: %s", left)
	}
	for range 2 { // the second time changes nothing
		said := send("/undo", url.Values{"token": {form[1]}})
		if !strings.Contains(said, "ann@b.example") {
			t.Errorf("%s", said)
		}
		for name, status := range want {
			sub, err := e.store.Subscription(t.Context(), e.value(name), "ann@b.example")
			if err != nil || sub.Status != status {
				t.Errorf("%s: %s, %v; want %s", name, sub.Status, err, status)
			}
		}
	}
}
