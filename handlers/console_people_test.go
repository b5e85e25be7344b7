package handlers

import (
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/console"
	"newsletterd/store/campaigns"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
	"newsletterd/worker"
)

// peopleEnv is a tenant with a list of three people, and ann, who has a role there and is signed in.
type peopleEnv struct {
	*pageEnv
	seed   *storetest.Seeder
	tenant core.Tenant
	list   core.List
}

func newPeopleEnv(t *testing.T, role string) *peopleEnv {
	t.Helper()
	e := &peopleEnv{pageEnv: pageEnvLater(t)}
	e.seed = storetest.Seed(t, e.store)
	e.tenant = e.seed.NewTenant()
	e.list = e.seed.NewList(func(in *core.ListInput) {
		in.Name, in.ConsentText = new("Weekly"), new("I want the weekly news.")
		in.Fields = &[]core.Field{
			{Name: "city", Label: "City", Type: core.FieldText},
			{Name: "tea", Label: "Likes tea", Type: core.FieldBoolean},
		}
	})
	e.verifyAnn()
	ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
	e.must(err)
	r := core.Role{Role: role, TenantID: e.tenant.ID}
	if role == core.RoleOperator {
		r.TenantID = core.TenantNone
	}
	e.must(e.store.GrantRole(t.Context(), ann.ID, r, false, e.seed.Time()))
	e.seed.Active(e.list.ID, "grace@reader.example")
	e.seed.Active(e.list.ID, "joan@reader.example")
	e.seed.Pending(e.list.ID, "wilma@reader.example")
	e.seed.Deliver()
	e.login()
	return e
}

// at returns a path in the tenant's console.
func (e *peopleEnv) at(path string) string { return console.Path + "/" + e.tenant.ID + path }

// shows requests a page, and checks its status and texts. The page must not contain texts that begin with "-".
func (e *peopleEnv) shows(path string, status int, texts ...string) string {
	e.Helper()
	return e.showsBelow(e.at(""), path, status, texts)
}

// showsBelow is like shows, for pages below another path.
func (e *peopleEnv) showsBelow(base, path string, status int, texts []string) string {
	e.Helper()
	got, body := e.page("GET", base+path, nil)
	e.holds("GET "+path, got, body, status, texts)
	return body
}

// sends posts a form, and returns where the response redirects.
func (e *peopleEnv) sends(path string, status int, form url.Values, texts ...string) (to string) {
	e.Helper()
	return e.sendsBelow(e.at(""), path, status, form, texts)
}

// sendsBelow is like sends, for pages below another path.
func (e *peopleEnv) sendsBelow(base, path string, status int, form url.Values, texts []string) (to string) {
	e.Helper()
	res := e.ask("POST", base+path, form)
	body, err := io.ReadAll(res.Body)
	e.must(err)
	e.holds("POST "+path, res.StatusCode, string(body), status, texts)
	return strings.TrimPrefix(res.Header.Get("Location"), "https://news.example.org"+base)
}

func (e *peopleEnv) holds(what string, got int, body string, status int, texts []string) {
	e.Helper()
	if got != status {
		e.Errorf("%s: %d, not %d: %s", what, got, status, textOf(body))
	}
	plain := html.UnescapeString(body)
	for _, text := range texts {
		bare, not := strings.CutPrefix(text, "-")
		if not == (strings.Contains(body, bare) || strings.Contains(plain, bare)) {
			e.Errorf("%s: %q in %s", what, text, textOf(body))
		}
	}
}

// found returns the subscription of an address.
func (e *peopleEnv) found(email core.Email) core.Subscription {
	e.Helper()
	s, err := e.store.Subscription(e.Context(), e.list.ID, email)
	e.must(err)
	return s
}

// buttons finds links that look like buttons: their URLs, and their texts after the icon.
var buttons = regexp.MustCompile(`(?s)<a class="button[^"]*" href="([^"]+)">(?:<svg.*?</svg>)?\s*([^<]+)</a>`)

