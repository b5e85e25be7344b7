package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
)

// TestUpgradedDataIsUsed starts today's daemon on a database of the first version: its users sign in, its clients have
// their secrets, its subscribers and jobs are there, and a copy from before is kept.
func TestUpgradedDataIsUsed(t *testing.T) {
	daemontest.Parallel(t)
	path := filepath.Join(t.TempDir(), "newsletterd.db")
	in, err := os.Open("../../testdata/upgrade/v1.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	old, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *config.Config) { c.Database.Path = path })
	base := "http://" + r.listener.Addr().String()
	token := ask(t, base+"/api/auth/login", url.Values{
		"grant_type": {"password"}, "username": {"op@example.org"}, "password": {"an operators password"},
	})["access_token"].(string)
	ask(t, base+"/api/oauth/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"01a1fd75-a972-75ef-b187-cea9a726ac6d"},
		"client_secret": {"jAby0Z5VEAfiKioAe8skmSBKyWkov8dkrCs9rrjXLtU"},
	})
	get := func(path string, want ...string) string {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), "GET", base+path, nil)
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		for _, w := range want {
			if res.StatusCode != 200 || !strings.Contains(string(b), w) {
				t.Errorf("%s: %s without %q: %.300s", path, res.Status, w, b)
			}
		}
		return string(b)
	}
	var lists []struct{ ID, Name string }
	if err := json.Unmarshal([]byte(get("/api/admin/newsletter-lists", "Weekly", "Monthly")), &lists); err != nil {
		t.Fatal(err)
	}
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

// ask posts a form and demands a 200.
func ask(t *testing.T, address string, form url.Values) (answer map[string]any) {
	t.Helper()
	res, err := http.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != 200 {
		t.Fatalf("%s: %s %v %v", address, res.Status, answer, err)
	}
	return answer
}
