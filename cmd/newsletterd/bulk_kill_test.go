package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// TestKillDuringABulkAction kills the daemon while a bulk action runs and while it is undone. No person may be changed
// twice or left out.
func TestKillDuringABulkAction(t *testing.T) {
	daemontest.Parallel(t)
	kills, n := 2, 6000
	if daemontest.AtLength() {
		kills, n = 10, 100_000
	}
	f := daemontest.New(t)
	f.Serve()
	f.Records()
	f.TokenOf("op@acme.example", core.ScopeAdmin)
	var file strings.Builder
	file.WriteString("email\n")
	for i := range n {
		fmt.Fprintf(&file, "%s\n", daemontest.Person(i))
	}
	f.StartImport(file.String())
	active := func() int { return f.Number("SELECT count(*) FROM subscriber WHERE word = 'active'") }
	f.Every(50*time.Millisecond, func() bool { return active() == n }) // the full sync has arrived

	var a core.BulkAction
	look := func() { f.Get("/api/bulk-actions/" + a.ID).OK().JSON(&a) }
	f.Send("POST", "/api/bulk-actions", fmt.Sprintf(
		`{"list_id":%q,"action":"unsubscribe","rule":{"not":{"domain":"none.example"}}}`, f.List)).OK().JSON(&a)
	killed := func(done string, at func() int64) {
		t.Helper()
		for kill := range kills {
			f.Every(time.Millisecond, func() bool {
				look()
				return at() >= int64(n*(kill+1)/(kills+2)) || a.State == done
			})
			if a.State == done {
				t.Fatalf("it has ended before kill %d: %+v", kill, a)
			}
			f.Kill()
			f.Serve()
		}
		f.Every(20*time.Millisecond, func() bool { look(); return a.State == done })
	}
	killed(core.BulkCompleted, func() int64 { return a.Changed })
	if a.Changed != int64(n) || a.Done != int64(n) || active() != 0 {
		t.Errorf("%d are active: %+v", active(), a)
	}
	if left := f.Number("SELECT count(*) FROM consent WHERE what = 'unsubscribed'"); left != n {
		t.Errorf("%d unsubscribes in the ledger, want %d", left, n)
	}
	f.Send("POST", "/api/bulk-actions/"+a.ID+"/undo", nil).OK()
	killed(core.BulkUndone, func() int64 { return a.Restored })
	if a.Restored != int64(n) || active() != n {
		t.Errorf("%d are active: %+v", active(), a)
	}
	if kept := f.Number("SELECT count(*) FROM bulk_person"); kept != 0 {
		t.Errorf("%d people are still kept for an undo", kept)
	}
	f.Run("check")
	f.Stop()
}
