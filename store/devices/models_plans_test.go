package devices

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
)

// TestModelsAreReadByIndex checks that no statement about models and devices scans a whole table.
func TestModelsAreReadByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for _, query := range []string{
		wholeLibrary, ownLibrary, searchLibrary, "SELECT " + viewColumns + " FROM model m JOIN user u ON u.id = " +
			"m.owner_id WHERE m.id = ?4",
		"SELECT " + ModelColumns + " FROM model m WHERE m.owner_id = ? AND m.no > ? ORDER BY m.no LIMIT +?",
		"SELECT " + DeviceColumns + " FROM device WHERE owner_id = ? AND unpaired_at = 0 AND id > ? ORDER BY id " +
			"LIMIT +?",
		"SELECT count(*) FROM device WHERE owner_id = ? AND unpaired_at = 0",
		"SELECT " + AgentColumns + " FROM agent WHERE owner_id = ? AND id > ? ORDER BY id LIMIT +?",
		"SELECT " + ShareColumns + " FROM model m JOIN share s ON s.model_no = m.no WHERE m.id = ? AND s.id > ? " +
			"ORDER BY s.id LIMIT +?",
		oneShare, "UPDATE device SET agent_id = '' WHERE agent_id = ? AND agent_id <> ''",
		deadUploads,
		"DELETE FROM share WHERE email_key = ? AND email_key <> ''", "DELETE FROM user WHERE id = ?",
	} {
		plan, err := s.Explain(t.Context(), query)
		if err != nil {
			t.Fatal(query, err)
		}
		for _, detail := range plan {
			if strings.HasPrefix(detail, "SCAN ") && !strings.Contains(detail, "VIRTUAL TABLE") &&
				!strings.Contains(detail, "SCAN c") && !strings.HasPrefix(detail, "SCAN (subquery") {
				t.Errorf("%s\n%s", query, detail)
			}
			if strings.Contains(detail, "USE TEMP B-TREE FOR ORDER BY") && !strings.Contains(query, "UNION") {
				t.Errorf("%s\n%s", query, detail)
			}
		}
	}
}

// TestModelsMayHaveHalfOfTheDisk checks that, by default, all model files together can use half of the disk.
func TestModelsMayHaveHalfOfTheDisk(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	if total, err := s.modelBytes(core.ModelLimits{}); err != nil || total < 1<<20 {
		t.Errorf("half of the disk is %d, %v", total, err)
	}
}
