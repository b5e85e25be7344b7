package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// TestKillDuringAnImport repeatedly kills the daemon during an uploaded import. The import must resume where it was,
// and no row or tag may be lost or counted twice.
func TestKillDuringAnImport(t *testing.T) {
	daemontest.Parallel(t)
	kills, n := 2, 15_000
	if daemontest.AtLength() {
		kills, n = 10, 300_000
	}
	f := daemontest.New(t)
	f.Serve()
	f.Records()
	f.TokenOf("op@acme.example", core.ScopeAdmin)
	var file strings.Builder
	file.WriteString("email,first_name,tags\n")
	for i := range n {
		fmt.Fprintf(&file, "%s,Name %d,all;t%d\n", daemontest.Person(i), i, i%3)
	}
	file.WriteString("no address,X,unknown\n")
	j := f.StartImport(file.String())
	reached := func(added int64) bool {
		f.Get("/api/admin/imports/" + j.ID).OK().JSON(&j)
		return j.Added >= added || j.Ended()
	}
	for kill := range kills {
		f.Every(2*time.Millisecond, func() bool { return reached(int64(n * (kill + 1) / (kills + 2))) })
		if j.Ended() {
			t.Fatalf("it has ended before kill %d: %+v", kill, j)
		}
		f.Kill()
		f.Serve()
	}
	f.Every(20*time.Millisecond, func() bool { return reached(int64(n)) && j.Ended() })
	want := core.ImportCounts{Added: int64(n), Failed: 1, Tagged: int64(n), NewTags: 4, SyncID: j.SyncID}
	if j.Status != core.ImportCompleted || j.ImportCounts != want || j.Lines != int64(n)+1 {
		t.Errorf("%+v", j)
	}
	if rows := f.Number("SELECT count(*) FROM subscription"); rows != n {
		t.Errorf("%d subscriptions", rows)
	}
	if consents := f.Number("SELECT count(*) FROM consent"); consents != n {
		t.Errorf("%d consents", consents)
	}
	if tagged := f.Number("SELECT count(*) FROM tagged"); tagged != 2*n {
		t.Errorf("%d tags", tagged)
	}
	f.Every(20*time.Millisecond, func() bool { return f.Number("SELECT count(*) FROM import_chunk WHERE kind = 0") == 0 })
	f.Run("check")
	f.Stop()
}
