package store

import (
	"path/filepath"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
)

// A change that requests a sync while another sync is being planned needs its own, because the other one may not
// include the change. A sync also includes changes from before the clock was set back.
func TestSyncTakesInWhatItWasAskedFor(t *testing.T) {
	n := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	n.SQL("INSERT INTO tenant (id, name, created_at, updated_at) VALUES ('t', 'T', 1, 1)")
	n.SQL("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES ('l', 't', 'L', 1, 1)")
	ask := func(now, changed core.Instant) (id string) {
		err := n.Update(t.Context(), func(tx *db.Tx) (err error) {
			id, err = members.RequestSync(tx, "t", "l", now, changed)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := ask(now0, now0+900)
	if again := ask(now0, now0+500); again != first {
		t.Error("one that waits was not taken")
	}
	y, err := n.Sync(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.PlanSync(t.Context(), &y, now0+100); err != nil || y.StartedAt <= now0+900 {
		t.Errorf("it begins at %d, %v", y.StartedAt-now0, err)
	}
	n.SQL("UPDATE sync SET batch_total = 0 WHERE id = ?", first) // as in the middle of planning
	if second := ask(now0+200, now0+200); second == first {
		t.Error("one that is being planned was taken")
	}
}
