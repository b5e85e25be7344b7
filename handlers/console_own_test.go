package handlers

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/console"
	"newsletterd/store/storetest"
)

// newOwnEnv returns a peopleEnv in which ann has no role and is signed in. bob is another user.
func newOwnEnv(t *testing.T) (e *peopleEnv, ann, bob core.User) {
	t.Helper()
	e = &peopleEnv{pageEnv: pageEnvLater(t)}
	e.seed = storetest.Seed(t, e.store)
	e.tenant = e.seed.NewTenant()
	e.verifyAnn()
	ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
	e.must(err)
	bob = e.seed.NewUser("bob@user.example", "", func(u *core.User) { u.Name = "Bob" })
	e.login()
	return e, ann, bob
}

// owns requests a page that every user has, and checks its status and texts.
func (e *peopleEnv) owns(path string, status int, texts ...string) string {
	e.Helper()
	return e.showsBelow(console.OwnPath, path, status, texts)
}

// posts sends a form of such a page, and returns where the response redirects.
func (e *peopleEnv) posts(path string, status int, form url.Values, texts ...string) (to string) {
	e.Helper()
	return e.sendsBelow(console.OwnPath, path, status, form, texts)
}

// uploadsModel posts the form with a model, as a browser without scripts does.
func (e *peopleEnv) uploadsModel(status int, name, content string, fields map[string]string, texts ...string) (to string) {
	e.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", name)
	e.must(err)
	_, err = io.WriteString(part, content)
	e.must(err)
	for name, value := range fields {
		e.must(form.WriteField(name, value))
	}
	e.must(form.Close())
	r := httptest.NewRequest("POST", console.OwnPath+"/models/upload", &b)
	r.Header.Set("Content-Type", form.FormDataContentType())
	for name, value := range e.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res := httptest.NewRecorder()
	e.handler.ServeHTTP(res, r)
	e.holds("POST upload", res.Code, res.Body.String(), status, texts)
	return strings.TrimPrefix(res.Header().Get("Location"), "https://news.example.org"+console.OwnPath)
}

// If a user without a role has models or devices, the account page links to these and back.
func TestConsoleOwnWithoutARole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, ann, _ := newOwnEnv(t)
		status, body := e.page("GET", accountPath, nil)
		e.holds("the account", status, body, http.StatusOK, []string{
			"-/own/",
		})
		e.seed.NewDevice(ann.ID, core.DeviceInput{Name: new("Printer")})
		status, body = e.page("GET", accountPath, nil)
		e.holds("the account", status, body, http.StatusOK, []string{
			`href="/own/models"`, `href="/own/library"`, `href="/own/devices"`, "Your models",
		})
		if to := e.ask("GET", console.OwnPath, nil).Header.Get("Location"); !strings.HasSuffix(to, "/own/models") {
			t.Errorf("leads to %s", to)
		}
		for _, path := range []string{"/models", "/library", "/devices", "/agents"} {
			e.owns(path, http.StatusOK, `href="/account"`, `aria-current="page"`, "-Tenants", "-Campaigns")
		}
		clear(e.cookies)
		for _, path := range []string{"/models", "/library", "/devices", "/models/" + core.NewID()} {
			res := e.ask("GET", console.OwnPath+path, nil)
			if to := res.Header.Get("Location"); res.StatusCode != http.StatusFound ||
				!strings.Contains(to, "/login?continue=%2Fown%2F") {
				t.Errorf("%s, signed out: %d, %s", path, res.StatusCode, to)
			}
		}
	})
}

// A user with a role finds a link back to the tenant.
func TestConsoleOwnWithARole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleViewer)
		e.owns("/models", http.StatusOK, `href="/console"`)
	})
}

func TestConsoleDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, ann, bob := newOwnEnv(t)
		other := e.seed.NewDevice(bob.ID, core.DeviceInput{Name: new("Secret machine")})
		e.owns("/agents", http.StatusOK, "No agents yet")
		e.posts("/agents", http.StatusBadRequest, url.Values{"name": {" "}, "version": {"1.0"}}, `value="1.0"`,
			`aria-invalid="true"`)
		if to := e.posts("/agents", http.StatusSeeOther,
			url.Values{"name": {"Gateway"}, "version": {"1.0"}}); to != "/agents?done=added" {
			t.Errorf("leads to %s", to)
		}
		agents, err := e.store.Agents(t.Context(), ann.ID, core.Page{Limit: 9})
		e.must(err)
		agent := agents[0]
		e.owns("/agents", http.StatusOK, "Gateway", "1.0")
		e.posts("/agents/"+agent.ID, http.StatusSeeOther, url.Values{"name": {"Hub"}, "version": {"2"}})
		e.owns("/agents/"+agent.ID, http.StatusOK, `value="Hub"`, `value="2"`)

		e.owns("/devices", http.StatusOK, "No devices yet", "Hub", "-Secret machine")
		e.posts("/devices", http.StatusBadRequest, url.Values{"name": {""}, "agent_id": {agent.ID}},
			agent.ID+`" selected`, `role="alert"`)
		e.posts("/devices", http.StatusSeeOther, url.Values{"name": {"Printer"}, "agent_id": {agent.ID}})
		devices, err := e.store.Devices(t.Context(), ann.ID, core.Page{Limit: 9})
		e.must(err)
		d := devices[0]
		if len(devices) != 1 || d.Name != "Printer" || d.AgentID != agent.ID || d.Representative {
			t.Errorf("%+v", devices)
		}
		path := "/devices/" + d.ID
		e.owns("/devices", http.StatusOK, "Printer", "Hub", "Not registered", path)
		e.posts(path, http.StatusSeeOther, url.Values{"do": {"register"}})
		e.owns(path, http.StatusOK, "Unregister device", "Registered today")
		e.posts(path, http.StatusConflict, url.Values{"do": {"register"}}, "already registered", `value="Printer"`)
		e.posts(path, http.StatusSeeOther, url.Values{"do": {"unregister"}})
		e.posts(path, http.StatusSeeOther, url.Values{"name": {"Leader"}, "representative": {"1"}})
		e.owns(path, http.StatusOK, `value="Leader"`, "checked", "Primary device", "-Register device")
		if is, err := e.store.Device(t.Context(), d.ID, ann.ID); err != nil || !is.Representative || is.AgentID != "" ||
			is.Registered {
			t.Errorf("%+v, %v", is, err)
		}
		e.posts(path, http.StatusSeeOther, url.Values{"do": {"remove"}})
		e.owns(path, http.StatusNotFound)
		e.owns("/devices", http.StatusOK, "-Leader")
		e.posts("/agents/"+agent.ID, http.StatusSeeOther, url.Values{"do": {"delete"}})
		e.owns("/agents/"+agent.ID, http.StatusNotFound)

		e.owns("/devices/"+other.ID, http.StatusNotFound, "-Secret machine")
		for _, do := range []string{"", "register", "unregister", "remove"} {
			e.posts("/devices/"+other.ID, http.StatusNotFound, url.Values{"do": {do}, "name": {"Mine"}})
		}
		if is, err := e.store.Device(t.Context(), other.ID, bob.ID); err != nil || is != other {
			t.Errorf("another one's device is %+v, %v", is, err)
		}
	})
}

func TestConsoleModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, ann, _ := newOwnEnv(t)
		e.owns("/models", http.StatusOK, "No models yet", "Upload", "-Verify your email address")
		to := e.uploadsModel(http.StatusSeeOther, "bracket.stl", "solid bracket", map[string]string{
			"description": "Holds <b>5</b> kg.\r\nPrint it lying.", "visibility": "private",
		})
		path, _, _ := strings.Cut(to, "?")
		id := strings.TrimPrefix(path, "/models/")
		who := core.Caller{UserID: ann.ID}
		m, err := e.store.Model(t.Context(), who, id)
		e.must(err)
		if m.Name != "bracket.stl" || m.Description != "Holds <b>5</b> kg.\nPrint it lying." ||
			m.Visibility != core.Private {
			t.Errorf("%+v", m)
		}
		e.owns("/models", http.StatusOK, "bracket.stl", "Holds &lt;b&gt;5", "private", "13 B")
		e.owns("/models?q=brack", http.StatusOK, "bracket.stl")
		e.owns("/models?q=shelf", http.StatusOK, "No models match your search.", "-bracket.stl")
		e.owns(path, http.StatusOK, m.SHA256, "Not shared yet", "Delete model", `value="private" selected`)
		res := e.ask("GET", console.OwnPath+path+"/download", nil)
		if body, _ := io.ReadAll(res.Body); string(body) != "solid bracket" ||
			!strings.Contains(res.Header.Get("Content-Disposition"), "bracket.stl") ||
			!strings.Contains(res.Header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%d, %s, %v", res.StatusCode, body, res.Header)
		}
		r := httptest.NewRequest("GET", console.OwnPath+path+"/download", nil)
		r.Header.Set("Range", "bytes=6-")
		for name, value := range e.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		rest := httptest.NewRecorder()
		e.handler.ServeHTTP(rest, r)
		if rest.Code != http.StatusPartialContent || rest.Body.String() != "bracket" {
			t.Errorf("what was missing: %d, %s", rest.Code, rest.Body)
		}
		e.posts(path, http.StatusSeeOther, url.Values{"name": {"Bracket"}, "description": {""}})
		e.posts(path, http.StatusBadRequest, url.Values{"name": {""}, "description": {"typed"}}, `role="alert"`,
			"typed", `aria-invalid="true"`)
		e.posts(path, http.StatusSeeOther, url.Values{"do": {"visibility"}, "visibility": {"public"}})
		e.posts(path, http.StatusBadRequest, url.Values{"do": {"share"}, "email": {"nobody"}}, `role="alert"`,
			`value="nobody"`, `value="Bracket"`)
		e.posts(path, http.StatusSeeOther, url.Values{"do": {"share"}, "email": {"eve@friend.example"}})
		shares, err := e.store.Shares(t.Context(), id, core.Page{Limit: 9})
		e.must(err)
		e.owns(path, http.StatusOK, "eve@friend.example", shares[0].ID, `value="public" selected`)
		e.posts(path, http.StatusConflict, url.Values{"do": {"share"}, "email": {"eve@friend.example"}}, `role="alert"`)
		e.posts(path, http.StatusSeeOther, url.Values{"do": {"unshare"}, "share": {shares[0].ID}})
		e.owns(path, http.StatusOK, "-eve@friend.example")
		if m, err = e.store.Model(t.Context(), who, id); err != nil || m.Name != "Bracket" || m.Description != "" ||
			m.Visibility != core.PublicVisible {
			t.Errorf("%+v, %v", m, err)
		}
		if to := e.posts(path, http.StatusSeeOther, url.Values{"do": {"delete"}}); to != "/models?done=deleted" {
			t.Errorf("leads to %s", to)
		}
		e.owns(path, http.StatusNotFound)
	})
}

