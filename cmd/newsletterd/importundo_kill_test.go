package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// TestKillWhileAnImportIsTakenBack kills the daemon while it undoes an import that replaced fields. In the end, each
// person must have the earlier values.
func TestKillWhileAnImportIsTakenBack(t *testing.T) {
	daemontest.Parallel(t)
	kills, n := 2, 15_000
	if daemontest.AtLength() {
		kills, n = 10, 200_000
	}
	f := daemontest.New(t)
	f.Serve()
	f.Records()
	f.TokenOf("op@acme.example", core.ScopeAdmin)
	const imports = "/api/admin/imports"
	var j core.ImportJob
	look := func() { f.Get(imports + "/" + j.ID).OK().JSON(&j) }
	run := func(name string) {
		var file strings.Builder
		file.WriteString("email,first_name\n")
		for i := range n {
			fmt.Fprintf(&file, "%s,%s %d\n", daemontest.Person(i), name, i)
		}
		j = f.StartImport(file.String())
		f.Every(20*time.Millisecond, func() bool { look(); return j.Ended() })
	}
	run("Right")
	run("Wrong")
	if j.Replaced != int64(n) {
		t.Fatalf("%+v", j)
	}
	f.Send("POST", imports+"/"+j.ID+"/undo", nil).OK()
	for kill := range kills {
		f.Every(2*time.Millisecond, func() bool {
			look()
			return j.UndoRestored >= int64(n*(kill+1)/(kills+2)) || j.UndoStatus == core.ImportUndoDone
		})
		if j.UndoStatus == core.ImportUndoDone {
			t.Fatalf("it has ended before kill %d: %+v", kill, j)
		}
		f.Kill()
		f.Serve()
	}
	f.Every(20*time.Millisecond, func() bool { look(); return j.UndoStatus == core.ImportUndoDone })
	if j.UndoRestored != int64(n) || j.UndoUnrestored != 0 {
		t.Errorf("%+v", j)
	}
	for _, table := range []string{"subscription", "subscriber"} {
		right := f.Number("SELECT count(*) FROM " + table + " WHERE preferences->>'first_name' LIKE 'Right %'")
		if right != n {
			t.Errorf("%s: %d of %d have their names again", table, right, n)
		}
	}
	if kept := f.Number("SELECT count(*) FROM import_before"); kept != 0 {
		t.Errorf("%d are kept still", kept)
	}
	f.Run("check")
	f.Stop()
}