// Links with different targets have different labels.
func TestConsoleButtonsSayWhatTheyDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RolePublisher)
		e.seed.NewList()
		for _, path := range []string{"people", "imports", "campaigns", "lists/" + e.list.ID} {
			leads := map[string]string{}
			for _, b := range buttons.FindAllStringSubmatch(e.shows(e.path(path)), -1) {
				if to, known := leads[b[2]]; known && to != b[1] {
					t.Errorf("%s: %q leads to %s and to %s", path, b[2], to, b[1])
				}
				leads[b[2]] = b[1]
			}
			if len(leads) == 0 {
				t.Errorf("%s: no buttons", path)
			}
		}
	})
}

func TestConsolePeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		e.shows("/people", http.StatusOK, "grace@reader.example", "wilma@reader.example",
			"2 subscribers · on 1 list · 1 pending",
			"Add person", "Import", `aria-current="page"`)
		e.shows("/people?q=GRA", http.StatusOK, "grace@reader.example", "-joan@reader.example")
		_, err := e.store.SetPreferences(t.Context(), e.list.ID, "grace@reader.example", `{"last_name":"Hopper"}`,
			e.seed.Time())
		e.must(err)
		e.shows("/people?q=hop", http.StatusOK, `>Hopper<span class="sub">grace@reader.example</span></a>`,
			"-joan@reader.example")
		e.shows("/people?status=pending&list="+e.list.ID, http.StatusOK, "wilma@reader.example", "-joan@reader.example")
		e.shows("/people?q=nobody", http.StatusOK, "No subscribers match your search.")
		e.shows("/people?list=x", http.StatusBadRequest)
		for k := range 60 {
			e.seed.Active(e.list.ID, storetest.Reader(k))
		}
		first := e.shows("/people", http.StatusOK, "Next page", "-First page")
		_, rest, _ := strings.Cut(first, `cursor=`)
		cursor, _, _ := strings.Cut(rest, `"`)
		second := e.shows("/people?cursor="+strings.ReplaceAll(cursor, "&amp;", "&"), http.StatusOK, "First page",
			"-Next page")
		if n := strings.Count(first, `class="row"`) + strings.Count(second, `class="row"`); n != 63 {
			t.Errorf("%d people on two pages", n)
		}
	})
}

// Users who may not read addresses see them masked, and can't search by them.
func TestConsolePeopleAreMasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleEditor)
		body := e.shows("/people?q=gra", http.StatusOK, "-grace@reader.example", "-joan@reader.example", "-Add person",
			"-Import", "-starts with", "doesn't include access to full email addresses")
		if n := strings.Count(body, `class="row"`); n != 3 {
			t.Errorf("a search by an address that is masked finds %d", n)
		}
		if strings.Contains(body, e.found("grace@reader.example").ID) {
			t.Error("the true id of a subscription")
		}
		e.shows("/new-person", http.StatusForbidden)
		e.sends("/new-person", http.StatusForbidden, url.Values{"list": {e.list.ID}, "email": {"new@reader.example"}})
	})
}

func TestConsoleAddsAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		e.shows("/new-person", http.StatusOK, "Weekly", "City", "Likes tea", "Not yet", "First name", "Last name")
		form := url.Values{
			"list": {e.list.ID}, "email": {"new@reader.example"}, "agreed": {"no"}, "source": {"at the fair"},
			"field.city": {"Bonn"}, "field.tea": {"true"}, "field.first_name": {"Ada"}, "field.last_name": {""},
		}
		to := e.sends("/new-person", http.StatusSeeOther, form)
		s := e.found("new@reader.example")
		if s.Status != core.SubscriptionPending || to != "/people/"+s.ID+"?done=asked" {
			t.Errorf("%s, leads to %s", s.Status, to)
		}
		var said map[string]any
		if err := json.Unmarshal([]byte(s.Preferences), &said); err != nil ||
			said["city"] != "Bonn" || said["tea"] != true ||
			said["first_name"] != "Ada" || len(said) != 3 {
			t.Errorf("%s, %v", s.Preferences, err)
		}
		if to := e.sends("/new-person", http.StatusSeeOther, form); !strings.HasSuffix(to, "done=known") {
			t.Errorf("again: %s", to)
		}
		form.Set("email", "sure@reader.example")
		form.Set("agreed", "yes")
		to = e.sends("/new-person", http.StatusSeeOther, form)
		s = e.found("sure@reader.example")
		if s.Status != core.SubscriptionActive || !strings.HasSuffix(to, "done=person-added") {
			t.Errorf("%s, leads to %s", s.Status, to)
		}
		form.Set("email", "no address")
		e.sends("/new-person", http.StatusBadRequest, form, "no address", `aria-invalid="true"`, "Bonn", "at the fair")
		e.seed.Leave(e.list.ID, "joan@reader.example")
		form.Set("email", "joan@reader.example")
		e.sends("/new-person", http.StatusConflict, form, "Only they can subscribe again")
		e.seed.NewList()
		e.shows("/new-person", http.StatusOK, "Choose a list")
		e.shows("/new-person?list="+e.list.ID, http.StatusOK, "Change list")
	})
}

