package handlers

import (
	"encoding/csv"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/members"
)

// blockedFile returns the rows of an export of the suppression list without the header, and checks the file.
func (e *peopleEnv) blockedFile(query string) (rows [][]string, text string) {
	e.Helper()
	e.shows("/suppressions-export?"+query, http.StatusOK, "Your file is ready", e.at("/suppressions"))
	res := e.ask("GET", e.at("/suppressions-export?file=1&"+query), nil)
	name := e.tenant.Name + " suppression list " + e.seed.Time().Time().Format(time.DateOnly) + ".csv"
	if got := res.Header.Get("Content-Disposition"); !strings.Contains(got, name) {
		e.Errorf("the file is called %s, want %s", got, name)
	}
	body, err := io.ReadAll(res.Body)
	e.must(err)
	text, marked := strings.CutPrefix(string(body), "\ufeff")
	rows, err = csv.NewReader(strings.NewReader(text)).ReadAll()
	e.must(err)
	if len(rows) == 0 || !marked || strings.Join(rows[0], " ") != "email status kind reason disabled_by occurred_at" {
		e.Fatalf("%.100q", body)
	}
	return rows[1:], string(body)
}

// blocked returns the first three columns of an export of the suppression list.
func (e *peopleEnv) blocked(query string) (all string) {
	e.Helper()
	rows, _ := e.blockedFile(query)
	for _, row := range rows {
		all += strings.Join(row[:3], " ") + "\n"
	}
	return all
}

// The page exports the addresses that its filters find, each once, as a file for spreadsheets. Each export is in the
// audit log. An import of the file blocks the same addresses. Erased people are not in the file.
func TestConsoleExportsTheSuppressionList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.shows("/suppressions", http.StatusOK, "-suppressions-export")
		for email, reason := range map[string]string{"joan@reader.example": "=1+1", "gone@reader.example": ""} {
			e.sends("/suppressions", http.StatusSeeOther, url.Values{"email": {email}, "reason": {reason}})
		}
		at := e.uploads(e.list.ID, "a.csv", "email;status\na@reader.example;active\nb@reader.example;bounced\n"+
			"d@reader.example;spam\n")
		for _, do := range []string{"try", "run"} {
			e.sends(at, http.StatusSeeOther, url.Values{"agreed": {"active"}, "do": {do}})
			e.runImports()
		}
		_, err := e.store.Disable(t.Context(), members.DisableRequest{ // as a complaint does on the member side
			Email: "d@reader.example", TenantID: e.tenant.ID, Reason: "complaint", OccurredAt: e.seed.Time(),
		}, e.seed.Time())
		e.must(err)
		_, err = e.store.ErasePerson(t.Context(), core.Person{Email: "gone@reader.example"}, "test", e.seed.Time())
		e.must(err)
		e.seed.Active(e.list.ID, "list@reader.example")
		e.seed.Deliver()
		e.seed.Tell(e.list, core.StatusBounced, "list@reader.example")
		const (
			bob  = "b@reader.example Bounced bounced\n"
			dora = "d@reader.example Marked as spam complaint\n"
		)
		e.shows("/suppressions?q=b@reader.example&done=lifted", http.StatusOK,
			e.at("/suppressions-export")+`?q=b%40reader.example"`)
		of := "import=" + at[len("/imports/"):]
		for _, tt := range []struct{ query, want string }{
			{"", bob + dora + "joan@reader.example Blocked disabled\n"},
			{"q=b@reader.example", bob},
			{"q=d@reader.example", dora},
			{"q=else@reader.example", ""},
			{"q=list@reader.example", ""}, // bounced on one list only
			{of, bob + dora},
			{of + "&kind=complaint", dora},
			{"kind=disabled", "d@reader.example Blocked disabled\njoan@reader.example Blocked disabled\n"},
		} {
			if got := e.blocked(tt.query); got != tt.want {
				t.Errorf("%s: got\n%swant\n%s", tt.query, got, tt.want)
			}
		}
		if n := e.seed.Audited("suppression.export"); n != 8 {
			t.Errorf("%d exports in the audit log", n)
		}
		e.shows("/settings/audit", http.StatusOK, "exported the suppression list.")
		rows, _ := e.blockedFile("q=joan@reader.example")
		if len(rows) != 1 || rows[0][3] != "'=1+1" || !strings.HasPrefix(rows[0][4], "user:") {
			t.Errorf("%q", rows)
		}

		_, file := e.blockedFile("")
		for _, email := range []core.Email{"b@reader.example", "d@reader.example", "joan@reader.example"} {
			_, err := e.store.Lift(t.Context(), email, e.tenant.ID, "test", e.seed.Time())
			e.must(err)
		}
		e.shows("/suppressions", http.StatusOK, "-suppressions-export")
		at = e.uploads(e.list.ID, "b.csv", file)
		e.sends(at, http.StatusSeeOther, url.Values{"agreed": {"suppress"}, "do": {"run"}})
		e.runImports()
		if got, want := e.blocked(""), bob+dora+"joan@reader.example Blocked suppressed\n"; got != want {
			t.Errorf("imported again:\n%swant\n%s", got, want)
		}
	})
}

// Someone who can't see the suppression list can't export it.
func TestConsoleExportNeedsThePermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		e.shows("/suppressions-export", http.StatusForbidden, "-ready")
		e.shows("/suppressions-export?file=1", http.StatusForbidden, "-ready")
	})
}
