package core

// The values of ImportUndo.UndoStatus.
const (
	ImportUndoRunning = "running"
	ImportUndoDone    = "done"
)

// ImportUndo is how far the taking back of an import has come.
type ImportUndo struct {
	// new subscribers, and those who had not confirmed until the import made them active
	Brought     int64   `db:"brought" json:"brought"`
	UndoUntil   Instant `db:"undo_until" json:"undo_until,omitzero"` // it can be taken back; absent: it can't
	UndoStatus  string  `db:"undo_status" json:"undo_status,omitempty" enum:"running|done"`
	UndoRemoved int64   `db:"undo_removed" json:"undo_removed,omitempty"` // from the list
	UndoPending int64   `db:"undo_pending" json:"undo_pending,omitempty"` // they wait for their confirmation again
	UndoKept    int64   `db:"undo_kept" json:"undo_kept,omitempty"`       // they have left, confirmed or changed since
	UndoneAt    Instant `db:"undone_at" json:"undone_at,omitzero"`
	// people who were on the list before, of whom what the file has replaced is kept until undo_until
	Replaced       int64 `db:"replaced" json:"replaced"`
	ReplacedUnkept int64 `db:"replaced_unkept" json:"replaced_unkept,omitempty"` // and of whom it is not: it was too much
	UndoRestored   int64 `db:"undo_restored" json:"undo_restored,omitempty"`     // they have fields again as before
	UndoUnrestored int64 `db:"undo_unrestored" json:"undo_unrestored,omitempty"` // changed since, or gone: they stay so
	Barred         int64 `db:"barred" json:"barred,omitempty"`                   // addresses added to the suppression list
	Said           int64 `db:"said" json:"-"`                                    // see ImportUndoPlan.Said, and addresses
	UndoResumed    int64 `db:"undo_resumed" json:"undo_resumed,omitempty"`       // active again
	UndoLifted     int64 `db:"undo_lifted" json:"undo_lifted,omitempty"`         // off the suppression list again
}

// ImportUndoPlan says what would become of those whom an import has brought or changed.
type ImportUndoPlan struct {
	Brought int64 `json:"brought"`
	Looked  int64 `json:"looked"`  // at so many of them; they are as good as chosen by chance
	Remove  int64 `json:"remove"`  // from the list
	Pending int64 `json:"pending"` // they wait for their confirmation again
	Left    int64 `json:"left"`    // by themselves: that stays
	Changed int64 `json:"changed"` // they have confirmed, or something of theirs has changed: they stay
	Gone    int64 `json:"gone"`    // not on the list any more
	Resume  int64 `json:"resume"`  // unsubscribed by the import: active again
	Said    int64 `json:"said"`    // another file says too that they have unsubscribed: that stays
	Lift    int64 `json:"lift"`    // addresses that the import has added to the suppression list: off it again

	Replaced       int64 `json:"replaced"`        // people who were on the list before, and have other fields by the file
	ReplacedLooked int64 `json:"replaced_looked"` // at so many of them
	Restore        int64 `json:"restore"`         // they get back what the file has replaced and was not changed since
	Unrestored     int64 `json:"unrestored"`      // all of it was changed since, or they are gone: that stays
}

// UndoOutcome is what taking an import back makes of a subscription.
type UndoOutcome uint8

// What becomes of a subscription that an import has moved.
const (
	UndoRemoves UndoOutcome = iota + 1 // the import made it
	UndoPends                          // it waited for its confirmation, and does so again
	UndoLeft                           // its subscriber has left since
	UndoChanged                        // it was confirmed or changed since
	UndoResumes                        // the import has ended it: active again
	UndoUnmarks                        // it waits for its confirmation, as before
	UndoSaid                           // another file says too that its subscriber has unsubscribed
	UndoEnds                           // it goes, and another file says that its subscriber has unsubscribed: that counts again
	UndoMarks                          // it waits for its confirmation again, and another file says so
)