// Forms have the first and the last name unless the list has the full name, also if the list has only one of them.
func TestConsoleNamesOfPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		first, last := `name="field.first_name"`, `name="field.last_name"`
		for field, shown := range map[string][]string{
			"city": {first, last}, "first_name": {first, last}, "last_name": {first, last},
			"vorname": {`name="field.vorname"`, last, "-" + first},
			"name":    {`name="field.name"`, "-" + first, "-" + last},
		} {
			e.sends("/lists/"+e.list.ID+"/questions", http.StatusSeeOther, url.Values{
				"q1.name": {field}, "q1.label": {field}, "q1.type": {"text"},
			})
			page := e.shows("/new-person", http.StatusOK, shown...)
			if at := strings.Index(page, last); at >= 0 && strings.Index(page, first) > at {
				t.Errorf("%s: the last name comes first", field)
			}
			e.shows("/people/"+e.found("joan@reader.example").ID, http.StatusOK, shown...)
		}
	})
}

// The page of a person shows the consent history with the texts agreed to, the lists and the fields.
func TestConsolePerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		sub, row, err := e.store.Subscribe(t.Context(), members.SubscribeRequest{
			ListID: e.list.ID, Email: "ida@reader.example", Preferences: `{"city":"Bonn","shoe":43}`,
			Origin:      core.Origin{Source: "form", Remote: "192.0.2.7", UserAgent: "Some browser"},
			TextVersion: e.list.ConsentVersion(),
		}, e.seed.Time())
		e.must(err)
		_, err = e.store.Confirm(t.Context(), e.seed.Token(row, core.ProofMailed), core.Origin{}, e.seed.Time())
		e.must(err)
		e.seed.Deliver()
		at := "/people/" + sub.ID
		e.shows(at, http.StatusOK, "ida@reader.example", "Signed up", "Confirmed by email",
			"I want the weekly news.", "192.0.2.7", "Some browser", "Weekly", `value="Bonn"`, "shoe", "43", "Unsubscribe",
			"Erase", "Campaigns sent to this person appear here", "-This address is blocked")

		to := e.sends(at, http.StatusSeeOther, url.Values{"field.city": {""}, "field.tea": {"false"}})
		if got := e.found("ida@reader.example").Preferences; to != at+"?done=saved" || got != `{"shoe":43,"tea":false}` {
			t.Errorf("%s, leads to %s", got, to)
		}
		e.sends(at, http.StatusBadRequest, url.Values{"field.city": {strings.Repeat("x", 501)}}, "too long", "xxxxxx")
		e.sends(at, http.StatusSeeOther, url.Values{"field.first_name": {"Ida"}})
		e.shows(at, http.StatusOK, `name="field.first_name" type="text" value="Ida"`)

		e.shows(at+"/unsubscribe", http.StatusOK, "only they can sign up again")
		if e.found("ida@reader.example").Status != core.SubscriptionActive {
			t.Error("a look at the page has ended the subscription")
		}
		to = e.sends(at+"/unsubscribe", http.StatusSeeOther, url.Values{})
		if got := e.found("ida@reader.example").Status; to != at+"?done=ended" || got != core.SubscriptionUnsubscribed {
			t.Errorf("%s, leads to %s", got, to)
		}
		bob := e.seed.NewUser("bob@user.example", "", func(u *core.User) {
			u.Name, u.Roles = "Bob", []core.Role{{Role: core.RoleTenantAdmin, TenantID: e.tenant.ID}}
		})
		e.shows(at, http.StatusOK, "Unsubscribed manually", "by ann@user.example", "-/unsubscribe")
		for name, by := range map[string]string{"by Bob": bob.ID, "by a team member": core.NewID()} {
			sub, _, err := e.store.AddSubscription(t.Context(), imports.SubscriptionInput{
				ListID: e.list.ID, Email: core.Email(core.NewID() + "@reader.example"), Status: core.SubscriptionActive,
				Source: core.UserActor(by),
			}, core.UserActor(by), e.seed.Time())
			e.must(err)
			e.seed.Deliver()
			e.shows("/people/"+sub.ID, http.StatusOK, "Added manually", name)
		}
		e.shows("/people/"+core.NewID(), http.StatusNotFound)
	})
}

