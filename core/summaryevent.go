package core

import (
	"encoding/json"
	"maps"
	"slices"
)

// The types of events that summarize others for an endpoint. Every endpoint gets them, whatever types it has chosen.
const (
	EventDropped      = "webhook.events_dropped" // too many events waited, so later ones were dropped
	EventImported     = "import.completed"       // an import that changed more than MaxImportEvents subscribers ended
	EventImportUndone = "import.undone"          // the same for undoing an import
	EventBulkEnded    = "bulk_action.ended"      // the same for a bulk action, or for undoing one
)

// MaxEndpointEvents is the maximum number of events waiting for an endpoint, including the one that reports dropped
// events.
const MaxEndpointEvents = 100_000

// MaxEndpointBytes is the maximum total size of the events waiting for an endpoint. Most events have a few hundred
// bytes.
const MaxEndpointBytes = 64 << 20

// MaxImportEvents is the maximum number of subscribers per import that are reported to endpoints in separate events.
const MaxImportEvents = 10_000

// EventTypes returns the event types in the outbox.
func EventTypes() []string {
	return []string{
		EventActivated, EventUnsubscribed, EventPreferences, EventDropped, EventImported, EventImportUndone,
		EventBulkEnded,
	}
}

// IsSummary reports whether events of this type summarize others. They are delivered after all earlier events and
// before all later ones.
func IsSummary(eventType string) bool {
	return slices.Contains([]string{EventDropped, EventImported, EventImportUndone, EventBulkEnded}, eventType)
}

// Dropped counts an endpoint's dropped events.
type Dropped struct {
	From   Instant          `json:"from"` // occurred_at of the first and last
	To     Instant          `json:"to"`
	Types  []string         `json:"types"`
	Counts map[string]int64 `json:"counts"` // by type
}

// Add counts a dropped event that occurred at the given instant.
func (d *Dropped) Add(eventType string, at Instant) {
	d.Merge(Dropped{From: at, To: at, Counts: map[string]int64{eventType: 1}})
}

// Merge adds the counts of o.
func (d *Dropped) Merge(o Dropped) {
	if len(o.Counts) == 0 {
		return
	}
	if d.Counts == nil {
		d.From, d.Counts = o.From, map[string]int64{}
	}
	d.From, d.To = min(d.From, o.From), max(d.To, o.To)
	for t, n := range o.Counts {
		d.Counts[t] += n
	}
	d.Types = slices.Sorted(maps.Keys(d.Counts))
}

// SummaryEvent is an event for which IsSummary returns true, in wire form.
type SummaryEvent struct {
	ID       string `json:"event_id"`
	Type     string `json:"event_type"`
	TenantID string `json:"tenant_id"`
	ListID   string `json:"list_id,omitempty"` // of an import or a bulk action

	From  Instant  `json:"from,omitzero"` // see Dropped
	To    Instant  `json:"to,omitzero"`
	Types []string `json:"types,omitempty"`

	ImportID string `json:"import_id,omitempty"`
	BulkID   string `json:"bulk_action_id,omitempty"`
	Status   string `json:"status,omitempty"` // of the import, or the state of the bulk action

	Counts     map[string]int64 `json:"counts"`
	OccurredAt Instant          `json:"occurred_at"`
}

// DroppedEvent returns the event that reports the dropped events in d. Its instant is that of the last one.
func DroppedEvent(id, tenantID string, d Dropped) *SummaryEvent {
	return &SummaryEvent{
		ID: id, Type: EventDropped, TenantID: tenantID, From: d.From, To: d.To, Types: d.Types, Counts: d.Counts,
		OccurredAt: d.To,
	}
}

// Body returns the wire form.
func (e *SummaryEvent) Body() string {
	b, err := json.Marshal(e)
	if err != nil { // strings and numbers always encode
		panic(err)
	}
	return string(b)
}

// Summary returns the counts by name, for a summary event.
func (c ImportCounts) Summary() map[string]int64 {
	return map[string]int64{
		"added": c.Added, "updated": c.Updated, "unchanged": c.Unchanged, "kept": c.Kept, "contradicted": c.Contradicted,
		"pending": c.Pending, "failed": c.Failed, "unsubscribed": c.Unsubscribed, "bounced": c.Bounced,
		"complained": c.Complained, "suppressed": c.Suppressed, "not_permitted": c.NotPermitted,
	}
}

// Summary returns the counts by name, for a summary event.
func (u *ImportUndo) Summary() map[string]int64 {
	return map[string]int64{
		"removed": u.UndoRemoved, "pending": u.UndoPending, "kept": u.UndoKept, "restored": u.UndoRestored,
		"unrestored": u.UndoUnrestored, "resumed": u.UndoResumed, "lifted": u.UndoLifted,
	}
}
