package handlers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/console"
	"newsletterd/store/identity"
)

// now returns the current tenant.
func (e *tenantConsole) now() core.Tenant {
	e.Helper()
	t, err := e.store.Tenant(e.Context(), e.tenant.ID)
	e.must(err)
	return t
}

// An administrator changes design, sender and tracking. Wrong values are marked, and the entered values stay.
func TestConsoleSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		form := url.Values{
			"name": {"Acme"}, "brand_name": {"Acme & Co"}, "brand_color": {"#aa3344"}, "postal_address": {"Road 1\nTown"},
			"privacy_url": {"https://acme.example/privacy"}, "language": {"de"}, "mail_from_name": {"Ann"},
			"reply_to": {"a@acme.example"}, "time_zone": {"Europe/Berlin"}, "measure": {"consent"}, "second_person": {"1"},
			"first_few": {"1"}, "test_addresses": {"a@acme.example\r\nb@acme.example"},
		}
		e.shows(e.path("settings"), "Brand and sender", "Sender domains", "Team")
		e.sends(e.path("settings"), form)
		got := e.now()
		if got.BrandName != "Acme & Co" || got.BrandColor != "#aa3344" || got.Language != "de" ||
			got.ReplyTo != "a@acme.example" ||
			!got.TrackingConsent || got.TotalsOnly || got.NoTracking || got.Approval != core.ApprovalSecondPerson ||
			!got.FirstFew || len(got.TestAddresses) != 2 || got.TimeZone != "Europe/Berlin" || got.MailFromName != "Ann" {
			t.Errorf("%+v", got)
		}
		e.shows(e.path("settings"),
			"Leave blank to use the theme's color",
			`value="Acme & Co"`, `<option value="consent" selected>`, "b@acme.example")
		form.Set("then", "legal") // the page stays at the section whose button was pressed
		if to := e.sends(e.path("settings"), form); to != e.path("settings")+"?done=saved#legal" {
			t.Errorf("leads to %s", to)
		}
		form.Set("brand_name", "Acme & Daughter")
		form.Set("then", "logo") // opening the logo page keeps everything that was entered
		if to := e.sends(e.path("settings"), form); to != e.path("settings", "logo")+"?done=saved" {
			t.Errorf("leads to %s", to)
		}
		if got := e.now().BrandName; got != "Acme & Daughter" {
			t.Errorf("%q is lost", got)
		}
		form.Set("brand_color", "rosenrot")
		form.Set("measure", "nothing")
		e.refuses(e.path("settings"), form, http.StatusBadRequest,
			`value="rosenrot" maxlength="30" placeholder="#1e40af" aria-invalid="true"`,
			`<option value="nothing" selected>`)
		// all errors are shown together, and the first has the focus
		for name, value := range map[string]string{
			"name": " ", "reply_to": "nobody", "public_url": "https://acme.example/news", "privacy_url": "none",
			"test_addresses": "a@acme.example nobody", "time_zone": "Acme/Town",
		} {
			form.Set(name, value)
		}
		e.refuses(e.path("settings"), form, http.StatusBadRequest, "Fix the 7 highlighted fields.",
			`<option value="Europe/Berlin">`, "Enter only https:// and the host name")
		_, page := e.page("POST", e.path("settings"), form)
		if got := strings.Count(page, `aria-invalid="true"`); got != 7 || strings.Count(page, `<p class="wrong">`) != 7 ||
			strings.Count(page, " autofocus") != 1 || !slices.Equal(marked(page), []string{"name"}) {
			t.Errorf("%d are marked, %v has the focus", got, marked(page))
		}
		for name, value := range map[string]string{
			"name": "Acme", "reply_to": "", "public_url": "", "privacy_url": "", "test_addresses": "", "time_zone": "",
		} {
			form.Set(name, value)
		}
		form.Set("brand_color", "")
		e.sends(e.path("settings"), form)
		if got := e.now(); !got.NoTracking || got.TrackingConsent || got.BrandColor != "" {
			t.Errorf("%+v", got)
		}
		form.Set("privacy_url", "blumen-müller.example/privacy?x=1#y")
		form.Set("brand_logo_url", " www.acme.example/logo.png ")
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{Domains: &[]string{"acme.example"}})
		form.Set("public_url", "acme.example:8443/")
		e.sends(e.path("settings"), form)
		if got := e.now(); got.PrivacyURL != "https://xn--blumen-mller-klb.example/privacy?x=1#y" ||
			got.BrandLogoURL != "https://www.acme.example/logo.png" || got.PublicURL != "https://acme.example:8443" {
			t.Errorf("%+v", got)
		}
		for _, typo := range []string{"https://datenschutz", "datenschutz", "javascript:alert(1)", "mailto:a@acme.example", "a@acme.example"} {
			form.Set("privacy_url", typo)
			e.refuses(e.path("settings"), form, http.StatusBadRequest, `inputmode="url"`,
				`value="`+typo+`" maxlength="2000" placeholder="https://" aria-invalid`,
				"Enter a full URL, for example https://shop.example/privacy.")
		}
		form.Set("privacy_url", "")
		e.sends(e.path("settings", "mails"), url.Values{"mail_texts.confirm.subject": {"Really?"}})
		if got := e.now(); got.MailTexts.Of(core.MailConfirm).Subject != "Really?" {
			t.Errorf("%+v", got.MailTexts)
		}
		// removing the second person requires a fresh sign-in and then continues
		time.Sleep(core.ProofAge + time.Minute)
		form.Del("second_person")
		if status, page := e.page("POST", e.path("settings"), form); status != http.StatusOK ||
			!strings.Contains(page, `type="password"`) || e.now().Approval != core.ApprovalSecondPerson {
			t.Errorf("%d: %s", status, textOf(page))
		}
	})
}

