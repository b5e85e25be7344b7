package handlers

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// work is what an answer tells, and what it cost.
type work struct {
	Status     int
	Headers    string // names
	Form       string // of the body: JSON with its values replaced, or a page without the address
	Length     int
	Hashes     int64
	Operations int64 // of the writer
	Statements int64
}

// measure sends a request and counts what it costs. No worker runs in these tests.
func measure(t *testing.T, e *env, path, media, body, email string) work {
	t.Helper()
	before, hashes := e.store.Stats(), e.handler.options.Auth.Hashes()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.url+path, strings.NewReader(strings.ReplaceAll(body, "EMAIL", email)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	req.Header.Set("X-Forwarded-For", "192.0.2.1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	after := e.store.Stats()
	return work{
		Status: res.StatusCode, Headers: strings.Join(slices.Sorted(maps.Keys(res.Header)), " "), Form: formOf(string(b), email), Length: len(b) - strings.Count(string(b), email)*len(email),
		Hashes: e.handler.options.Auth.Hashes() - hashes, Operations: after.Ops - before.Ops, Statements: after.Statements - before.Statements,
	}
}

var anyValue = regexp.MustCompile(`[0-9a-f-]{36}|\d{4}-\d\d-\d\dT[\d:.]+Z`)

func formOf(body, email string) string {
	body = anyValue.ReplaceAllString(strings.ReplaceAll(body, email, "EMAIL"), "…")
	var v map[string]any
	if json.Unmarshal([]byte(body), &v) != nil {
		return body
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// Register, login and forgot, by the API and on the pages, tell strangers nothing of who has an account: the same
// status, headers and form, after the same hashes, operations and statements.
func TestNothingTellsWhoHasAnAccount(t *testing.T) {
	e := newEnv(t)
	e.step(`account ann email=ann-known@user.example password="correct horse battery" verified`)
	e.step(`account una email=una-known@user.example password="correct horse battery"`)
	e.step(`account off email=off-known@user.example password="correct horse battery" verified disabled`)
	known := []string{"ann-known@user.example", "una-known@user.example", "off-known@user.example"}
	const jsonType, formType = "application/json", "application/x-www-form-urlencoded"
	for _, tt := range []struct{ name, path, media, body string }{
		{"register", "/api/auth/register", jsonType, `{"email": "EMAIL", "password": "another one of mine"}`},
		{"login", "/api/auth/login", formType, "grant_type=password&username=EMAIL&password=wrong+password"},
		{"forgot", "/api/auth/password/forgot", jsonType, `{"email": "EMAIL"}`},
		{"login page", "/login", formType, "email=EMAIL&password=wrong+password"},
		{"forgot page", "/password/forgot", formType, "email=EMAIL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// The first of each statement is prepared; that is not counted but for the rounds before.
			measure(t, e, tt.path, tt.media, tt.body, "warm-up-1@user.example")
			want := measure(t, e, tt.path, tt.media, tt.body, strings.ReplaceAll(tt.name, " ", "-")+"-unknown@user.example")
			if want.Operations == 0 || want.Statements == 0 {
				t.Fatalf("nothing was counted: %+v", want)
			}
			for round := range 3 {
				for _, email := range known {
					if got := measure(t, e, tt.path, tt.media, tt.body, email); got != want {
						t.Errorf("round %d, %s:\n%+v, want\n%+v", round, email, got, want)
					}
				}
			}
			t.Logf("%d %d hashes, %d operations, %d statements", want.Status, want.Hashes, want.Operations, want.Statements)
		})
	}
}
