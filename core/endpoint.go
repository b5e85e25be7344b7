package core

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// Endpoint is a webhook endpoint: a tenant's URL that receives the same events as the send service.
type Endpoint struct {
	ID             string  `db:"id" json:"id"` // X-Client-Id of its requests
	TenantID       string  `db:"tenant_id" json:"tenant_id"`
	ListID         string  `db:"list_id" json:"list_id"` // empty: every list
	Name           string  `db:"name" json:"name"`
	URL            string  `db:"url" json:"url"`
	Events         Strings `db:"events" json:"events"`       // event types; empty means all
	OldUntil       Instant `db:"old_until" json:"old_until"` // when the previous secret stops signing
	FailingSince   Instant `db:"failing_since" json:"failing_since"`
	DisabledAt     Instant `db:"disabled_at" json:"disabled_at"`
	DisabledReason string  `db:"disabled_reason" json:"disabled_reason"`
	CreatedBy      string  `db:"created_by" json:"created_by,omitempty"`           // actor name as in the audit log
	CreatedByName  string  `db:"created_by_name" json:"created_by_name,omitempty"` // name or address of that user, or name of that client
	// Keepers has the actor names of its creator and of those who changed its URL or secret.
	Keepers      Strings `db:"keepers" json:"keepers"`
	CreatedAt    Instant `db:"created_at" json:"created_at"`
	UpdatedAt    Instant `db:"updated_at" json:"updated_at"`
	Waiting      int64   `db:"waiting" json:"waiting"`             // events not yet delivered
	WaitingBytes int64   `db:"waiting_bytes" json:"waiting_bytes"` // total size of their bodies
	Dropping     bool    `db:"dropping" json:"dropping"`           // events were dropped, and not yet reported
}

// MaxEndpoints is the maximum number of endpoints per tenant. Each has its own delivery loop and a row for each event.
const MaxEndpoints = 20

// EndpointOverlap is how long requests are also signed with the previous secret by default.
const EndpointOverlap = 24 * time.Hour

// MaxSecretOverlap is the longest overlap, in seconds, that an HTTP request can set for a new secret.
const MaxSecretOverlap = 30 * 24 * 3600

// Limits of an endpoint's strings, in bytes.
const (
	MaxEndpointURL  = 2000
	MaxEndpointName = 100
)

// Wants reports whether the endpoint receives events of a list that have one of the given types.
func (e *Endpoint) Wants(listID string, eventTypes ...string) bool {
	return (e.ListID == "" || e.ListID == listID) && (len(e.Events) == 0 ||
		slices.ContainsFunc(eventTypes, func(t string) bool { return slices.Contains(e.Events, t) }))
}

// EndpointInput holds the fields of an endpoint that a caller sets. A nil field is left unchanged.
type EndpointInput struct {
	Name, URL, ListID *string
	Events            *[]string
}

// DisabledByPerson is the reason stored for an endpoint that a person disabled.
const DisabledByPerson = "by a person"

// Change sets the endpoint's fields from in. An Invalid error names the field.
func (e *Endpoint) Change(in EndpointInput, now Instant) error {
	if in.Name != nil && *in.Name != e.Name && hasControl(*in.Name) {
		return Invalidf("name", "name contains control characters. Remove them.")
	}
	take(&e.Name, in.Name)
	take(&e.ListID, in.ListID)
	take(&e.URL, in.URL)
	if in.Events != nil {
		e.Events = *in.Events
	}
	e.UpdatedAt = now
	if len(e.Name) > MaxEndpointName {
		return Invalidf("name", "name must have at most %d bytes.", MaxEndpointName)
	}
	for _, t := range e.Events {
		if t != EventActivated && t != EventUnsubscribed && t != EventPreferences {
			return Invalidf("events",
				"events must be %s, %s or %s.", EventActivated, EventUnsubscribed, EventPreferences)
		}
	}
	u, err := url.Parse(e.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(e.URL) > MaxEndpointURL:
		return Invalidf("url", "url must be an absolute http or https URL of at most %d bytes.", MaxEndpointURL)
	case u.User != nil || u.Fragment != "" || strings.Contains(e.URL, "#"):
		return Invalidf("url", "url contains a username, password or fragment. Remove it.")
	case in.URL != nil && !validPort(u): // a stored endpoint can still be disabled
		return Invalidf("url", "The port in url must be from 1 to 65535.")
	}
	return nil
}

// MaskURL returns a URL without its query, for logs and lists. Queries often contain secrets.
func MaskURL(text string) string {
	before, _, query := strings.Cut(text, "?")
	if query {
		return before + "?…"
	}
	return before
}

// EndpointKeys is an endpoint with its current signing keys, newest first.
type EndpointKeys struct {
	Endpoint
	Keys [][]byte
}

// The outcomes of attempts to deliver events to endpoints.
const (
	AttemptDelivered = "delivered"
	AttemptRetry     = "retry"
	AttemptDead      = "dead" // no further attempt
)

// EndpointAttempt is an entry in the delivery log.
type EndpointAttempt struct {
	ID         int64   `db:"id" json:"id"`
	EndpointID string  `db:"endpoint_id" json:"endpoint_id"`
	EventID    string  `db:"event_id" json:"event_id"`
	EventType  string  `db:"event_type" json:"event_type"`
	At         Instant `db:"at" json:"at"`
	Outcome    string  `db:"outcome" json:"outcome"`
	Status     int     `db:"status" json:"status"`   // of the response; 0: none
	TookMS     int64   `db:"took_ms" json:"took_ms"` // milliseconds
	Reason     string  `db:"reason" json:"reason"`
}

// EndpointTest is the result of a test event.
type EndpointTest struct {
	EventID string `json:"event_id"`
	Status  int    `json:"status" about:"HTTP status of the response; 0: no response"`
	TookMS  int64  `json:"took_ms"` // milliseconds
	Reason  string `json:"reason" about:"Why the delivery failed; empty: it didn't"`
}
