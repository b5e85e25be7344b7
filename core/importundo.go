package core

// The values of ImportUndo.UndoStatus.
const (
	ImportUndoRunning = "running"
	ImportUndoDone    = "done"
)

// ImportUndo is the progress of undoing an import.
type ImportUndo struct {
	Brought        int64   `db:"brought" json:"brought" about:"Subscribers whom the import added, or whose status it changed"`
	UndoUntil      Instant `db:"undo_until" json:"undo_until,omitzero" about:"Absent: it can't be undone"`
	UndoStatus     string  `db:"undo_status" json:"undo_status,omitempty" enum:"running|done"`
	UndoRemoved    int64   `db:"undo_removed" json:"undo_removed,omitempty" about:"Removed from the list"`
	UndoPending    int64   `db:"undo_pending" json:"undo_pending,omitempty" about:"Wait for confirmation again"`
	UndoKept       int64   `db:"undo_kept" json:"undo_kept,omitempty" about:"Changed or unsubscribed since; kept"`
	UndoneAt       Instant `db:"undone_at" json:"undone_at,omitzero" about:"Absent: not undone"`
	Replaced       int64   `db:"replaced" json:"replaced" about:"People whose old fields are kept"`
	ReplacedUnkept int64   `db:"replaced_unkept" json:"replaced_unkept,omitempty" about:"Too many fields to keep"`
	UndoRestored   int64   `db:"undo_restored" json:"undo_restored,omitempty" about:"Got their fields back"`
	UndoUnrestored int64   `db:"undo_unrestored" json:"undo_unrestored,omitempty" about:"Changed or deleted since"`
	Barred         int64   `db:"barred" json:"barred,omitempty" about:"Addresses suppressed"`
	Said           int64   `db:"said" json:"-"` // see ImportUndoPlan.Said; with addresses
	UndoResumed    int64   `db:"undo_resumed" json:"undo_resumed,omitempty" about:"Active again"`
	UndoLifted     int64   `db:"undo_lifted" json:"undo_lifted,omitempty" about:"Addresses no longer suppressed"`
	UndoUntagged   int64   `db:"undo_untagged" json:"undo_untagged,omitempty" about:"Tags removed from people"`
}

// ImportUndoPlan holds the number of subscribers for each effect of undoing an import.
type ImportUndoPlan struct {
	Brought int64 `json:"brought" about:"Subscribers whom the import added, or whose status it changed"`
	Looked  int64 `json:"looked" about:"How many of them were checked; remove to said count only these"`
	Remove  int64 `json:"remove" about:"Would be removed from the list"`
	Pending int64 `json:"pending" about:"Would wait for confirmation again"`
	Left    int64 `json:"left" about:"Unsubscribed themselves; stay unsubscribed"`
	Changed int64 `json:"changed" about:"Confirmed or changed since; stay subscribed"`
	Gone    int64 `json:"gone" about:"No longer on the list"`
	Resume  int64 `json:"resume" about:"Unsubscribed by the import; would be active again"`
	Said    int64 `json:"said" about:"Unsubscribed according to another file too; stay unsubscribed"`
	Lift    int64 `json:"lift" about:"Addresses that would be removed from the suppression list"`
	Tagged  int64 `json:"tagged" about:"People who would lose tags, unless they got them again since"`

	Replaced       int64 `json:"replaced" about:"Existing subscribers whose fields the import replaced"`
	ReplacedLooked int64 `json:"replaced_looked" about:"Number of them that were checked"`
	Restore        int64 `json:"restore" about:"Would get their old fields back"`
	Unrestored     int64 `json:"unrestored" about:"Deleted, or changed since; stay as they are"`
}

// UndoOutcome is the effect of undoing an import on a subscription.
type UndoOutcome uint8

// The effects of undoing an import on a subscription that it created or changed.
const (
	UndoRemoves UndoOutcome = iota + 1 // removed: the import created it
	UndoPends                          // waits for confirmation again, as before
	UndoLeft                           // its subscriber has unsubscribed since
	UndoChanged                        // has been confirmed or changed since
	UndoResumes                        // active again: the import had ended it
	UndoUnmarks                        // waits for confirmation, as before
	UndoSaid                           // another file also says that its subscriber unsubscribed
	UndoEnds                           // removed; another file's unsubscribe applies again
	UndoMarks                          // waits for confirmation again, marked as unsubscribed by another file
)

// Frees reports whether an undo with outcome o leaves the subscriber active, or lets a file activate them. s is the
// subscription before the undo.
func (o UndoOutcome) Frees(s *Subscription) bool {
	switch o {
	case UndoRemoves, UndoPends:
		return s.Status != SubscriptionPending
	case UndoResumes, UndoUnmarks:
		return true
	}
	return false
}

// WithWord returns the outcome that replaces o if o would free the subscriber (see Frees) and another file also says
// that the subscriber unsubscribed. s is the subscription before the undo.
func (o UndoOutcome) WithWord(s *Subscription) UndoOutcome {
	switch {
	case s.Status != SubscriptionActive:
		return UndoSaid
	case o == UndoPends:
		return UndoMarks
	}
	return UndoEnds
}

// ImportUndone returns the effect of undoing an import on a subscription that the import changed at the given instant.
// Later changes take precedence. asked reports whether the subscriber has since requested the subscription. If the
// subscription was already active, that request only caused an email and confirmed nothing. resumed reports whether the
// last event comes from undoing a later import that had ended the subscription.
func (s *Subscription) ImportUndone(at Instant, asked, resumed bool) UndoOutcome {
	switch {
	case s.Status == SubscriptionPending && s.Proof == ProofLeft && s.CreatedAt == at && s.Generation == 1:
		return UndoLeft // another file says that this subscriber unsubscribed
	case s.Status == SubscriptionPending && s.Proof == ProofLeft:
		return UndoUnmarks
	case s.Status == SubscriptionUnsubscribed && s.ChangedAt == at && s.Generation == 1 &&
		(s.EventAt == 0 || s.Proof == ""): // or the import that added it was undone
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

// EndAgain unsubscribes a subscription that an import created, as if another file had marked it as unsubscribed at the
// same instant. Undoing that other file's import then removes the subscription.
func (s *Subscription) EndAgain() {
	s.Proof, s.Preferences, s.Status = "", NoPreferences, SubscriptionUnsubscribed
}

// PendAgain undoes the activation of a pending subscription by an import.
func (s *Subscription) PendAgain() {
	s.Proof = ""
	s.move(SubscriptionPending, s.CreatedAt)
}

// EndedByUndo returns the event that unsubscribes s at the send service when its import is undone. It doesn't change
// the status of s; the caller must set it.
func (s *Subscription) EndedByUndo(now Instant) *Change { return s.change(EventUnsubscribed, now) }

// LeftUnlisted returns the subscription to store for a person who unsubscribes from a list that no longer has their
// subscription.
func LeftUnlisted(listID string, known *Subscriber, now Instant) Subscription {
	return Subscription{
		ID: known.ID, ListID: listID, Email: known.Email, Status: SubscriptionUnsubscribed, Preferences: NoPreferences,
		Generation: 1, CreatedAt: now, ChangedAt: now, EventAt: known.MemberStatusAt,
	}
}

// Add counts one subscription with the outcome o.
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
