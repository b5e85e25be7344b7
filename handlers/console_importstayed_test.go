package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// An import names the people who stay subscribed although its file says that they unsubscribed, as long as they are.
func TestConsoleImportNamesWhoStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		grace := e.found("grace@reader.example")
		at := e.uploads(e.list.ID, "unsubscribed.csv", "email,unsubscribed_at\n"+
			"grace@reader.example,2020-01-02 10:00:00\n"+
			"stranger@reader.example,2020-01-02 10:00:00\n")
		form, _ := e.choices(at)
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		link := `href="` + e.at("/people/"+grace.ID) + `">grace@reader.example`
		e.shows(at, http.StatusOK, "Still subscribed", link, "-stranger@reader.example", "-There are more")
		e.sends("/people/"+grace.ID+"/unsubscribe", http.StatusSeeOther, url.Values{})
		e.shows(at, http.StatusOK, "-Still subscribed")
	})
}

// Columns that are not imported are folded away, but still part of the form.
func TestConsoleImportFoldsColumns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		folded := regexp.MustCompile(`(?s)<details><summary>(\d+) columns.*?</details>`)
		for left, want := range map[int]string{2: "", 3: "3"} {
			head, cells := "email", "a@reader.example"
			for i := range left {
				head, cells = fmt.Sprintf("%s,LATITUDE%d", head, i), cells+","+strings.Repeat("x", 300)
			}
			at := e.uploads(e.list.ID, "a.csv", head+"\n"+cells+"\n")
			page := e.shows(at, http.StatusOK, "-"+strings.Repeat("x", 100))
			found := folded.FindStringSubmatch(page)
			if want == "" && found != nil || want != "" && (found == nil || found[1] != want) {
				t.Errorf("%d columns: %v", left, found)
			}
			if form, _ := e.choices(at); len(form) != left+2 {
				t.Errorf("%d columns: %v", left, form)
			}
		}
	})
}
