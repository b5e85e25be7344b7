package core

import "testing"

// An import that brought someone who waits for a confirmation doesn't take back that a later file says that they left;
// that file does.
func TestUndoLeavesMarksOfOtherFiles(t *testing.T) {
	s := Subscription{Status: SubscriptionPending, Proof: ProofLeft, CreatedAt: 5, ChangedAt: 5, Generation: 1}
	for at, want := range map[Instant]UndoOutcome{5: UndoLeft, 7: UndoUnmarks} {
		if got := s.ImportUndone(at, false, false); got != want {
			t.Errorf("the import at %d: %d, want %d", at, got, want)
		}
	}
}
