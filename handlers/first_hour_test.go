package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/console"
	"newsletterd/store/storetest"
)

// To sign up, a user enters the password in the form and at the link in the email, but not a third time, and the name
// once. The console then shows what comes next.
func TestSignUpLeadsToTheConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := pageEnvLater(t)
		e.ask("POST", "/register", url.Values{"email": {"lea@user.example"}, "password": {"correct horse battery"}})
		mails, err := e.store.DueMails(t.Context(), core.At(time.Now()), 10)
		if e.must(err); len(mails) != 1 {
			t.Fatal(mails)
		}
		token := e.handler.options.Auth.MailToken(mails[0].Kind, mails[0].TokenID)
		if _, page := e.page("GET", "/verify?token="+token, nil); !strings.Contains(page, `name="name"`) {
			t.Errorf("no name is asked for: %s", textOf(page))
		}
		long := url.Values{
			"token": {token}, "new_password": {"correct horse battery"},
			"name": {strings.Repeat("x", 101)},
		}
		if code, page := e.page("POST", "/verify", long); code != http.StatusBadRequest ||
			!strings.Contains(page, `id="name" name="name" autocomplete="name" maxlength="100" value="xxx`) {
			t.Errorf("a name that is too long: %d %s", code, textOf(page))
		}
		res := e.ask("POST", "/verify",
			url.Values{"token": {token}, "new_password": {"correct horse battery"}, "name": {" Lea Marsh "}})
		if to := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther &&
			res.StatusCode != http.StatusFound ||
			!strings.HasSuffix(to, console.Path) {
			t.Fatalf("%d, to %s", res.StatusCode, to)
		}
		code, page := e.page("GET", console.Path, nil)
		for _, want := range []string{"Welcome, Lea Marsh", "lea@user.example", "invite this address", `href="/account"`} {
			if code != http.StatusOK || !strings.Contains(page, want) {
				t.Errorf("%d without %q: %s", code, want, textOf(page))
			}
		}
		if strings.Contains(page, "/own/") {
			t.Error("models are shown to who has none")
		}
	})
}

// A user with an account who accepts an invitation gets to the tenant's console immediately.
func TestInvitationLeadsToTheConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := pageEnvLater(t)
		tenant := storetest.Seed(t, e.store).NewTenant()
		e.verifyAnn()
		e.login()
		_, token := e.invite(tenant.ID, "ann@user.example", "command:test")
		res := e.ask("POST", "/invitation", url.Values{"token": {token}})
		if to := res.Header.Get("Location"); !strings.HasSuffix(to, console.Path+"/"+tenant.ID) {
			t.Errorf("%d, to %q", res.StatusCode, to)
		}
		if code, page := e.page("GET", console.Path+"/"+tenant.ID, nil); code != http.StatusOK {
			t.Errorf("%d %s", code, textOf(page))
		}
	})
}

// The account page has the layout of the console. It mentions models and devices only if the user has some, or can see
// those of others.
func TestAccountInTheConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		look := func(texts ...string) {
			t.Helper()
			code, page := e.page("GET", accountPath, nil)
			e.holds("the account", code, page, http.StatusOK, texts)
		}
		look(`href="`+e.at("/campaigns")+`"`, `class="shell"`, "-/own/")
		ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		e.must(err)
		e.seed.NewDevice(ann.ID, core.DeviceInput{Name: new("Printer")})
		look(`href="/own/devices"`)
	})
}

// The language of an account takes precedence over the browser's, in the console too. Without a chosen language, the
// browser's applies again.
func TestLanguageOfAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		sets := func(lang string, status int) {
			t.Helper()
			res := e.ask("POST", accountPath, url.Values{"action": {"language"}, "language": {lang}})
			if res.StatusCode != status {
				t.Errorf("%q: %d", lang, res.StatusCode)
			}
		}
		shows := func(lang, chosen, people string) {
			t.Helper()
			for path, text := range map[string]string{accountPath: chosen, e.at("/people"): people} {
				code, page := e.page("GET", path, nil)
				e.holds(path, code, page, http.StatusOK, []string{`<html lang="` + lang + `">`, text})
			}
		}
		shows("en", `<option value="" selected>Same as your browser`, "<h1 id=\"title\">People")
		sets("de", http.StatusSeeOther)
		shows("de", `<option value="de" selected>Deutsch`, "<h1 id=\"title\">Kontakte")
		sets("xx", http.StatusBadRequest)
		shows("de", `<option value="de" selected>Deutsch`, "<h1 id=\"title\">Kontakte")
		sets("", http.StatusSeeOther)
		shows("en", `<option value="" selected>Same as your browser`, "<h1 id=\"title\">People")
	})
}

// A sign-in or a reauthentication within the last 15 minutes is enough for all actions that require a fresh one.
func TestPasswordIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		grace := e.found("grace@reader.example").ID
		asks := func(method, path string, form url.Values) bool {
			t.Helper()
			code, page := e.page(method, e.at(path), form)
			if code >= 400 {
				t.Errorf("%s: %d %s", path, code, textOf(page))
			}
			return strings.Contains(page, `action="/login/confirm"`)
		}
		work := []struct {
			method, path string
			form         url.Values
		}{
			{"GET", "/people-export?list=" + e.list.ID, nil},
			{"GET", "/people/" + grace + "/export", nil},
			{"GET", "/people/" + grace + "/erase", nil},
			{"GET", "/new-import", nil},
			{"POST", "/settings/team", url.Values{"email": {"joan@user.example"}, "role": {core.RoleEditor}}},
			{"POST", "/settings/clients", url.Values{"name": {"Shop"}, "scopes": {"newsletter:list.read"}}},
		}
		time.Sleep(16 * time.Minute)
		if !asks(work[0].method, work[0].path, nil) {
			t.Fatal("an old sign-in was enough")
		}
		e.ask("POST", proofPath, url.Values{"continue": {e.at(work[0].path)}, "password": {"correct horse battery"}})
		for _, w := range work {
			time.Sleep(2 * time.Minute)
			if asks(w.method, w.path, w.form) {
				t.Errorf("%s asks again", w.path)
			}
		}
	})
}
