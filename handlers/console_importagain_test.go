package handlers

import (
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/store/db"
)

// imports makes a dry run of an uploaded file, whose page must have the texts, and then imports the file.
func (e *peopleEnv) imports(at string, texts ...string) {
	e.Helper()
	for _, do := range []string{"try", "run"} {
		form, _ := e.choices(at)
		form.Set("do", do)
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		if do == "try" {
			e.shows(at, http.StatusOK, texts...)
		}
	}
}

// The dry run says that only addresses are kept of people who aren't subscribers, if the file has more about them. If
// the file is imported again, none of them are new. The pages about bounces lead to these addresses.
func TestConsoleImportsBouncesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		const noNames = "Names and other fields of unsubscribed or blocked people aren"
		bounced, cleanup := "/people?status=bounced", "/lists/"+e.list.ID+"/hygiene"
		e.shows(bounced, http.StatusOK, "-kind=bounced")
		e.shows(cleanup, http.StatusOK, "-kind=bounced")
		file := "email,name,status\nann@reader.example,Ann,active\ncid@reader.example,Cid,bounced\n" +
			"dora@reader.example,Dora,unsubscribed\n"
		e.imports(e.uploads(e.list.ID, "a.csv", file), "<strong>1</strong> new subscriber", noNames)
		at := e.uploads(e.list.ID, "a.csv", file)
		e.imports(at, "<strong>2</strong> skipped: already unsubscribed, bounced or blocked", "-new subscriber",
			"-added to the suppression list", "-"+noNames)
		e.imports(e.uploads(e.list.ID, "b.csv", "email,status\neva@reader.example,unsubscribed\n"),
			"<strong>1</strong> imported as unsubscribed", "-"+noNames)
		e.shows("/imports", http.StatusOK, ">a.csv</a></td>")
		e.shows(bounced, http.StatusOK, `/suppressions?kind=bounced">1 address<`)
		e.shows(cleanup, http.StatusOK, `/suppressions?kind=bounced">1 address<`)
	})
}

// Before and during an undo, the numbers don't count people twice who are new and get tags.
func TestConsoleImportUndoCountsTaggedPeopleOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.seed.Active(e.list.ID, "old@reader.example")
		at := e.uploads(e.list.ID, "a.csv", "email;Tags\nold@reader.example;VIP\nnew@reader.example;VIP,Press\n")
		form, _ := e.choices(at)
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at+"/undo", http.StatusOK, "1 person added", "<strong>1</strong> removed from the list",
			"<strong>2</strong> lose the tags from this import, unless they got them again since (including new people",
		)
		e.sends(at+"/undo", http.StatusSeeOther, url.Values{})
		e.shows(at, http.StatusOK, "Undoing", "0 of 3 changes", "- people<")
		e.runImports()
		e.shows(at, http.StatusOK, "<strong>1</strong> removed from the list", "<strong>3</strong> tags removed")
	})
}

// An import that only unsubscribes people added no one, so its undo doesn't speak of new people.
func TestConsoleImportUndoOfUnsubscribing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.seed.Active(e.list.ID, "old@reader.example")
		e.imports(e.uploads(e.list.ID, "a.csv", "email;status\ndora@reader.example;active\n"), "new subscriber")
		at := e.uploads(e.list.ID, "b.csv",
			"email;Tags;status\nold@reader.example;VIP;active\ndora@reader.example;;unsubscribed\n")
		e.imports(at, "<strong>1</strong> imported as unsubscribed")
		e.shows(at+"/undo", http.StatusOK, "No one added · 1 person unsubscribed",
			"<strong>1</strong> subscribed again, as before the import",
			"<strong>1</strong> lose the tags from this import, unless they got them again since",
			"-including new people",
			"-People who are removed")
	})
}

// The page for undoing an import of an older version, which stored no replaced values, says that an updated subscriber
// keeps the new values, even if the import unsubscribed others.
func TestConsoleImportUndoOfOlderVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.seed.Active(e.list.ID, "old@reader.example")
		at := e.uploads(e.list.ID, "a.csv",
			"email;city;status\nold@reader.example;Ulm;active\ndora@reader.example;;unsubscribed\n")
		e.imports(at, "<strong>1</strong> imported as unsubscribed")
		e.shows(at+"/undo", http.StatusOK, "1 existing subscriber updated", "-can't be restored")
		e.must(e.store.Update(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE import_job SET replaced = 0")
			return err
		}))
		e.shows(at+"/undo", http.StatusOK, "1 existing subscriber stays and keeps the values from this file.")
	})
}

// Before an import runs, its page offers to delete the file. While it runs, it offers to cancel it.
func TestConsoleImportCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		file := []string{"Delete this file?", `data-confirm-no="Keep file"`, "-Cancel import"}
		at := e.uploads(e.list.ID, "a.csv", "email\nnew@reader.example\n")
		for _, do := range []string{"try", "run"} {
			e.shows(at, http.StatusOK, file...)
			form, _ := e.choices(at)
			form.Set("agreed", "active")
			form.Set("do", do)
			e.sends(at, http.StatusSeeOther, form)
			if do == "try" {
				e.shows(at, http.StatusOK, append(file, `data-poll="2"`)...)
				e.runImports()
			}
		}
		e.shows(at, http.StatusOK, "Cancel this import?", `data-confirm-no="Keep importing"`, `data-poll="2"`,
			"-Delete file")
	})
}

// The first list stays if the file is refused. The form says so, and the next upload goes to that list.
func TestConsoleImportSaysThatTheFirstListStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		e.must(err)
		e.tenant = e.seed.NewTenant()
		r := core.Role{Role: core.RoleTenantAdmin, TenantID: e.tenant.ID}
		e.must(e.store.GrantRole(t.Context(), ann.ID, r, false, e.seed.Time()))
		e.uploadsTo("name", "", "a.csv", "email\nnew@reader.example\n", `aria-invalid="true"`, "-was created")
		const empty = `{"db":[{"meta":{"version":"5.0"},"data":{"posts":[]}}]}`
		e.uploadsTo("name", "Herbs", "a.json", empty, "The list “Herbs” was created.", " selected>Herbs<")
		e.shows("/new-import", http.StatusOK, "-was created", ">Herbs<")
	})
}
