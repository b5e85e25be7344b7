package store_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/storetest"
)

// TestNotDeletedWhileTakenBack: what an import has noted stays until it is taken back.
func TestNotDeletedWhileTakenBack(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ctx := t.Context()
	j := n.NewImportJob(n.ListID, "email\nbrought@example.org\n")
	_, err := n.RunImport(ctx, j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1", now0)
	n.Must(err)
	j, err = n.StartImport(ctx, j.ID, now0)
	n.Must(err)
	im, err := n.ImportOf(ctx, &j)
	n.Must(err)
	n.Must(im.Add(ctx, []store.ImportRow{{Email: "brought@example.org"}}, now0))
	_, err = n.CancelImport(ctx, j.ID, "user:1", now0)
	n.Must(err)
	_, err = n.UndoImport(ctx, j.ID, "user:1", now0)
	n.Must(err)
	if err := n.DeleteImport(ctx, j.ID, "user:1", now0); core.KindOf(err) != core.Conflict {
		t.Errorf("deleted while it is taken back: %v", err)
	}
	for more := true; more; {
		more, err = n.UndoImportStep(ctx, j.ID, now0)
		n.Must(err)
	}
	n.Must(n.DeleteImport(ctx, j.ID, "user:1", now0))
}
