package main

import (
	"encoding/json"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/store/storetest"
)

// TestImportsByCommand checks that an operator can list uploaded imports, view one and end it without the API.
func TestImportsByCommand(t *testing.T) {
	daemontest.Parallel(t)
	f := daemontest.New(t)
	f.Run("migrate")
	f.Records()
	var j core.ImportJob
	f.Prepare(func(s *storetest.Seeder) {
		j = s.NewImportJob(f.List, "email\nann@example.org\n")
		_, err := s.RunImport(t.Context(), j.ID, core.ImportInput{SubscriberStatus: "active"}, "test", s.Time())
		s.Must(err)
	})
	var rows []core.ImportJob
	f.Must(json.Unmarshal(f.Run("admin", "import", "list", "--tenant", "Acme", "--json"), &rows))
	if len(rows) != 1 || rows[0].ID != j.ID || rows[0].Status != core.ImportWaiting {
		t.Errorf("%+v", rows)
	}
	f.Must(json.Unmarshal(f.Run("admin", "import", "list", "--list", f.List, "--json"), &rows))
	if len(rows) != 1 || rows[0].ID != j.ID {
		t.Errorf("for the list: %+v", rows)
	}
	if got := f.Field("name", "admin", "import", "show", "--id", j.ID); got != j.Name {
		t.Errorf("shown: %s", got)
	}
	if got := f.Field("status", "admin", "import", "cancel", "--id", j.ID); got != core.ImportCancelled {
		t.Errorf("ended: %s", got)
	}
	out, err := f.Cmd("admin", "import", "cancel", "--id", j.ID).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "This is not possible while the import has the status cancelled.") {
		t.Errorf("ended again: %v %s", err, out)
	}
}
