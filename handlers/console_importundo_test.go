package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
)

// A publisher gets neither the button to undo another person's import, nor the page that asks for confirmation.
func TestConsoleImportOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		done := func(by string) string {
			j := e.seed.NewImportJob(e.list.ID, "email\n"+core.NewID()+"@reader.example\n",
				func(j *core.ImportJob) { j.CreatedBy = by })
			_, err := e.store.RunImport(t.Context(), j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive},
				by, e.seed.Time())
			e.must(err)
			e.runImports()
			return "/imports/" + j.ID
		}
		ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		e.must(err)
		others, own := done("user:"+core.NewID()), done("user:"+ann.ID)
		e.shows(others, http.StatusOK, "Import result", "-/undo")
		e.shows(others+"/undo", http.StatusForbidden)
		e.sends(others+"/undo", http.StatusForbidden, url.Values{})
		e.shows(own, http.StatusOK, own+`/undo"`)
		e.sends(own+"/undo", http.StatusSeeOther, url.Values{})
	})
}

// Before an import is undone, its pages say that the replaced fields are restored. After the undo, they are.
func TestConsoleImportGivesFieldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		ctx := t.Context()
		for _, email := range []core.Email{"anna@reader.example", "ben@reader.example"} {
			e.seed.Active(e.list.ID, email)
			_, err := e.store.SetPreferences(ctx, e.list.ID, email, `{"city":"Ulm"}`, e.seed.Time())
			e.must(err)
		}
		file := "email,city\nanna@reader.example,WRONG\nben@reader.example,WRONG\n"
		j := e.seed.NewImportJob(e.list.ID, file)
		_, err := e.store.RunImport(ctx, j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1",
			e.seed.Time())
		e.must(err)
		e.runImports()
		at := "/imports/" + j.ID
		e.shows(at, http.StatusOK, "This also restores the previous values of 2 existing subscribers", at+`/undo"`)
		time.Sleep(time.Second)
		_, err = e.store.SetPreferences(ctx, e.list.ID, "ben@reader.example", `{"city":"Köln"}`, e.seed.Time())
		e.must(err)
		e.shows(at+"/undo", http.StatusOK, "No one added · 2 existing subscribers updated",
			"<strong>1</strong> existing, restored to their previous values",
			"<strong>1</strong> existing, edited since the import: current values kept", "-can't be restored",
			"-about")
		e.sends(at+"/undo", http.StatusSeeOther, url.Values{})
		e.shows(at, http.StatusOK, `max="2" value="0"`)
		e.runImports()
		e.shows(at, http.StatusOK, "<strong>1</strong> existing, restored to their previous values",
			"<strong>1</strong> left unchanged: existed before the import, or were changed or removed since")
		if s := e.found("anna@reader.example"); s.Preferences != `{"city":"Ulm"}` {
			t.Errorf("%+v", s)
		}
		if s := e.found("ben@reader.example"); s.Preferences != `{"city":"Köln"}` {
			t.Errorf("%+v", s)
		}
	})
}

// Before a large import is undone, only the numbers that come from a sample of its people are approximate.
func TestConsoleImportUndoCountsWhatItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		var file strings.Builder
		file.WriteString("email,status\ncy@reader.example,bounced\n")
		for i := range 6123 {
			fmt.Fprintf(&file, "a%d@reader.example,active\n", i)
		}
		at := e.uploads(e.list.ID, "a.csv", file.String())
		e.sends(at, http.StatusSeeOther, url.Values{"agreed": {"active"}, "do": {"run"}})
		e.runImports()
		e.shows(at+"/undo", http.StatusOK, "<strong>about 6,100</strong> removed",
			"<span><strong>1</strong> no longer on the suppression list")
	})
}