// The page of a person shows the emails sent to them.
func TestConsolePersonsMails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		j := e.seed.NewJob(e.list.ID, func(r *campaigns.JobRequest) { r.BodyText = "Dear {{email}}" })
		j = e.seed.Finish(e.seed.Start(j))
		at := "/people/" + e.found("grace@reader.example").ID
		mail := at + "/mails/" + j.ID
		const took, spam = "Accepted by reader.example", "check their spam folder"
		e.shows(at, http.StatusOK, `href="`+e.at(mail)+`">Hi<`, "Sent to reader.example · no bounce so far", spam,
			"-/unsubscribe", "-/erase", "-Campaigns sent to this person appear here", "-Save")
		e.sends(at, http.StatusForbidden, url.Values{"field.city": {"Ulm"}})
		e.shows(mail, http.StatusOK, `<h1 id="title">Hi`, "Preview for grace@reader.example", e.at(mail)+"/frame")
		e.shows(mail+"/frame", http.StatusOK, "Dear grace@reader.example")
		e.shows("/people/"+core.NewID()+"/mails/"+j.ID, http.StatusNotFound)
		for _, of := range []struct {
			kind  string
			texts []string
		}{
			{core.ProviderDelivery, []string{"Delivered", took, spam}},
			{core.ProviderComplaint, []string{"Marked as spam", "-" + took, "-" + spam}},
		} {
			for seq := range j.Recipients {
				e.must(e.store.ApplyReports(t.Context(), []core.ProviderReport{{
					Provider: "pm", Key: core.ProviderKey(of.kind, strconv.Itoa(int(seq))), JobNo: j.No, Seq: seq + 1,
					Event: core.ProviderEvent{Type: of.kind, MessageID: "m", TenantID: e.tenant.ID, OccurredAt: e.seed.Time()},
				}}, e.seed.Time()))
			}
			e.shows(at, http.StatusOK, of.texts...)
		}
	})
}

// An editor finds a person only by the masked id, and sees neither the address nor the consent text.
func TestConsolePersonIsMasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleViewer)
		id := e.found("grace@reader.example").ID
		e.shows("/people/"+id, http.StatusNotFound)
		e.shows("/people/"+e.store.MaskedSubscriptionID(id), http.StatusOK,
			"Subscribed to “Weekly”, added on", "-grace@",
			"-Consent history", "-Automatic emails",
			"-/unsubscribe", "-/erase", "Your role doesn't include access to full email addresses and personal data")
		e.shows("/people/"+e.store.MaskedSubscriptionID(id)+"/erase", http.StatusForbidden)
	})
}

// Before an erasure, the page asks for the person's address and then shows what will be deleted. The erasure needs
// two-factor authentication, and leaves no data of the person.
func TestConsoleErasesAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		at := "/people/" + e.found("joan@reader.example").ID
		e.shows(at+"/erase", http.StatusOK, "permanently deleted", "joan@reader.example")
		time.Sleep(core.ProofAge + time.Minute)
		e.shows(at+"/erase", http.StatusOK, "-permanently deletes", "password")
		e.login()
		e.sends(at+"/erase", http.StatusBadRequest, url.Values{}, "Check the box to confirm")
		if to := e.sends(at+"/erase", http.StatusSeeOther, url.Values{"sure": {"1"}}); to != "/people?done=erased" {
			t.Errorf("leads to %s", to)
		}
		e.shows(at, http.StatusNotFound)
	})
}

