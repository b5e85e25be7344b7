package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// Before blocking a person, the console says that this ends the subscription. The person is then shown as blocked,
// once, with the name of the user who did it. Before and after unblocking, the console says what stays.
func TestConsoleBlocksAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.shows("/suppressions", http.StatusOK, "is unsubscribed from all your lists", "doesn't subscribe it again")
		form := url.Values{"email": {"joan@reader.example"}}
		e.sends("/suppressions", http.StatusSeeOther, form)
		const stays = "The person stays unsubscribed until they sign up again."
		e.shows("/suppressions", http.StatusOK, "by ann@user.example", "-user:", stays)
		at := "/people/" + e.found("joan@reader.example").ID
		body := e.shows(at, http.StatusOK, "Blocked</span>", "when the address was blocked", "by ann@user.example",
			"-user:", stays)
		e.shows(at+"/export", http.StatusOK, "The JSON file contains all data about this person")
		if n := strings.Count(body, "This address is blocked"); n != 1 {
			t.Errorf("%d banners", n)
		}
		for _, q := range []string{
			"q=joan", "status=suppressed", "status=suppressed&sort=email", "status=unsubscribed",
		} {
			e.shows("/people?"+q, http.StatusOK, "joan@reader.example", "Blocked</span>")
		}
		e.sends("/new-person", http.StatusConflict, url.Values{
			"list": {e.list.ID}, "email": {"joan@reader.example"}, "agreed": {"no"},
		}, "Unblock it under")
		e.sends(at+"/lift", http.StatusSeeOther, url.Values{})
		e.shows(at, http.StatusOK, "Unsubscribed</span>", "when the address was blocked", "-Blocked</span>")
		e.sends("/new-person", http.StatusConflict, url.Values{
			"list": {e.list.ID}, "email": {"joan@reader.example"}, "agreed": {"no"},
		}, "ended when the address was blocked", "-Only they can")
	})
}

// The result of an import leads to the addresses that it added to the suppression list, which shows how many there are.
func TestConsoleImportLeadsToTheSuppressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		form := url.Values{"email": {"joan@reader.example"}}
		e.sends("/suppressions", http.StatusSeeOther, form)
		e.shows("/suppressions", http.StatusOK, ">1 address · These addresses", "-View import")
		at := e.uploads(e.list.ID, "a.csv", "email;status\na@reader.example;active\nb@reader.example;bounced\n"+
			"c@reader.example;bounced\nd@reader.example;spam\n")
		form = url.Values{"agreed": {"active"}, "do": {"try"}}
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "<strong>2</strong> bounced: added to the suppression list<",
			"-/suppressions?import")
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		of := "/suppressions?import=" + at[len("/imports/"):]
		e.shows(at, http.StatusOK,
			"<strong>2</strong> <a href=\""+e.at(of)+"&amp;kind=bounced\">bounced: added to "+
				"the suppression list</a>",
			"<strong>1</strong> <a href=\""+e.at(of)+"&amp;kind=complaint\">")
		e.shows(of+"&kind=bounced", http.StatusOK, ">2 addresses · ", "b@reader.example", "c@reader.example",
			"-d@reader.example", "-joan@reader.example", e.at(at)+"\">View import")
		e.shows(of, http.StatusOK, ">3 addresses · ", "d@reader.example", "-joan@reader.example")
		e.shows("/suppressions", http.StatusOK, ">4 addresses · ", "joan@reader.example", "d@reader.example")
		e.shows("/suppressions?import=none", http.StatusBadRequest)
	})
}

// A link from an import leads to the addresses of one kind, however rare it is. Pages without a match show the total.
func TestConsoleImportLeadsToARareKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.sends("/suppressions", http.StatusSeeOther, url.Values{"email": {"joan@reader.example"}})
		file := "email;status\nzoe@reader.example;spam\n"
		for k := range 250 {
			file += fmt.Sprintf("b%d@reader.example;bounced\n", k)
		}
		at := e.uploads(e.list.ID, "a.csv", file)
		for _, do := range []string{"try", "run"} {
			e.sends(at, http.StatusSeeOther, url.Values{"agreed": {"active"}, "do": {do}})
			e.runImports()
		}
		e.shows("/suppressions?kind=complaint&import="+at[len("/imports/"):], http.StatusOK, ">1 address · ",
			"zoe@reader.example", "-Next page")
		first := e.shows("/suppressions?kind=disabled", http.StatusOK, ">1 address · ", "joan@reader.example")
		_, rest, _ := strings.Cut(first, "cursor=")
		cursor, _, _ := strings.Cut(rest, `"`)
		e.shows("/suppressions?kind=disabled&cursor="+strings.ReplaceAll(cursor, "&amp;", "&"), http.StatusOK,
			">1 address · ", "-joan@reader.example")
	})
}
