package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// If every row of a file says that the person left, the import doesn't ask for consent. If the column is no longer
// imported as the status, it does.
func TestConsoleImportsOfLeaversAskForNoConsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		const asks = "Have these people agreed"
		for file, left := range map[string]bool{
			"Email Address,UNSUB_TIME\nada@x.example,2024-05-06 12:00:00\nbob@x.example,2024-05-07 12:00:00\n": true,
			"Email Address,CLEAN_TIME\ncid@x.example,2024-05-06 12:00:00\n":                                    true,
			"Email Address,UNSUB_TIME\nada@x.example,2024-05-06 12:00:00\nbob@x.example,\n":                    false,
			"email,status\nada@x.example,unsubscribed\nbob@x.example,active\n":                                 false,
		} {
			at := e.uploads(e.list.ID, "a.csv", file)
			text := asks
			if left {
				text = "-" + asks
			}
			label := "-Bounced on" // CLEAN_TIME has dates
			if strings.Contains(file, "CLEAN_TIME") {
				label = "Bounced on"
			}
			e.shows(at, http.StatusOK, text, label)
			if !left {
				continue
			}
			form, _ := e.choices(at)
			form.Set("agreed", "left")
			form.Set("column.1", "")
			e.sends(at, http.StatusBadRequest, form, asks)
			form.Del("column.1")
			form.Set("do", "run")
			e.sends(at, http.StatusSeeOther, form)
			e.runImports()
		}
		e.shows("/people?q=ada", http.StatusOK, "Unsubscribed</span>")
		at := "/people/" + e.found("ada@x.example").ID
		e.shows(at, http.StatusOK, "on Mon 6 May 2024, imported on")
		e.shows("/people-export?file=1&list="+e.list.ID, http.StatusOK, ",tags,signed_up_at,unsubscribed_at,",
			",,,2024-05-06T") // no tags and no known signup

		e.shows("/people?q=cid@x.example", http.StatusOK, "on the suppression list", "/suppressions?q=cid%40x.example")
		e.shows("/search?q=cid@x.example", http.StatusOK, "Bounced", "/suppressions?q=cid%40x.example")
		e.shows("/suppressions?q=cid@x.example", http.StatusOK, "Bounced</span>")
	})
}

// The page shows the day on which an imported person subscribed together with the day of the import. Undoing an import
// that blocked addresses says that they can be emailed again. The audit log distinguishes a dry run from an import.
func TestConsoleImportsSayWhatTheyDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		run := func(file, agreed, do string) (at string) {
			at = e.uploads(e.list.ID, "a.csv", file)
			e.sends(at, http.StatusSeeOther, url.Values{"agreed": {agreed}, "do": {do}})
			e.runImports()
			return at
		}
		run("Email Address,OPTIN_TIME\nada@x.example,2023-02-02 10:00:00\n", "active", "run")
		e.shows("/people/"+e.found("ada@x.example").ID, http.StatusOK, "since Thu 2 Feb 2023, imported on",
			`<span class="sub">Thu 2 Feb 2023, imported on`)
		e.shows("/people?q=ada", http.StatusOK, "Added to list", "-Joined")

		at := run("email\ndot@x.example\n", "suppress", "run")
		e.shows(at+"/undo", http.StatusOK, "1 address blocked", "can be emailed again", "-No one added",
			"-won't get any more")

		run("email\neve@x.example\n", "active", "try")
		e.shows("/settings/audit", http.StatusOK, "started a dry run of the import", "Dry run of the import")
	})
}

// A path that only accepts a form redirects to the page of the form when it is opened.
func TestConsoleResultsLeadToTheirForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		for path, to := range map[string]string{
			"/settings/relay/test":                                    "/settings/relay",
			"/settings/domains/" + core.NewID() + "/forward":          "",
			"/people/" + e.found("grace@reader.example").ID + "/lift": "",
		} {
			if to == "" {
				to = path[:strings.LastIndexByte(path, '/')]
			}
			res := e.ask("GET", e.at(path), nil)
			if got := res.Header.Get("Location"); res.StatusCode != http.StatusFound || got != e.at(to) {
				t.Errorf("%s: %d, leads to %q", path, res.StatusCode, got)
			}
		}
	})
}

// The response to a refused upload is the error message, which the script finds.
func TestConsoleImportFaultIsOneSentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.uploads(e.list.ID, "a.zip", "PK\x03\x04\x14\x00\x00\x00", "The archive is damaged.", `role="alert"`,
			"Import people")
	})
}

// The settings call the organization by the same name as the first step. For a new person, the page says that the
// confirmation was not sent yet.
func TestConsoleNamesAndNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.shows("/settings", http.StatusOK, "Organization name", "-Internal name")
		to := e.sends("/new-person", http.StatusSeeOther, url.Values{
			"list": {e.list.ID}, "email": {"new@x.example"}, "agreed": {"no"},
		})
		e.shows(to, http.StatusOK, "Waiting", "confirmation email is on its way", "-next attempt")
	})
}

// Consent that can be proved needs a source. The API accepts it without one.
func TestConsoleAsksForTheSourceOfConsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		form := url.Values{"list": {e.list.ID}, "email": {"ada@x.example"}, "agreed": {"yes"}, "source": {" "}}
		e.sends("/new-person", http.StatusBadRequest, form, `id="f-source-hint"`, `value="yes" checked`)
		page := e.at("/new-person")
		if _, got := e.page("POST", page, form); !slices.Equal(marked(got), []string{"source"}) {
			t.Errorf("%v is marked", marked(got))
		}
		form.Set("agreed", "no")
		e.sends("/new-person", http.StatusSeeOther, form)
	})
}

// An empty list offers to add people. The form for the next person keeps the list, the consent and its source.
func TestConsoleAddsSeveralPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		list := e.seed.NewList()
		add := e.at("/new-person?list=" + list.ID)
		e.shows("/lists/"+list.ID, http.StatusOK, "No people yet", `<a class="button primary" href="`+add+`"`)
		to := e.sends("/new-person", http.StatusSeeOther, url.Values{
			"list": {list.ID}, "email": {"ada@x.example"}, "agreed": {"yes"}, "source": {"paper form, 12 March"},
			"then": {"another"},
		})
		e.shows(to, http.StatusOK, "Person added", `<input type="hidden" name="list" value="`+list.ID+`">`,
			`name="agreed" value="yes" checked`, `value="paper form, 12 March"`, "-ada@x.example")
		e.shows("/lists/"+list.ID, http.StatusOK, "-No people yet")
	})
}
