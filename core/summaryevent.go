package core

import (
	"encoding/json"
	"maps"
	"slices"
)

// Events that tell an endpoint what it is not told one by one. It gets them whatever types it has chosen.
const (
	EventDropped      = "webhook.events_dropped" // too many events waited: later ones were dropped
	EventImported     = "import.completed"       // an import has ended that changed more than MaxImportEvents subscribers
	EventImportUndone = "import.undone"          // the same, of undoing an import
)

// MaxEndpointEvents is how many events may wait for an endpoint, with the one that tells of those that were dropped.
const MaxEndpointEvents = 100_000

// MaxEndpointBytes is how many bytes of events may wait for an endpoint. Most events are some hundred bytes.
const MaxEndpointBytes = 64 << 20

// MaxImportEvents is how many subscribers of an import are announced to endpoints one by one.
const MaxImportEvents = 10_000

// EventTypes are the types of events in the outbox.
func EventTypes() []string {
	return []string{EventActivated, EventUnsubscribed, EventPreferences, EventDropped, EventImported, EventImportUndone}
}

// IsSummary reports whether events of a type tell what others don't. They are delivered after what came before them and
// before what comes after.
func IsSummary(eventType string) bool {
	return eventType == EventDropped || eventType == EventImported || eventType == EventImportUndone
}

// Dropped counts events of an endpoint that were dropped.
type Dropped struct {
	From   Instant          `json:"from"` // occurred_at of the first and the last
	To     Instant          `json:"to"`
	Types  []string         `json:"types"`
	Counts map[string]int64 `json:"counts"` // by type
}

// Add counts an event.
func (d *Dropped) Add(eventType string, at Instant) {
	d.Merge(Dropped{From: at, To: at, Counts: map[string]int64{eventType: 1}})
}

// Merge adds what another one has counted.
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

// SummaryEvent is an event of a type that IsSummary reports, as it stands on the wire.
type SummaryEvent struct {
	ID       string `json:"event_id"`
	Type     string `json:"event_type"`
	TenantID string `json:"tenant_id"`
	ListID   string `json:"list_id,omitempty"` // of an import

	From  Instant  `json:"from,omitzero"` // see Dropped
	To    Instant  `json:"to,omitzero"`
	Types []string `json:"types,omitempty"`

	ImportID string `json:"import_id,omitempty"`
	Status   string `json:"status,omitempty"` // of the import

	Counts     map[string]int64 `json:"counts"`
	OccurredAt Instant          `json:"occurred_at"`
}

// DroppedEvent is the event that tells of events that were dropped. It has occurred when the last one has.
func DroppedEvent(id, tenantID string, d Dropped) *SummaryEvent {
	return &SummaryEvent{
		ID: id, Type: EventDropped, TenantID: tenantID, From: d.From, To: d.To, Types: d.Types, Counts: d.Counts,
		OccurredAt: d.To,
	}
}

// Body is the wire form.
func (e *SummaryEvent) Body() string {
	b, err := json.Marshal(e)
	if err != nil { // texts and numbers alone
		panic(err)
	}
	return string(b)
}

// Summary returns the counts that an event tells.
func (c ImportCounts) Summary() map[string]int64 {
	return map[string]int64{
		"added": c.Added, "updated": c.Updated, "unchanged": c.Unchanged, "kept": c.Kept, "contradicted": c.Contradicted,
		"pending": c.Pending, "failed": c.Failed, "unsubscribed": c.Unsubscribed, "bounced": c.Bounced,
		"complained": c.Complained, "suppressed": c.Suppressed, "not_permitted": c.NotPermitted,
	}
}

// Summary returns the counts that an event tells.
func (u *ImportUndo) Summary() map[string]int64 {
	return map[string]int64{
		"removed": u.UndoRemoved, "pending": u.UndoPending, "kept": u.UndoKept, "restored": u.UndoRestored,
		"unrestored": u.UndoUnrestored, "resumed": u.UndoResumed, "lifted": u.UndoLifted,
	}
}