// The sender domain is extracted from pasted text.
func TestConsoleDomains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		page := e.path("settings", "domains")
		e.shows(page, "No sender domains yet")
		e.refuses(page, url.Values{"domain": {"co.uk"}}, http.StatusBadRequest, "co.uk is a public suffix",
			`value="co.uk"`)
		for _, pasted := range []string{"https://www.news.acme.co.uk/about?x", "ann@acme.example ", "Other.Example."} {
			e.sends(page, url.Values{"domain": {pasted}})
		}
		html := e.shows(page, "news.acme.co.uk", "acme.example", "other.example", "Not verified")
		if strings.Contains(html, "www.news") {
			t.Error("www is a part of the domain")
		}
		found, err := e.store.SenderDomains(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 10})
		e.must(err)
		e.refuses(page, url.Values{"domain": {"ann@gmail.com"}}, http.StatusBadRequest,
			"Use your own domain")
		one := e.path("settings", "domains", found[0].ID)
		e.refuses(one+"/delete", url.Values{}, http.StatusBadRequest, "Check the box to confirm")
		e.sends(one+"/delete", url.Values{"sure": {"1"}})
		if _, err := e.store.SenderDomain(t.Context(), found[0].ID); core.KindOf(err) != core.NotFound {
			t.Errorf("deleted: %v", err)
		}
	})
}

// An operator who is the only owner of a tenant is counted in the team, and the page explains the roles.
func TestConsoleTeamOfAnOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleOperator)
		got := e.shows("/settings/team", http.StatusOK, "1 member",
			"Server administrator: full access",
			"Roles", "Make the person a Publisher. They can then approve "+
				"campaigns from the email they get", "To turn on “Require a second person to approve”, go to",
			"->Edit<")
		if strings.Count(got, "<tr>") != 2 {
			t.Errorf("an empty table: %s", textOf(got))
		}
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{Approval: new(core.ApprovalSecondPerson)})
		e.shows("/settings/team", http.StatusOK, "“Require a second person to approve” is on.")
	})
}

