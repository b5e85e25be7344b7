package handlers

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// After a dry run, the page shows the errors of the first faulty lines, and offers all of them as a file for
// spreadsheets. If the dry run was stopped, it says that nothing was imported.
func TestConsoleFaultsOfAnImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		file := "email,city,status\nnobody,Köln,active\n\"a \"\"b\"\" c\",Ulm,active\nx@reader.example,Ulm\n" +
			"y@reader.example,Ulm,perhaps\n,Ulm,active\n,Bonn,active\n,Bonn,active\nnew@reader.example,Ulm,active\n"
		j := e.seed.NewImportJob(e.list.ID, file)
		_, err := e.store.RunImport(t.Context(), j.ID, core.ImportInput{
			SubscriberStatus: core.SubscriptionActive, DryRun: true,
		}, "user:1", e.seed.Time())
		e.must(err)
		e.runImports()
		at := "/imports/" + j.ID
		e.shows(at, http.StatusOK, "Line 2: “nobody” isn't an email address.", "Line 3: “a \"b\" c” isn't an email address.",
			"Line 4: This row has 2 cells, but the header has 3.",
			"Line 5: Unknown value “perhaps” in column “status”.", "Line 6: The email address is missing.", "-Line 7",
			"Most rows have errors. Fix the file and upload it again", `<button class="button" name="do" value="run">`,
			`-form="how"`)
		if got := e.shows(at+"/faults", http.StatusOK, "nobody"); !strings.HasPrefix(got, "\ufeffline,error,") {
			t.Errorf("%.40q", got)
		}
		e.lang = "de"
		e.shows(at, http.StatusOK, "Zeile 2: „nobody“ ist keine E-Mail-Adresse.")
		if got := e.shows(at+"/faults", http.StatusOK, "nobody"); !strings.HasPrefix(got, "\ufeffline;error;") {
			t.Errorf("%.40q", got)
		}
		e.lang = ""
		_, err = e.store.CancelImport(t.Context(), j.ID, "user:1", e.seed.Time())
		e.must(err)
		e.shows(at, http.StatusOK, "Nothing was imported.", "-Import result", "-isn't an email address")
	})
}
