package handlers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
)

// An email about an account is in the supported language that the browser prefers. What the browser requests is not
// trusted.
func TestMailsHaveTheBrowsersLanguage(t *testing.T) {
	e := newEnv(t)
	for i, tt := range []struct{ header, want string }{
		{"", ""},
		{"*", ""},
		{"en", "en"},
		{"de", "de"},
		{"de-AT, en;q=0.5", "de"},
		{"it, fr;q=0.3, es;q=0.7", "es"},
		{"ja", ""},
		{"de;q=0", ""},
		{"ES-mx", "es"},
		{"x\"<>", ""},
		{strings.Repeat("de-", 3000), ""},
		{strings.Repeat("zz,", 3000) + "de", ""},
	} {
		for _, x := range [][2]string{
			{"/api/auth/register", fmt.Sprintf(`{"email":"new%d@user.example","password":"correct horse battery"}`, i)},
			{"/api/auth/password/forgot", fmt.Sprintf(`{"email":"new%d@user.example"}`, i)},
		} {
			if res, b := e.ask("POST", x[0], "", strings.NewReader(x[1]), "Content-Type", "application/json", "Accept-Language",
				tt.header); res.StatusCode >= 300 {
				t.Errorf("%.40q: %d %s", tt.header, res.StatusCode, b)
			}
		}
		mails, err := e.store.DueMails(t.Context(), core.At(time.Now()), 1000)
		e.must(err)
		if len(mails) != 2*(i+1) {
			t.Fatalf("%d mails", len(mails))
		}
		for _, m := range mails[2*i:] {
			var of core.AccountMail
			if err := json.Unmarshal([]byte(m.Params), &of); err != nil || of.Language != tt.want {
				t.Errorf("%.40q: %s %v, want %q", tt.header, m.Params, err, tt.want)
			}
		}
	}
}

// The page policy allows a form to lead to a tenant's page only if the form does so.
func TestPolicyAllowsWhereAFormLeads(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list plain tenant=acme")
	e.step("list leads tenant=acme")
	e.step("look of=leads subscribed=https://acme.example/a confirmed=https://acme.example/b " +
		"unsubscribed=https://shop.acme.example/c?d=e")
	policy := func(path string) string {
		res := e.get(path)
		csp := res.Header.Get("Content-Security-Policy")
		_, rest, _ := strings.Cut(csp, "form-action ")
		action, _, _ := strings.Cut(rest, ";")
		return action
	}
	for list, want := range map[string][3]string{
		"plain": {"'self'", "'self'", "'self'"},
		"leads": {"'self' https://acme.example", "'self' https://acme.example", "'self' https://shop.acme.example"},
	} {
		e.step("unsubscribe-link out-" + list + " list=" + list + " email=ann@b.example")
		e.step("subscription s-" + list + " list=" + list + " email=ann@b.example status=pending")
		e.step("confirm-mail in-" + list + " email=ann@b.example")
		for i, path := range []string{"/l/" + e.names[list], "/confirm?token=" + e.names["in-"+list], "/unsubscribe?token=" +
			e.names["out-"+list]} {
			if got := policy(path); got != want[i] {
				t.Errorf("%s: %s, want %s", path, got, want[i])
			}
		}
	}
}

// wordsOfPages returns the texts of pages by language.
func wordsOfPages() map[string]*page.Words { return page.AllWords() }