// invitesIn checks that the team page suggests the visitor's language for an invitation, and that the email has the
// language that the form sends.
func (e *tenantConsole) invitesIn(lang string) {
	e.Helper()
	page, at := e.path("settings", "team"), core.At(time.Now())
	e.shows(page, `<option value="en" selected>English`)
	e.sends(page, url.Values{"email": {"lea@user.example"}, "role": {"viewer"}, "language": {lang}})
	mails, err := e.store.DueMails(e.Context(), at, 100)
	e.must(err)
	for _, m := range mails {
		var of core.AccountMail
		if e.must(json.Unmarshal([]byte(m.Params), &of)); m.Email == "lea@user.example" && of.Language == lang {
			return
		}
	}
	e.Errorf("no invitation in %s: %+v", lang, mails)
}

// People are invited, get other roles and lose them. Only administrators can do that.
func TestConsoleTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		page := e.path("settings", "team")
		e.sends(page, url.Values{"email": {"new@user.example"}, "role": {"publisher"}})
		e.shows(page, "1 member", "new@user.example", "Publisher: can write and send campaigns", "Invite person")
		e.refuses(page, url.Values{"email": {"nobody"}, "role": {"viewer"}}, http.StatusBadRequest, `value="nobody"`)
		e.invitesIn("de")
		open, err := e.store.Invitations(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 10})
		e.must(err)
		e.sends(e.path("settings", "invitations", open[0].ID, "delete"), url.Values{})
		if page := e.shows(page); strings.Contains(page, "new@user.example") {
			t.Error("the invitation still stands")
		}
		bob := e.seed.NewUser("bob@user.example", "", func(u *core.User) {
			u.Name = "Bob"
			u.Roles = []core.Role{{Role: core.RoleEditor, TenantID: e.tenant.ID}, {Role: core.RoleViewer, TenantID: e.tenant.ID}}
		})
		e.shows(page, "No 2FA", "Each member can turn it on",
			"Editor: can write campaigns<br>Viewer: can see statistics<")
		e.must(e.store.AddPasskey(e.Context(), core.Passkey{
			ID: core.NewID(), UserID: bob.ID, RPID: "news.test", Name: "key", Credential: []byte("c"), PublicKey: []byte("k"),
		}, bob.Epoch, identity.Answer{Hash: core.HashToken("a"), ExpiresAt: e.seed.Time().Add(time.Hour)}, core.MailStyle{},
			e.seed.Time()))
		e.shows(page, "2FA on")
		e.sends(e.path("settings", "team", bob.ID, "role"), url.Values{"role": {"viewer"}})
		if got := e.roles("bob@user.example"); len(got) != 1 || got[0].Role != core.RoleViewer {
			t.Errorf("%v", got)
		}
		e.refuses(e.path("settings", "team", e.ann.ID, "role"), url.Values{"role": {"viewer"}}, http.StatusConflict,
			"You can't change your own role. Ask another administrator.")
		e.refuses(e.path("settings", "team", bob.ID, "remove"), url.Values{}, http.StatusBadRequest,
			"Check the box to confirm")
		e.sends(e.path("settings", "team", bob.ID, "remove"), url.Values{"sure": {"1"}})
		if got := e.roles("bob@user.example"); len(got) != 0 {
			t.Errorf("%v", got)
		}
	})
}

// Only administrators can open the settings.
func TestConsoleSettingsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RolePublisher)
		if page := e.shows(e.path("lists")); strings.Contains(page, e.path("settings")) {
			t.Error("the navigation leads to settings")
		}
		for _, path := range []string{"settings", "settings/domains", "settings/team", "settings/mails"} {
			for _, method := range []string{"GET", "POST"} {
				if status, _ := e.page(method, e.path(path), url.Values{}); status != http.StatusForbidden {
					t.Errorf("%s %s: %d", method, path, status)
				}
			}
		}
	})
}