// Users with whom a model is shared can see it but not change it. For other users, it is not found.
func TestConsoleModelsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, ann, bob := newOwnEnv(t)
		hidden := e.seed.NewModel(bob.ID, "hidden plan", core.Private, "a")
		given := e.seed.NewModel(bob.ID, "given plan", core.Private, "b")
		open := e.seed.NewModel(bob.ID, "open plan", core.PublicVisible, "c")
		e.seed.NewModel(ann.ID, "own plan", core.Private, "d")
		share, err := core.NewShare(&given, core.ShareInput{Email: &ann.Email}, core.Caller{UserID: bob.ID},
			e.seed.Time())
		e.must(err)
		e.must(e.store.AddShare(t.Context(), share, "test"))
		e.owns("/library", http.StatusOK, "given plan", "open plan", "own plan", "Bob", "-hidden plan",
			"-bob@user.example")
		e.owns("/library?whose=shared", http.StatusOK, "given plan", "-open plan", "-own plan",
			`value="shared" selected`)
		e.owns("/library?whose=public&q=plan", http.StatusOK, "-given plan", "open plan", "-own plan")
		e.owns("/library?whose=mine", http.StatusOK, "-given plan", "-open plan", "own plan")
		e.owns("/models", http.StatusOK, "own plan", "-open plan")
		for _, m := range []core.Model{given, open} {
			e.owns("/models/"+m.ID, http.StatusOK, m.Name, `href="/own/library" aria-current="page"`, "Owner: Bob",
				"Download", "-<form", "-Shared with", "-bob@user.example")
			if res := e.ask("GET", console.OwnPath+"/models/"+m.ID+"/download", nil); res.StatusCode != http.StatusOK {
				t.Errorf("%s: the download is %d", m.Name, res.StatusCode)
			}
		}
		e.owns("/models/"+hidden.ID, http.StatusNotFound, "-hidden plan")
		e.owns("/models/"+hidden.ID+"/download", http.StatusNotFound)
		for m, status := range map[string]int{
			hidden.ID: http.StatusNotFound, given.ID: http.StatusForbidden,
			open.ID: http.StatusForbidden,
		} {
			for _, do := range []string{"", "visibility", "share", "unshare", "delete"} {
				e.posts("/models/"+m, status, url.Values{
					"do": {do}, "name": {"Mine"}, "visibility": {"public"}, "email": {"x@y.example"}, "share": {share.ID},
				})
			}
		}
		for _, was := range []core.Model{hidden, given, open} {
			is, err := e.store.Model(t.Context(), core.Caller{UserID: bob.ID}, was.ID)
			if err != nil || is.Model != was {
				t.Errorf("%+v was %+v, %v", is.Model, was, err)
			}
		}
	})
}

// The library has pages.
func TestConsoleLibraryPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, ann, _ := newOwnEnv(t)
		for range 25 {
			e.seed.NewModel(ann.ID, "part", core.Private, core.NewID())
		}
		first := e.owns("/library", http.StatusOK, "Next page", "-First page")
		at := strings.Index(first, "?cursor=")
		next, _, _ := strings.Cut(first[at:], `"`)
		if n := strings.Count(e.owns("/library"+next, http.StatusOK, "First page", "-Next page"),
			"<strong>part"); n != 1 {
			t.Errorf("%d on the second page", n)
		}
	})
}