// An address is blocked and unblocked, on a separate page and on the page of the person.
func TestConsoleSwitchesAddressesOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.shows("/suppressions", http.StatusOK, "No blocked addresses")
		form := url.Values{"email": {"joan@reader.example"}, "reason": {"asked by letter"}}
		if to := e.sends("/suppressions", http.StatusSeeOther, form); to != "/suppressions?done=switched-off" {
			t.Errorf("leads to %s", to)
		}
		body := e.shows("/suppressions", http.StatusOK, "joan@reader.example", "asked by letter", "Unblock")
		if n := strings.Count(body, "asked by letter"); n != 1 {
			t.Errorf("what stands on both sides is there %d times", n)
		}
		e.shows("/suppressions?q=grace@reader.example", http.StatusOK, "This address isn't on the suppression list",
			"-asked by letter")
		at := "/people/" + e.found("joan@reader.example").ID
		e.shows(at, http.StatusOK, "This address is blocked. It doesn't get emails from any of your lists.",
			"Unblock address")
		if to := e.sends(at+"/lift", http.StatusSeeOther, url.Values{}); to != at+"?done=lifted" {
			t.Errorf("leads to %s", to)
		}
		e.shows(at, http.StatusOK, "-This address is blocked")
		e.sends("/suppressions", http.StatusSeeOther, form)
		if to := e.sends("/suppressions/lift", http.StatusSeeOther, form); to != "/suppressions?done=lifted" {
			t.Errorf("leads to %s", to)
		}
		e.shows("/suppressions", http.StatusOK, "No blocked addresses")
		e.sends("/suppressions", http.StatusBadRequest, url.Values{"email": {"none"}, "reason": {"why not"}}, "why not")
	})
}

// Bounced addresses aren't blocked. The page says where they are, and finds them by address.
func TestConsoleSwitchedOffLeadsToTheUnreached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		body := e.shows("/suppressions", http.StatusOK, "No blocked addresses")
		if strings.Contains(body, `id="unreached"`) {
			t.Error("all are reached")
		}
		e.seed.Tell(e.list, core.StatusBounced, "joan@reader.example")
		e.shows("/suppressions", http.StatusOK, "1 address bounced on your lists", "/people?status=bounced\"",
			"-spam complaint",
			`-id="on-lists"`)
		e.shows("/suppressions?q=joan@reader.example", http.StatusOK, "Bounced</span>",
			"/people/"+e.found("joan@reader.example").ID)
		e.shows("/suppressions?q=joan", http.StatusBadRequest, "enter a valid email address", `value="joan"`,
			`-id="on-lists"`)
	})
}

// runImports runs the queued imports and undos.
func (e *peopleEnv) runImports() {
	worker.Imports(e.store, nil, slog.New(slog.DiscardHandler)).Step(e.Context(), time.Now())
}

// An operator sees a person only in the navigation of the person's tenant. People are found by the value of a field.
func TestConsolePeopleByTenantAndField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleOperator)
		other := e.seed.NewTenant()
		list := e.seed.NewList(func(in *core.ListInput) { in.TenantID = &other.ID })
		theirs := e.seed.Active(list.ID, "theirs@reader.example")
		for _, part := range []string{"", "/unsubscribe", "/erase", "/export"} {
			e.shows("/people/"+theirs.ID+part, http.StatusNotFound, "-theirs@reader.example")
		}
		e.sends("/people/"+theirs.ID+"/lift", http.StatusNotFound, url.Values{})
		e.sends("/people/"+theirs.ID+"/unsubscribe", http.StatusNotFound, url.Values{})
		ours := e.seed.Active(e.list.ID, "ours@reader.example")
		e.shows("/people/"+ours.ID+"/export?file=1", http.StatusOK, `"ours@reader.example"`, "-<html")
		_, err := e.store.SetPreferences(t.Context(), e.list.ID, ours.Email, `{"city":"Bonn"}`, e.seed.Time())
		e.must(err)
		e.seed.Active(e.list.ID, "else@reader.example")
		e.shows("/people?list="+e.list.ID, http.StatusOK, "ours@reader.example", "else@reader.example",
			"Field value")
		e.shows("/people?list="+e.list.ID+"&field=city&value=Bonn", http.StatusOK, "ours@reader.example",
			"-else@reader.example")
	})
}