// An API client is registered, gets another secret and is deleted. Each secret is shown once, and is not in any URL.
func TestConsoleClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		page := e.path("settings", "clients")
		e.refuses(page, url.Values{"name": {"Shop"}, "scope.newsletter:send": {"1"}, "redirect_uris": {"ftp://x"}},
			http.StatusBadRequest, `value="Shop"`, `href="/openapi"`, "/api/oauth/token -u CLIENT_ID:SECRET",
			`target="_blank"`, "/api/newsletter/subscribe -H",
			`name="scope.newsletter:send" value="1" checked`, `aria-invalid="true"`)
		e.refuses(page, url.Values{"name": {"Shop"}, "scope.newsletter:send": {"1"}}, http.StatusCreated, `id="secret"`,
			":SECRET -d grant_type=client_credentials")
		found, err := e.store.Clients(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 10})
		e.must(err)
		if len(found) != 1 || len(found[0].Scopes) != 1 || found[0].ClientType != core.ClientConfidential {
			t.Fatalf("%+v", found)
		}
		if html := e.shows(page, "Shop", "Write and send campaigns"); strings.Contains(html, `id="secret"`) {
			t.Error("the secret is shown again")
		}
		one := e.path("settings", "clients", found[0].ID)
		e.refuses(one+"/rotate", url.Values{}, http.StatusCreated, `id="secret"`)
		e.refuses(one+"/delete", url.Values{}, http.StatusBadRequest, "Check the box to confirm")
		e.sends(one+"/delete", url.Values{"sure": {"1"}})
		e.shows(page, "No API clients yet")
	})
}

// The audit log shows who changed what, and the previous values.
func TestConsoleAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.sends(e.path("settings"), url.Values{"name": {"Renamed"}, "measure": {"each"}})
		page := e.path("settings", "audit")
		e.shows(page, " changed the settings of ", "user:"+e.ann.ID, "<del>Acme</del> → <ins>Renamed</ins>",
			" created the list ")
		e.sends(e.path("lists", e.list.ID, "settings"), url.Values{"name": {"Weekly"}, "active": {"1"}})
		other := e.seed.NewUser("joan@user.example", "")
		e.must(e.store.GrantRole(t.Context(), other.ID, core.Role{Role: core.RoleEditor, TenantID: e.tenant.ID}, false,
			e.seed.Time()))
		who := `<a href="` + page + `?actor=user%3A` + e.ann.ID + `">` + e.ann.Name
		html := e.shows(page, " changed the settings of ", " edited the list ", ">Weekly</a>", who,
			"test</a> created the list",
			string(other.Email))
		if !strings.Contains(html, `<a href="`+e.path("lists", e.list.ID)+`">Weekly</a>`) ||
			strings.Contains(html, "Someone without a role in this newsletter") {
			t.Error(textOf(html))
		}
		if html := e.shows(page + "?action=tenant"); strings.Contains(html, " created the list ") {
			t.Error("the filter lets other actions through")
		}
		if html := e.shows(page + "?actor=user:" + other.ID); strings.Contains(html, " edited the list ") {
			t.Error("the filter lets other people's actions through")
		}
		today := e.seed.Time().Time().Format(time.DateOnly)
		e.shows(page+"?from="+today+"&until="+today, " edited the list ")
		if html := e.shows(page + "?until=1999-12-30"); strings.Contains(html, " edited the list ") {
			t.Error("the filter lets later actions through")
		}
		// the tenant must not see the name of an operator
		op := e.seed.NewUser("op@user.example", "")
		_, err := e.store.UpdateList(t.Context(), e.list.ID, "user:"+op.ID, func(l *core.List) error {
			l.Name = "Renamed by another"
			return nil
		})
		e.must(err)
		if html := e.shows(page, "Someone without a role in this newsletter"); strings.Contains(html, op.Name) {
			t.Error("an operator's name is shown")
		}
	})
}

