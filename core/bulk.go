package core

import (
	"slices"
	"time"
)

// The kinds of a BulkAction.
const (
	BulkUnsubscribe = "unsubscribe"
	BulkRemove      = "remove" // delete the subscriptions, as if these people had never been on the list
	BulkTag         = "tag"    // on all lists of the tenant
	BulkUntag       = "untag"
)

// BulkKinds lists the values of BulkAction.Kind.
var BulkKinds = []string{BulkUnsubscribe, BulkRemove, BulkTag, BulkUntag}

// BulkTags reports whether a kind of bulk action adds or removes a tag.
func BulkTags(kind string) bool { return kind == BulkTag || kind == BulkUntag }

// BulkRight returns the permission that a caller needs to start, stop or undo a bulk action of this kind.
func BulkRight(kind string) Action {
	if BulkTags(kind) {
		return ActionPeopleTag
	}
	return ActionPeopleChange
}

// CheckBulkTag returns an error if a bulk action of this kind lacks a required tag or has an unnecessary one.
func CheckBulkTag(kind, tag string) error {
	switch {
	case BulkTags(kind) && tag == "":
		return Invalidf("tag", "%s is missing.", "tag")
	case !BulkTags(kind) && tag != "":
		return Invalidf("tag", "tag is only allowed for the actions tag and untag. Leave it out.")
	}
	return nil
}

// The states of a BulkAction.
const (
	BulkRunning   = "running"
	BulkPaused    = "paused" // its rule can no longer be evaluated
	BulkCompleted = "completed"
	BulkCancelled = "cancelled"
	BulkUndoing   = "undoing"
	BulkUndone    = "undone"
)

const (
	// MaxBulkIDs is the maximum number of ids in a bulk action that selects subscribers by id.
	MaxBulkIDs = 1000
	// MaxOpenBulk is the maximum number of bulk actions that a tenant can have running or being undone at the same
	// time.
	MaxOpenBulk = 5
	// BulkUnproved is the maximum number of people that a bulk action can change without a fresh proof of identity.
	BulkUnproved = 500
	// BulkKept is how long a bulk action can be undone after it has ended.
	BulkKept = 7 * 24 * time.Hour
)

// ErrBulkFull is returned if a tenant already has MaxOpenBulk open bulk actions.
var ErrBulkFull = Conflictf("conflict",
	"A tenant can have at most %d bulk actions at a time. Wait until one ends, or cancel one.", MaxOpenBulk)

// BulkAction makes the same change to many subscribers of a list, selected by a rule or by ids.
type BulkAction struct {
	ID       string   `db:"id" json:"id"`
	TenantID string   `db:"tenant_id" json:"tenant_id"`
	ListID   string   `db:"list_id" json:"list_id"`
	Kind     string   `db:"kind" json:"action" enum:"unsubscribe|remove|tag|untag" about:"What is done with each subscriber"`
	TagID    string   `db:"tag_id" json:"tag_id,omitempty"`
	Tag      string   `db:"tag" json:"tag,omitempty" about:"Name of the tag; missing if it was deleted"`
	Rule     RuleText `db:"rule" json:"rule,omitempty" about:"The rule as it was at the start; missing for ids"`
	State    string   `db:"state" json:"state" enum:"running|paused|completed|cancelled|undoing|undone" about:"What the action does now"`
	Reason   string   `db:"reason" json:"reason,omitempty" about:"Why the action is paused"`
	Done     int64    `db:"done" json:"done" about:"People checked so far"`
	Of       int64    `db:"expected" json:"of" about:"People to check; an estimate for a rule on a long list"`
	Changed  int64    `db:"changed" json:"changed" about:"People who were unsubscribed, removed, tagged or untagged"`
	Restored int64    `db:"restored" json:"restored" about:"People whose change was undone"`

	CreatedBy  string  `db:"created_by" json:"created_by"`
	CreatedAt  Instant `db:"created_at" json:"created_at"`
	FinishedAt Instant `db:"finished_at" json:"finished_at,omitzero"`
	UndoUntil  Instant `db:"-" json:"undo_until,omitzero" about:"Until when the action can be undone; missing if it can't"`

	DoneID    string `db:"done_id" json:"-"`
	Announced int64  `db:"announced" json:"-"`
	UndoBy    string `db:"undo_by" json:"-"`
}

