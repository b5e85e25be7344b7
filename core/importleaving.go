package core

// ImportLeaving is what a row of a file that calls its subscriber unsubscribed comes to.
type ImportLeaving uint8

// The outcomes of Subscription.ImportLeft.
const (
	LeavingKept   ImportLeaving = iota // they are unsubscribed already, or have joined later: nothing changes
	LeavingAdded                       // a record that says so
	LeavingMarked                      // they wait for their confirmation: no file makes them active any more
	LeavingEnded                       // they were active
)

// ImportLeft applies a row that says that its subscriber has unsubscribed elsewhere; leftAt is when, as far as the file
// says. joined is when they joined, as far as the ledger knows it of someone whom an import has brought. A change is
// only returned with LeavingEnded. Who asks for the subscription themselves, before or after, comes back by their own
// confirmation.
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

// JoinedAfter reports whether an active subscription counts more than what a file says of an earlier time, leftAt. What
// someone did here themselves counts more than a file that gives no time. What another file said does not, unless it
// gave a later time, joined.
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