// A webhook is created, changed, disabled, gets another secret and is deleted.
func TestConsoleEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		page := e.path("settings", "endpoints")
		e.refuses(page, url.Values{"name": {"Shop"}, "url": {"ftp://x"}}, http.StatusBadRequest, `value="Shop"`,
			`aria-invalid="true"`)
		form := url.Values{"name": {"Shop"}, "url": {"shop.example/hook"}, "event.subscription.activated": {"1"}}
		e.refuses(page, form, http.StatusCreated, "whsec_")
		found, err := e.store.Endpoints(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 10})
		e.must(err)
		if len(found) != 1 || found[0].URL != "https://shop.example/hook" {
			t.Fatalf("%+v", found)
		}
		one := page + "/" + found[0].ID
		if html := e.shows(page, "Shop") + e.shows(one, "Shop", "No events in this period"); strings.Contains(html,
			"whsec_") {
			t.Error("the secret is shown again")
		}
		e.refuses(one+"/rotate", url.Values{}, http.StatusCreated, "whsec_")
		e.shows(one, "The old secret also stays valid until")
		e.sends(one+"/end", url.Values{})
		form.Set("list_id", e.list.ID)
		e.sends(one, form)
		r, err := e.store.Endpoint(t.Context(), found[0].ID)
		if e.must(err); r.DisabledAt == 0 || r.ListID != e.list.ID {
			t.Errorf("%+v", r)
		}
		e.refuses(one+"/delete", url.Values{}, http.StatusBadRequest, "Check the box to confirm")
		e.sends(one+"/delete", url.Values{"sure": {"1"}})
		e.shows(page, "No webhooks yet")
	})
}

// An operator who creates a tenant can join its team, and the one who creates the first tenant joins unless they opt
// out. They are then among the people whose approval is requested.
func TestConsoleOperatorsInTheTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleOperator)
		e.showsBelow(console.Path, "/new-tenant", http.StatusOK, []string{`name="in_team" value="1">`})
		for _, in := range []string{"", "1"} {
			to := e.sendsBelow(console.Path, "/new-tenant", http.StatusSeeOther,
				url.Values{"name": {"Roses"}, "language": {"en"}, "in_team": {in}}, nil)
			a, err := e.store.Approvers(t.Context(), &core.Campaign{TenantID: strings.TrimPrefix(to, "/")}, "",
				core.At(time.Now()))
			e.must(err)
			if want := len(in); a.People != want {
				t.Errorf("in_team %q: %d people are asked for approval, not %d", in, a.People, want)
			}
		}
	})
}

// The first step asks for the time zone, which defaults to the browser's. Times are shown in it.
func TestConsoleTimeZoneOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleOperator)
		made := func(zone string) core.Tenant {
			t.Helper()
			to := e.sendsBelow(console.Path, "/new-tenant", http.StatusSeeOther,
				url.Values{"name": {"Roses"}, "language": {"en"}, "time_zone": {zone}}, nil)
			got, err := e.store.Tenant(t.Context(), strings.TrimPrefix(to, "/"))
			e.must(err)
			return got
		}
		if got := made(""); got.TimeZone != "" {
			t.Errorf("%q, which no one has said", got.TimeZone)
		}
		e.cookies[console.ZoneCookie] = "Asia%2FTokyo"
		e.showsBelow(console.Path, "/new-tenant", http.StatusOK,
			[]string{`name="time_zone" type="text" value="Asia/Tokyo"`})
		if got := made(""); got.TimeZone != "Asia/Tokyo" {
			t.Errorf("%q, not that of the browser", got.TimeZone)
		}
		e.cookies[console.ZoneCookie] = "UTC"
		if got := made(""); got.TimeZone != "UTC" {
			t.Errorf("%q, not that of a browser in UTC", got.TimeZone)
		}
		e.cookies[console.ZoneCookie] = "Asia%2FTokyo"
		if got := made("Europe/Berlin"); got.TimeZone != "Europe/Berlin" {
			t.Errorf("%q, not what was typed", got.TimeZone)
		}
		e.sendsBelow(console.Path, "/new-tenant", http.StatusBadRequest,
			url.Values{"name": {"Roses"}, "language": {"en"}, "time_zone": {"Nowhere"}}, []string{`value="Nowhere"`})
		e.seed.NewJob(e.list.ID)
		at := "/people/" + e.found("grace@reader.example").ID
		now := time.Now().UTC()
		e.shows(at, http.StatusOK, now.Add(9*time.Hour).Format("15:04"))
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{TimeZone: new("Asia/Kolkata")})
		e.shows(at, http.StatusOK, now.Add(5*time.Hour+30*time.Minute).Format("15:04"))
	})
}