// Frees reports whether a file could make the subscriber active after that, or whether they are; s is the subscription
// as it is before.
func (o UndoOutcome) Frees(s *Subscription) bool {
	switch o {
	case UndoRemoves, UndoPends:
		return s.Status != SubscriptionPending
	case UndoResumes, UndoUnmarks:
		return true
	}
	return false
}

// WithWord is what becomes of a subscription, as it is before, of which another file says that its subscriber has
// unsubscribed, where the outcome would free them.
func (o UndoOutcome) WithWord(s *Subscription) UndoOutcome {
	switch {
	case s.Status != SubscriptionActive:
		return UndoSaid
	case o == UndoPends:
		return UndoMarks
	}
	return UndoEnds
}

// ImportUndone says what becomes of a subscription that an import moved at an instant, when that import is taken back.
// What has happened to it since counts more. asked reports whether the subscriber has asked for the subscription since:
// who was active already was told so, and has not confirmed it. resumed reports whether the last event is that a later
// import, which had ended it, was taken back.
func (s *Subscription) ImportUndone(at Instant, asked, resumed bool) UndoOutcome {
	switch {
	case s.Status == SubscriptionPending && s.Proof == ProofLeft && s.CreatedAt == at && s.Generation == 1:
		return UndoLeft // another file says that this subscriber unsubscribed
	case s.Status == SubscriptionPending && s.Proof == ProofLeft:
		return UndoUnmarks
	case s.Status == SubscriptionUnsubscribed && s.ChangedAt == at && s.Generation == 1 &&
		(s.EventAt == 0 || s.Proof == ""): // or the import that has brought it is undone
		return UndoRemoves
	case s.Status == SubscriptionUnsubscribed && s.ChangedAt == at && s.Proof == ProofLeft:
		return UndoPends
	case s.Status == SubscriptionUnsubscribed && s.ChangedAt == at:
		return UndoResumes
	case s.Left():
		return UndoLeft
	case s.ChangedAt != at || s.Generation != 1:
		return UndoChanged
	case s.Status == SubscriptionPending && s.CreatedAt == at && !asked:
		return UndoRemoves
	case s.Status != SubscriptionActive || s.Proof != ProofImport || s.EventAt != at && !resumed:
		return UndoChanged
	case s.CreatedAt == at && !asked:
		return UndoRemoves
	}
	return UndoPends
}

// EndAgain lets a subscription that an import has made be one that another file calls unsubscribed, from the same
// instant on. The import that says so removes it when it is taken back.
func (s *Subscription) EndAgain() {
	s.Proof, s.Preferences, s.Status = "", NoPreferences, SubscriptionUnsubscribed
}

// PendAgain takes back that an import has made a subscription active.
func (s *Subscription) PendAgain() {
	s.Proof = ""
	s.move(SubscriptionPending, s.CreatedAt)
}

// EndedByUndo returns the event that ends a subscription for the send service when its import is taken back. The
// subscription is to look as it did.
func (s *Subscription) EndedByUndo(now Instant) *Change { return s.change(EventUnsubscribed, now) }

// LeftUnlisted returns the record of a subscriber who leaves a list that has none of them any more.
func LeftUnlisted(listID string, known *Subscriber, now Instant) Subscription {
	return Subscription{
		ID: known.ID, ListID: listID, Email: known.Email, Status: SubscriptionUnsubscribed, Preferences: NoPreferences,
		Generation: 1, CreatedAt: now, ChangedAt: now, EventAt: known.MemberStatusAt,
	}
}

// Add counts what becomes of a subscription.
func (p *ImportUndoPlan) Add(o UndoOutcome) {
	p.Looked++
	switch o {
	case UndoRemoves, UndoEnds:
		p.Remove++
	case UndoResumes:
		p.Resume++
	case UndoPends, UndoUnmarks, UndoMarks:
		p.Pending++
	case UndoLeft:
		p.Left++
	case UndoSaid:
		p.Said++
	case UndoChanged:
		p.Changed++
	default:
		p.Gone++
	}
}
