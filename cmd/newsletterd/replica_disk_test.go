package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
)

// TestDoctorOfReplicasAndTheirDisk checks that doctor reports a replica on the database's disk, and files that were set
// aside.
func TestDoctorOfReplicasAndTheirDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cfg := &config.Config{Database: config.Database{Path: filepath.Join(folder, "newsletterd.db")}}
	cfg.Replica.TTL = config.Duration(10 * time.Second)
	for address, want := range map[string]bool{
		"file://" + folder + "/replica": true, "file://" + folder: true, "file://" + folder + "-2": false,
		"file://" + filepath.Dir(folder): false, "s3://bucket/path": false,
	} {
		cfg.Replica.URL = address
		if got := sharesFolder(cfg); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	for _, end := range []string{"1", "1-wal", "1-journal", "2-journal"} { // only a journal of the second one
		if err := os.WriteFile(cfg.Database.Path+".superseded-"+end, make([]byte, 2000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := &doctor{ctx: t.Context(), cfg: cfg}
	d.setAside()
	wantFinding(t, d.all, "set aside", core.LevelWarning, "2 files that the replica replaced")
	wantFinding(t, d.all, "set aside", core.LevelWarning, "newsletterd.db.superseded-2-journal; 8.0 kB")
	cfg.Replica.URL = "file://" + folder
	d.env = func(string) string { return "" }
	d.replica()
	wantFinding(t, d.all, "replica", core.LevelWarning, "is lost with the same disk")
}
