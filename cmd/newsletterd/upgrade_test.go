package main

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/handlers/web/webtest"
	"newsletterd/store/db/dbtest"
)

// TestUpgradedDataIsUsed starts the current daemon on a database of the first version. Users must be able to sign in,
// clients must have their secrets, subscribers and jobs must exist, and a copy from before the migration must be kept.
func TestUpgradedDataIsUsed(t *testing.T) {
	daemontest.Parallel(t)
	path := dbtest.FirstVersion(t, "../..")
	r := start(t, func(c *config.Config) { c.Database.Path = path })
	r.Token = r.Send("POST", "/api/auth/login", url.Values{
		"grant_type": {"password"}, "username": {"op@example.org"}, "password": {"an operators password"},
	}).Wants(200).Field("access_token")
	r.As("").Send("POST", "/api/oauth/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"01a1fd75-a972-75ef-b187-cea9a726ac6d"},
		"client_secret": {"jAby0Z5VEAfiKioAe8skmSBKyWkov8dkrCs9rrjXLtU"},
	}).Wants(200)
	get := func(path string, want ...string) webtest.Reply {
		t.Helper()
		reply := r.Get(path).Wants(200)
		for _, w := range want {
			if !strings.Contains(reply.Text, w) {
				t.Errorf("%s: no %q in %.300s", path, w, reply.Text)
			}
		}
		return reply
	}
	var lists []struct{ ID, Name string }
	get("/api/admin/newsletter-lists", "Weekly", "Monthly").JSON(&lists)
	for _, l := range lists {
		want := map[string][]string{
			"Weekly":  {"r1@example.org"},
			"Monthly": {"ada@example.org", "pending@example.org"},
		}[l.Name]
		get("/api/newsletter/subscriptions?list_id="+l.ID, want...)
	}
	get("/api/send-jobs", "Hello {{preferences.first_name}}", `"status":"completed"`, `"status":"pending"`)
	get("/api/models/library", "Cube")
	if kept, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "backup", "*.before-0008")); len(kept) != 1 {
		t.Error("nothing was kept from before")
	}
}
