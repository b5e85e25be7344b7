package handlers

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// work is what a response reveals, and what it cost.
type work struct {
	Status     int
	Headers    string // names of the headers
	Form       string // form of the body: JSON with its values replaced, or a page without the address
	Length     int
	Hashes     int64
	Operations int64 // number of the writer's operations
	Statements int64
}

// measure sends a request and counts what it costs. Without a media type, the request is a GET. No worker runs in these
// tests.
func measure(t *testing.T, e *env, path, media, body, email string) work {
	t.Helper()
	before, hashes := e.store.Stats(), e.handler.options.Auth.Hashes()
	method := http.MethodPost
	if media == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), method, e.url+path,
		strings.NewReader(strings.ReplaceAll(body, "EMAIL", email)))
	if err != nil {
		t.Fatal(err)
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
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
	form := anyValue.ReplaceAllString(strings.ReplaceAll(string(b), email, "EMAIL"), "…")
	var object map[string]any
	if json.Unmarshal([]byte(form), &object) == nil {
		sorted, _ := json.Marshal(object)
		form = string(sorted)
	}
	return work{
		Status: res.StatusCode, Headers: strings.Join(slices.Sorted(maps.Keys(res.Header)), " "),
		Form: form, Length: len(b) - strings.Count(string(b), email)*len(email),
		Hashes: e.handler.options.Auth.Hashes() - hashes, Operations: after.Ops - before.Ops,
		Statements: after.Statements - before.Statements,
	}
}

var anyValue = regexp.MustCompile(`[0-9a-f-]{36}|\d{4}-\d\d-\d\dT[\d:.]+Z`)

// Register, login and forgot, through the API and the pages, don't reveal to strangers who has an account. Status,
// headers and form are the same, after the same hashes, operations and statements.
func TestNothingTellsWhoHasAnAccount(t *testing.T) {
	e := newEnv(t)
	e.step(`account ann email=ann-known@user.example password="correct horse battery" verified`)
	e.step(`account una email=una-known@user.example password="correct horse battery"`)
	e.step(`account off email=off-known@user.example password="correct horse battery" verified disabled`)
	known := []string{"ann-known@user.example", "una-known@user.example", "off-known@user.example"}
	for _, tt := range []struct{ name, path, media, body string }{
		{"register", "/api/auth/register", jsonType, `{"email": "EMAIL", "password": "another one of mine"}`},
		{"login", "/api/auth/login", formType, "grant_type=password&username=EMAIL&password=wrong+password"},
		{"forgot", "/api/auth/password/forgot", jsonType, `{"email": "EMAIL"}`},
		{"login page", "/login", formType, "email=EMAIL&password=wrong+password"},
		{"forgot page", "/password/forgot", formType, "email=EMAIL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// The first use prepares each statement. The rounds before keep that from being counted.
			measure(t, e, tt.path, tt.media, tt.body, "warm-up-1@user.example")
			want := measure(t, e, tt.path, tt.media, tt.body,
				strings.ReplaceAll(tt.name, " ", "-")+"-unknown@user.example")
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
			t.Logf("%d %d hashes, %d operations, %d statements", want.Status, want.Hashes, want.Operations,
				want.Statements)
		})
	}
}

// No public operation for newsletters reveals who is on a list. Status, headers and form are the same, after the same
// operations and statements.
func TestNothingTellsWhoIsSubscribed(t *testing.T) {
	for _, tt := range []struct {
		name, path, media, body string
	}{
		{"subscribe", "/api/newsletter/subscribe", jsonType, `{"list_id": "{list}", "email": "EMAIL"}`},
		{"form", "/l/{list}", formType, "email=EMAIL"},
		{"token", "/api/newsletter/unsubscribe-token", jsonType, `{"list_id": "{list}", "email": "EMAIL"}`},
		{"link", "/preferences", formType, "list={list}&email=EMAIL"},
		{"unsubscribe", "/api/newsletter/unsubscribe", jsonType, `{"token": "{token}"}`},
		{"unsubscribe page", "/unsubscribe", formType, "token={token}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEnv(t)
			e.step("tenant acme")
			e.step("disabled address=off-known@user.example")
			emails := []string{
				"stranger@user.example", "act-known@user.example", "pen-known@user.example",
				"uns-known@user.example", "off-known@user.example",
			}
			var got []work
			for _, list := range []string{"first", "second"} { // the preparation in the first round isn't counted
				e.step("list " + list + " tenant=acme confirm_token=receipt")
				for i, status := range []string{"active", "pending", "unsubscribed"} {
					e.step("subscription s-" + status + " list=" + list + " email=" + emails[i+1] + " status=" + status)
				}
				got = nil
				for _, email := range emails {
					e.step("unsubscribe-link token list=" + list + " kind=requested email=" + email)
					fill := strings.NewReplacer("{list}", e.names[list], "{token}", e.names["token"])
					w := measure(t, e, fill.Replace(tt.path), tt.media, fill.Replace(tt.body), email)
					w.Form, w.Length = sealed.ReplaceAllString(w.Form, "…"), 0 // its length depends on the address
					got = append(got, w)
				}
			}
			if got[0].Status != 200 || got[0].Operations != 1 || got[0].Statements == 0 {
				t.Errorf("%+v", got[0])
			}
			for i, email := range emails {
				if got[i] != got[0] {
					t.Errorf("%s:\n%+v, want\n%+v", email, got[i], got[0])
				}
			}
			t.Logf("%d operations, %d statements", got[0].Operations, got[0].Statements)
		})
	}
}