// A file is uploaded, its columns are mapped, a dry run and the import are performed, and the faulty lines are
// downloaded.
func TestConsoleImports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		if page := e.shows("/imports", http.StatusOK, "No imports yet"); strings.Count(page, "Import people") != 1 {
			t.Errorf("an empty page needs one action: %s", textOf(page))
		}
		e.shows("/new-import", http.StatusOK, "List", "multipart/form-data")
		at := e.uploads(e.list.ID, "readers.csv",
			"Adresse;Stadt;Notiz\nnew@reader.example;Bonn;x\nno address;Ulm;y\nnew@reader.example;Bonn;x\n")
		e.shows(at, http.StatusOK, "readers.csv", "Stadt", "Bonn", "Ulm", "Choose the column with the email addresses",
			"-Start import", "Start dry run",
			"-checked", `value="email" selected>Email address<`, `value="notiz">Save as`, `-value="notiz" selected`,
			`value="city" selected>City (recognized)<`)
		form := url.Values{"column.0": {"email"}, "column.1": {"city"}, "column.2": {""}, "source": {"the old shop"}}
		e.sends(at, http.StatusBadRequest, form, "Choose whether these people gave their consent", `value="email" selected`, "the old shop",
			`value="active" aria-invalid="true" aria-describedby="agreed-wrong" autofocus`, `aria-required="true"`,
			"- required") // for which browsers would show their own message
		form.Set("agreed", "active")
		form.Set("column.0", "")
		e.sends(at, http.StatusBadRequest, form, "No column is named “Email”.")
		form.Set("column.0", "email")
		form.Set("column.1", "email")
		e.sends(at, http.StatusBadRequest, form, "Two columns are imported as the same field. Change one of them",
			"-two columns hold", "-column.2-wrong",
			`name="column.0" aria-invalid="true" aria-describedby="f-column.0-wrong" autofocus>`,
			`name="column.1" aria-invalid="true" aria-describedby="f-column.1-wrong">`, "Already used for another column.")
		form.Set("column.1", "city")
		if to := e.sends(at, http.StatusSeeOther, form); to != at {
			t.Errorf("leads to %s", to)
		}
		e.runImports()
		e.shows(at, http.StatusOK, "Dry run result", "</strong> row with an error",
			"<strong>1</strong> already on the list or repeated in this import, unchanged", "Error<",
			"Start import", `value="city" selected`,
			`value="active" checked`, "-data-poll",
			`-value="notiz" selected`, `-value="Notiz" selected`)
		if _, err := e.store.Subscription(t.Context(), e.list.ID, "new@reader.example"); core.KindOf(err) != core.NotFound {
			t.Errorf("a try has imported: %v", err)
		}
		// the only button that starts the import is next to the result of the dry run
		result, columns, _ := strings.Cut(e.shows(at, http.StatusOK, `id="how"`), "Map columns")
		if strings.Count(result, `value="run"`) != 1 || strings.Contains(columns, `value="run"`) {
			t.Errorf("what imports is not once in %s", textOf(result+columns))
		}
		if !strings.Contains(result, `<button class="button primary" form="how" name="do" value="run">`) {
			t.Error("what imports is not the button of the result")
		}
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "Import result", "-Start import", "-Cancel import")
		if s := e.found("new@reader.example"); s.Status != core.SubscriptionActive || s.Preferences != `{"city":"Bonn"}` {
			t.Errorf("what was chosen for the columns does not hold: %+v", s)
		}
		e.shows(at+"/faults", http.StatusOK, "no address", "Ulm", "-<html", "-Bonn")
		e.shows("/imports", http.StatusOK, "readers.csv", "Completed")
		e.shows(at, http.StatusOK, "Imported by mistake?", at+`/undo"`)
		e.shows(at+"/undo", http.StatusOK, "1 person added", "<strong>1</strong> removed", "-about")
		if to := e.sends(at+"/undo", http.StatusSeeOther, url.Values{}); to != at {
			t.Errorf("leads to %s", to)
		}
		e.shows(at, http.StatusOK, "Undoing", `data-poll="2"`, "-Cancel import")
		e.runImports()
		e.shows(at, http.StatusOK, "Import undone", "<strong>1</strong> removed from the list", "-data-poll", "-/undo",
			"-View subscribers")
		e.shows(at+"/undo", http.StatusFound)
		e.shows("/people", http.StatusOK, "-new@reader.example")
		e.shows("/people-export?file=1&list="+e.list.ID, http.StatusOK, "-new@reader.example", "-<html")
	})
}

