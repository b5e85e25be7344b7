package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/store/storetest"
)

// TestImportsOfExportsByCommand checks that the command reads a zip export without changes to it, also from standard
// input.
func TestImportsOfExportsByCommand(t *testing.T) {
	daemontest.Parallel(t)
	f := daemontest.New(t)
	f.Run("migrate")
	f.Records()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, file := range map[string]string{
		"contacts.csv": "email,name\nann@example.org,Ann\n", "unsubscribed.csv": "email,name\nbob@example.org,Bob\n",
	} {
		w, err := z.Create(name)
		f.Must(err)
		_, err = io.WriteString(w, file)
		f.Must(err)
	}
	f.Must(z.Close())
	file := filepath.Join(t.TempDir(), "export.zip")
	f.Must(os.WriteFile(file, b.Bytes(), 0o600))
	for _, dry := range []string{"true", "false"} {
		var counts core.ImportCounts
		f.Must(json.Unmarshal(f.Run("admin", "subscriber", "import", "--list", f.List, "--file", file, "--dry-run="+dry,
			"--json"), &counts))
		if counts.Added != 1 || counts.Unsubscribed != 1 || counts.Failed != 0 {
			t.Errorf("%+v", counts)
		}
	}
	cmd := f.Cmd("admin", "subscriber", "import", "--list", f.List, "--file", "-", "--json")
	cmd.Stdin = &b
	if out, err := cmd.Output(); err != nil || !bytes.Contains(out, []byte(`"unchanged": 1`)) {
		t.Errorf("%v %s", err, out)
	}
}

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
	if err == nil || !strings.Contains(string(out), "The import has ended with the status cancelled.") {
		t.Errorf("ended again: %v %s", err, out)
	}
}

// TestImportUndoneByCommand checks that a command undoes an import that was started in the console, that the running
// daemon performs it, and that the audit log names the command.
func TestImportUndoneByCommand(t *testing.T) {
	daemontest.Parallel(t)
	d := start(t, nil)
	l := d.seed.NewList()
	j := d.seed.NewImportJob(l.ID, "email\nann@example.org\nbob@example.org\n")
	said := d.command(1, nil, "admin", "import", "undo", "--id", j.ID)
	if !strings.Contains(said, "The import has the status uploaded. Cancel it first.") {
		t.Errorf("before it was run: %s", said)
	}
	in := core.ImportInput{SubscriberStatus: "active"}
	_, err := d.store.RunImport(t.Context(), j.ID, in, "user:1", d.seed.Time())
	d.Must(err)
	daemontest.Await(d, "the import", func() bool {
		d.command(0, &j, "admin", "import", "show", "--id", j.ID)
		return j.Status == core.ImportCompleted
	})
	if said = d.command(0, &j, "admin", "import", "undo", "--id", j.ID); said != "" || j.UndoStatus == "" {
		t.Errorf("%q, %+v", said, j)
	}
	daemontest.Await(d, "the undo", func() bool {
		d.command(0, &j, "admin", "import", "show", "--id", j.ID)
		return j.UndoStatus == core.ImportUndoDone
	})
	for _, email := range []core.Email{"ann@example.org", "bob@example.org"} {
		if _, err := d.store.Subscription(t.Context(), l.ID, email); core.KindOf(err) != core.NotFound {
			t.Errorf("%s: %v", email, err)
		}
	}
	if said = d.command(1, nil, "admin", "import", "undo", "--id", j.ID); !strings.Contains(said, "already undone") {
		t.Errorf("again: %s", said)
	}
	undone := core.AuditFilter{Object: j.ID, Action: "import.undo"}
	entries, _, err := d.store.Audit(t.Context(), undone, core.Page{Limit: 9})
	d.Must(err)
	if len(entries) != 1 || !strings.HasPrefix(entries[0].Actor, "command") {
		t.Errorf("the audit log has %+v", entries)
	}
}