// BulkBefore holds a person's data as it was before a bulk action, so that the action can be undone.
type BulkBefore struct {
	Status string `json:"status,omitempty"` // of the subscription
	// of a removed subscription
	Email       Email       `json:"email,omitempty"`
	Preferences Preferences `json:"preferences,omitempty"`
	Generation  int64       `json:"generation,omitempty"`
	Proof       string      `json:"means,omitempty"`
	CreatedAt   Instant     `json:"created_at,omitzero"`
	ChangedAt   Instant     `json:"changed_at,omitzero"`
	EventAt     Instant     `json:"event_at,omitzero"`
	AskedAt     Instant     `json:"asked_at,omitzero"`
	HeardAt     Instant     `json:"heard_at,omitzero"`
}

// Column returns the value to store in the database column.
func (b *BulkBefore) Column() string { return jsonColumn(b, false, "") }

// Scan implements sql.Scanner.
func (b *BulkBefore) Scan(src any) error { return scanJSON(src, b) }

// Open reports whether the worker still has to process the action.
func (a *BulkAction) Open() bool { return a.State == BulkRunning || a.State == BulkUndoing }

// Stoppable reports whether the action can be canceled.
func (a *BulkAction) Stoppable() bool { return a.State == BulkRunning || a.State == BulkPaused }

// SetUndoUntil sets UndoUntil, the deadline for undoing the action.
func (a *BulkAction) SetUndoUntil() {
	if a.Changed > 0 && slices.Contains([]string{BulkCompleted, BulkCancelled, BulkPaused}, a.State) {
		a.UndoUntil = a.FinishedAt.Add(BulkKept)
	}
}

// MayUndo returns nil if the action can be undone, otherwise a Conflict error with the reason. Undoing a running action
// stops it.
func (a *BulkAction) MayUndo(now Instant) error {
	switch {
	case a.State == BulkUndoing || a.State == BulkUndone:
		return Conflictf("conflict", "The bulk action was already undone.")
	case a.Changed == 0:
		return Conflictf("conflict", "The bulk action changed nothing that can be undone.")
	case a.State != BulkRunning && now >= a.FinishedAt.Add(BulkKept):
		return Conflictf("conflict", "This bulk action can't be undone anymore. Bulk actions can be undone for a week.")
	}
	return nil
}

// Summary returns the action's counts by name, for the event that summarizes it.
func (a *BulkAction) Summary() map[string]int64 {
	return map[string]int64{"done": a.Done, "changed": a.Changed, "restored": a.Restored}
}

// PendsBefore makes a subscription pending again that a bulk action unsubscribed at the instant left. If the
// subscription has changed since then, PendsBefore does nothing. It reports whether it changed the subscription.
func (s *Subscription) PendsBefore(left, now Instant) bool {
	if s.Status != SubscriptionUnsubscribed || s.ChangedAt != left {
		return false
	}
	s.move(SubscriptionPending, now)
	return true
}

// Before returns the data needed to restore the subscription after a bulk action has removed it.
func (s *Subscription) Before() BulkBefore {
	return BulkBefore{
		Status: s.Status, Email: s.Email, Preferences: s.Preferences, Generation: s.Generation, Proof: s.Proof,
		CreatedAt: s.CreatedAt, ChangedAt: s.ChangedAt, EventAt: s.EventAt,
	}
}

// Subscription restores a removed subscription from b. If the subscription was active, Subscription also returns the
// event that reactivates it.
func (b *BulkBefore) Subscription(listID, id string, removed, now Instant) (s Subscription, c *Change) {
	s = Subscription{
		ID: id, ListID: listID, Email: b.Email, Status: b.Status, Preferences: b.Preferences, Generation: b.Generation,
		Proof: b.Proof, CreatedAt: b.CreatedAt, ChangedAt: b.ChangedAt, EventAt: max(b.EventAt, removed),
	}
	if s.Status == SubscriptionActive {
		c = s.change(EventActivated, now)
	}
	return s, c
}