// A column that contains first names, whatever its name and language, becomes the field with which emails greet
// subscribers.
func TestConsoleImportsKnowNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		at := e.uploads(e.list.ID, "a.csv", "email;Vorname;Nachname\nnew@reader.example;Grace;Hopper\n")
		e.shows(at, http.StatusOK, `value="first_name" selected`, `value="last_name" selected`, "Save as “Vorname”")
		form := url.Values{
			"agreed": {"active"}, "do": {"run"}, "column.0": {"email"}, "column.1": {"first_name"},
			"column.2": {"Nachname"},
		}
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		if s := e.found("new@reader.example"); s.Preferences != `{"first_name":"Grace","Nachname":"Hopper"}` {
			t.Errorf("%+v", s)
		}
		at = e.uploads(e.list.ID, "b.csv", "wohin;vorname\nnew@reader.example;Grace\n")
		e.shows(at, http.StatusOK, `value="email" selected`, `value="first_name" selected`)

		at = e.uploads(e.list.ID, "c.csv",
			"email;FIRST-NAME;billing_last_name;Kontaktname;Wohnort;PLZ;Lieblingstee;Vorname\n"+
				"last@reader.example;Ida;Rhodes;Ida R.;Bonn;53111;green;x\n")
		e.shows(at, http.StatusOK, `value="first_name" selected`, `value="last_name" selected`, `value="name" selected`,
			`value="city" selected`, `value="postal_code" selected>Postal code (recognized)<`,
			`value="email" selected>Email address (recognized)<`, `value="Lieblingstee">Save as`,
			`value="Vorname">Save as`, `-value="Lieblingstee" selected`)
		form = url.Values{
			"agreed": {"active"}, "column.0": {"email"}, "column.1": {"first_name"}, "column.2": {"last_name"},
			"column.3": {"Kontaktname"}, "column.4": {"city"}, "column.5": {""}, "column.6": {""}, "column.7": {""},
		}
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, `value="Kontaktname" selected`, `value="first_name" selected`) // as in the dry run
	})
}

// While an import is queued or running, its page requests the part about it again. A script gets only that part.
func TestConsoleImportsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		at := e.uploads(e.list.ID, "a.csv", "email\nnew@reader.example\n")
		e.sends(at, http.StatusSeeOther, url.Values{"agreed": {"pending"}, "column.0": {"email"}})
		e.shows(at, http.StatusOK, `data-poll="2"`, "Waiting", "Nothing is imported", "<html", "-Start dry run")
		res := e.ask(http.MethodGet, e.at(at), nil, "Hx-Request", "true", "Hx-Target", "div#import")
		part, err := io.ReadAll(res.Body)
		e.must(err)
		e.holds("part", res.StatusCode, string(part), http.StatusOK, []string{`<div id="import" data-poll="2"`, "-<html"})
		if to := e.sends(at+"/cancel", http.StatusSeeOther, url.Values{}); to != at {
			t.Errorf("leads to %s", to)
		}
		e.shows(at, http.StatusOK, "Canceled", "-data-poll", "Nothing was imported")
		e.sends(at+"/cancel", http.StatusSeeOther, url.Values{})
	})
}

// The page asks for a fresh sign-in before a file is chosen. If the upload is not a file or is too large, the form
// shows an error.
func TestConsoleImportIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		e.uploads(e.list.ID, "", "", "Choose a file.")
		e.uploads(e.list.ID, "empty.csv", "", "The file can&#39;t be read")
		e.uploads("x", "a.csv", "email\n", "List: this must be a UUID.")
		e.sends("/new-import", http.StatusBadRequest, url.Values{"list": {e.list.ID}}, "Choose a file.")
		e.shows("/people-export?list="+e.list.ID, http.StatusForbidden)
		time.Sleep(core.ProofAge + time.Minute)
		e.shows("/new-import", http.StatusOK, `-type="file"`, "password")
		other := e.seed.NewTenant()
		list := e.seed.NewList(func(in *core.ListInput) { in.TenantID = &other.ID })
		j := e.seed.NewImportJob(list.ID, "email\nann@reader.example\n")
		e.shows("/imports/"+j.ID, http.StatusNotFound)
		e.shows("/imports/"+j.ID+"/undo", http.StatusOK, "password")
	})
}
