package core

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// Endpoint is another receiver of a tenant's events, in addition to the send service.
type Endpoint struct {
	ID             string  `db:"id" json:"id"` // X-Client-Id of its requests
	TenantID       string  `db:"tenant_id" json:"tenant_id"`
	ListID         string  `db:"list_id" json:"list_id"` // empty: every list
	Name           string  `db:"name" json:"name"`
	URL            string  `db:"url" json:"url"`
	Events         Strings `db:"events" json:"events"`       // event types; none: all
	OldUntil       Instant `db:"old_until" json:"old_until"` // until when the secret before the newest also signs
	FailingSince   Instant `db:"failing_since" json:"failing_since"`
	DisabledAt     Instant `db:"disabled_at" json:"disabled_at"`
	DisabledReason string  `db:"disabled_reason" json:"disabled_reason"`
	CreatedBy      string  `db:"created_by" json:"created_by,omitempty"`           // as the audit log names them
	CreatedByName  string  `db:"created_by_name" json:"created_by_name,omitempty"` // the name or address of that user, or the name of that client
	Keepers        Strings `db:"keepers" json:"keepers"`                           // who created it or changed its url or secret, as the audit log names them
	CreatedAt      Instant `db:"created_at" json:"created_at"`
	UpdatedAt      Instant `db:"updated_at" json:"updated_at"`
	Waiting        int64   `db:"waiting" json:"waiting"` // events that are to be delivered
	WaitingBytes   int64   `db:"waiting_bytes" json:"waiting_bytes"`
	Dropping       bool    `db:"dropping" json:"dropping"` // events were dropped, and the one that says so was not tried yet
}

// MaxEndpoints is how many endpoints a tenant may have: each has a loop of its own, and a row of each event.
const MaxEndpoints = 20

// EndpointOverlap is for how long the secret before the newest signs too, unless a caller says another time.
const EndpointOverlap = 24 * time.Hour

// MaxSecretOverlap is the longest such time that is given over HTTP, in seconds.
const MaxSecretOverlap = 30 * 24 * 3600

// Bounds of an endpoint's texts, in bytes.
const (
	MaxEndpointURL  = 2000
	MaxEndpointName = 100
)

// Wants reports whether events of a list that have one of these types go to the endpoint.
func (e *Endpoint) Wants(listID string, eventTypes ...string) bool {
	return (e.ListID == "" || e.ListID == listID) && (len(e.Events) == 0 ||
		slices.ContainsFunc(eventTypes, func(t string) bool { return slices.Contains(e.Events, t) }))
}

// EndpointInput is what a caller wants an endpoint to be; nil leaves a field as it is.
type EndpointInput struct {
	Name, URL, ListID *string
	Events            *[]string
}

// DisabledByPerson is why an endpoint is off that a person has switched off.
const DisabledByPerson = "by a person"

// Change takes over what the input says. An Invalid error names the field at fault.
func (e *Endpoint) Change(in EndpointInput, now Instant) error {
	if in.Name != nil && *in.Name != e.Name && hasControl(*in.Name) {
		return Invalidf("name", "name must not contain control characters.")
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
		return Invalidf("url", "url must not contain a user name, password or fragment.")
	case in.URL != nil && !validPort(u): // one that is stored can still be switched off
		return Invalidf("url", "The port in url must be from 1 to 65535.")
	}
	return nil
}

// MaskURL is a URL as a log or a list may show it: what stands in a query is often a secret.
func MaskURL(text string) string {
	before, _, query := strings.Cut(text, "?")
	if query {
		return before + "?…"
	}
	return before
}

// EndpointKeys is an endpoint with the keys that sign now, the newest first.
type EndpointKeys struct {
	Endpoint
	Keys [][]byte
}

// The outcomes of an attempt to deliver an event to an endpoint.
const (
	AttemptDelivered = "delivered"
	AttemptRetry     = "retry"
	AttemptDead      = "dead" // there is no other attempt
)

// EndpointAttempt is a line of the delivery log.
type EndpointAttempt struct {
	ID         int64   `db:"id" json:"id"`
	EndpointID string  `db:"endpoint_id" json:"endpoint_id"`
	EventID    string  `db:"event_id" json:"event_id"`
	EventType  string  `db:"event_type" json:"event_type"`
	At         Instant `db:"at" json:"at"`
	Outcome    string  `db:"outcome" json:"outcome"`
	Status     int     `db:"status" json:"status"` // of the answer; 0: none came
	TookMS     int64   `db:"took_ms" json:"took_ms"`
	Reason     string  `db:"reason" json:"reason"`
}

// EndpointTest is what came of a test event.
type EndpointTest struct {
	EventID string `json:"event_id"`
	Status  int    `json:"status"` // of the answer; 0: none came
	TookMS  int64  `json:"took_ms"`
	Reason  string `json:"reason"` // of a failure
}
