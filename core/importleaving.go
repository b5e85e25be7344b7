package core

// ImportLeaving is the effect of an imported row that marks a subscriber as unsubscribed.
type ImportLeaving uint8

// The effects that Subscription.ImportLeft can have.
const (
	LeavingKept   ImportLeaving = iota // already unsubscribed, or joined later: nothing changes
	LeavingAdded                       // a new unsubscribed record
	LeavingMarked                      // was pending: files can no longer activate it
	LeavingEnded                       // was active
)

// ImportLeft applies an imported row that marks the subscriber as unsubscribed in another system. leftAt is when that
// happened, or 0 if the file doesn't contain the time. For an imported subscriber, joined is when they joined,
// according to the consent ledger. A change is returned only with LeavingEnded. Subscribers who request the
// subscription themselves, before or after, can still confirm it.
func (s *Subscription) ImportLeft(email Email, leftAt, joined, now Instant) (ImportLeaving, *Change) {
	switch {
	case s.Left() || s.JoinedAfter(leftAt, joined):
		return LeavingKept, nil
	case s.Status == SubscriptionActive:
		return LeavingEnded, s.Unsubscribe(now)
	case s.Status == SubscriptionPending:
		s.Proof = ProofLeft
		return LeavingMarked, nil
	}
	s.Email, s.Preferences, s.CreatedAt, s.Generation, s.Proof = email, NoPreferences, now, 1, ProofImport
	s.move(SubscriptionUnsubscribed, now)
	return LeavingAdded, nil
}

// JoinedAfter reports whether an active subscription takes precedence over a file that says the subscriber unsubscribed
// at leftAt. A subscription that the subscriber started does, unless the file contains a later time. An imported one
// does only if the file contains a time that is not later than joined, the time from the earlier import. leftAt is 0 if
// the file contains no time.
func (s *Subscription) JoinedAfter(leftAt, joined Instant) bool {
	if s.Status != SubscriptionActive {
		return false
	}
	if s.Proof != ProofImport {
		joined = s.ChangedAt
		return leftAt == 0 || joined >= leftAt
	}
	return leftAt != 0 && joined >= leftAt
}