// Repeated requests reveal no more than the first one. Each costs the same whatever is known about its address, also if
// it shares a row with earlier requests.
func TestRepeatedRequestsTellNothing(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("disabled address=off-known@user.example")
	e.step("list weekly tenant=acme")
	emails := []string{
		"stranger@user.example", "act-known@user.example", "pen-known@user.example",
		"uns-known@user.example", "off-known@user.example",
	}
	for i, status := range []string{"active", "pending", "unsubscribed"} {
		e.step("subscription s-" + status + " list=weekly email=" + emails[i+1] + " status=" + status)
	}
	body := `{"list_id": "` + e.names["weekly"] + `", "email": "EMAIL"}`
	for round := range 8 {
		want := measure(t, e, "/api/newsletter/subscribe", jsonType, body, fmt.Sprintf("new%d@user.example", round))
		want.Form = sealed.ReplaceAllString(want.Form, "…")
		for _, email := range emails {
			got := measure(t, e, "/api/newsletter/subscribe", jsonType, body, email)
			// the first round prepares statements
			if got.Form = sealed.ReplaceAllString(got.Form, "…"); round > 0 && got != want {
				t.Errorf("round %d, %s:\n%+v, want\n%+v", round, email, got, want)
			}
		}
	}
}

// Tokens that don't exist, belong to someone else or have expired don't reveal anything either. Whatever the address,
// the response and its cost are those for a stranger's address. A token that confirms, or has confirmed, proves that
// its holder owns the address.
func TestWrongTokensTellNothing(t *testing.T) {
	for _, tt := range []struct{ name, path, media, body string }{
		{"confirm", "/api/newsletter/confirm?token={token}", "", ""},
		{"confirm page", "/confirm", formType, "token={token}"},
		{"unsubscribe", "/api/newsletter/unsubscribe", jsonType, `{"token": "{token}"}`},
		{"one click", "/api/newsletter/unsubscribe?token={token}", formType, "List-Unsubscribe=One-Click"},
		{"unsubscribe page", "/unsubscribe", formType, "token={token}"},
		{"undo", "/undo", formType, "token={token}"},
		{"preferences", "/preferences", formType, "token={token}&action=save"},
		{"export", "/preferences/export", formType, "token={token}"},
		{"erase", "/preferences/erase", formType, "token={token}&sure=yes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEnv(t)
			e.step("tenant acme")
			emails := []string{
				"stranger@user.example", "act-known@user.example", "pen-known@user.example",
				"uns-known@user.example",
			}
			var got []work
			for _, list := range []string{"first", "second"} { // the preparation in the first round isn't counted
				e.step("list " + list + " tenant=acme")
				for i, status := range []string{"active", "pending", "unsubscribed"} {
					e.step("subscription s-" + status + " list=" + list + " email=" + emails[i+1] + " status=" + status)
				}
				got = nil
				for _, email := range emails {
					for _, spoil := range []func(string) string{
						func(string) string { return "x" },
						func(s string) string { return s[:len(s)-4] + "AAAA" },
						func(s string) string { return s + "A" },
					} {
						e.step("unsubscribe-link token list=" + list + " kind=requested email=" + email)
						fill := strings.NewReplacer("{list}", e.names[list], "{token}", spoil(e.names["token"]))
						w := measure(t, e, fill.Replace(tt.path), tt.media, fill.Replace(tt.body), email)
						w.Length = 0 // the length depends on the request id, which a page shows
						got = append(got, w)
					}
				}
			}
			if got[0].Status != http.StatusBadRequest || got[0].Operations != 0 {
				t.Errorf("%+v", got[0])
			}
			for i := range got {
				if got[i] != got[0] {
					t.Errorf("%s:\n%+v, want\n%+v", emails[i/3], got[i], got[0])
				}
			}
		})
	}
}

// If the token that a stranger gets from subscribe is only a decoy, it confirms nothing and reveals nothing.
func TestAReceiptTellsNothing(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("disabled address=off-known@user.example")
	emails := []string{
		"stranger@user.example", "act-known@user.example", "pen-known@user.example",
		"uns-known@user.example", "off-known@user.example",
	}
	var got []work
	for _, list := range []string{"first", "second"} {
		e.step("list " + list + " tenant=acme confirm_token=receipt")
		for i, status := range []string{"active", "pending", "unsubscribed"} {
			e.step("subscription s-" + status + " list=" + list + " email=" + emails[i+1] + " status=" + status)
		}
		got = nil
		for _, email := range emails {
			res, err := http.Post(e.url+"/api/newsletter/subscribe", jsonType,
				strings.NewReader(`{"list_id": "`+e.names[list]+`", "email": "`+email+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Token string `json:"confirm_token"`
			}
			err = json.NewDecoder(res.Body).Decode(&answer)
			res.Body.Close()
			if err != nil || answer.Token == "" {
				t.Fatal(err, answer)
			}
			got = append(got, measure(t, e, "/api/newsletter/confirm?token="+answer.Token, "", "", email))
		}
	}
	if got[0].Status != http.StatusBadRequest {
		t.Errorf("%+v", got[0])
	}
	for i := range got {
		if got[i] != got[0] {
			t.Errorf("%s:\n%+v, want\n%+v", emails[i], got[i], got[0])
		}
	}
}

const jsonType, formType = "application/json", "application/x-www-form-urlencoded"

var sealed = regexp.MustCompile(`[\w-]{60,}`)
