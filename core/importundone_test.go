package core

import "testing"

// TestUndoLeavesMarksOfOtherFiles checks that undoing the import that added a pending subscriber keeps a later file's
// statement that they unsubscribed. Only undoing the import of that file removes the statement.
func TestUndoLeavesMarksOfOtherFiles(t *testing.T) {
	s := Subscription{Status: SubscriptionPending, Proof: ProofLeft, CreatedAt: 5, ChangedAt: 5, Generation: 1}
	for at, want := range map[Instant]UndoOutcome{5: UndoLeft, 7: UndoUnmarks} {
		if got := s.ImportUndone(at, false, false); got != want {
			t.Errorf("the import at %d: %d, want %d", at, got, want)
		}
	}
}
