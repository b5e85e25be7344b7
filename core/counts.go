package core

import (
	"fmt"
	"strings"
)

// ListCounts says how many records of a list are in which state. Each record is counted once on its side.
type ListCounts struct {
	// Of the subscriptions.
	Active       int64 `json:"active" db:"active"`
	Pending      int64 `json:"pending" db:"pending"`           // not confirmed yet
	Unsubscribed int64 `json:"unsubscribed" db:"unsubscribed"` // have left, or were switched off
	// Of the subscribers, as the send side knows them. Those that have left and have no block are in none of these.
	Bounced    int64 `json:"bounced" db:"bounced"`
	Complaint  int64 `json:"complaint" db:"complaint"`
	Suppressed int64 `json:"suppressed" db:"suppressed"`
	Mailable   int64 `json:"mailable" db:"mailable"` // active and not blocked
}

// Add adds n to the count of one state; a state that is not counted adds nothing.
func (c *ListCounts) Add(s CountedState, n int64) {
	switch s {
	case CountActive:
		c.Active += n
	case CountPending:
		c.Pending += n
	case CountUnsubscribed:
		c.Unsubscribed += n
	case CountBounced:
		c.Bounced += n
	case CountComplaint:
		c.Complaint += n
	case CountSuppressed:
		c.Suppressed += n
	case CountMailable:
		c.Mailable += n
	}
}

// Plus returns the sums of two counts.
func (c ListCounts) Plus(d ListCounts) ListCounts {
	return ListCounts{
		c.Active + d.Active, c.Pending + d.Pending, c.Unsubscribed + d.Unsubscribed,
		c.Bounced + d.Bounced, c.Complaint + d.Complaint, c.Suppressed + d.Suppressed, c.Mailable + d.Mailable,
	}
}

// Against says in words by which counts c differs from what is there.
func (c ListCounts) Against(there ListCounts) string {
	var words []string
	for _, one := range []struct {
		name           string
		counted, found int64
	}{
		{"active", c.Active, there.Active},
		{"pending", c.Pending, there.Pending},
		{"unsubscribed", c.Unsubscribed, there.Unsubscribed},
		{"bounced", c.Bounced, there.Bounced},
		{"complaint", c.Complaint, there.Complaint},
		{"suppressed", c.Suppressed, there.Suppressed},
		{"mailable", c.Mailable, there.Mailable},
	} {
		if one.counted != one.found {
			words = append(words, fmt.Sprintf("%s is %d, not %d", one.name, one.counted, one.found))
		}
	}
	return strings.Join(words, ", ")
}

// Readers returns how many people a job to the list reaches at most: those that the send side knows, or, where the news
// of subscriptions has not reached it yet, the active ones without those that are blocked.
func (c ListCounts) Readers() int64 {
	return max(c.Mailable, c.Active-c.Bounced-c.Complaint-c.Suppressed)
}

// CountedState is a state that ListCounts counts.
type CountedState uint8

// The counted states.
const (
	NotCounted CountedState = iota
	CountActive
	CountPending
	CountUnsubscribed
	CountBounced
	CountComplaint
	CountSuppressed
	CountMailable
)

// CountedSubscription returns what a subscription of this status counts as; an empty status is no subscription.
func CountedSubscription(status string) CountedState {
	switch status {
	case SubscriptionActive:
		return CountActive
	case SubscriptionPending:
		return CountPending
	case SubscriptionUnsubscribed:
		return CountUnsubscribed
	}
	return NotCounted
}

// Counted returns what a subscriber counts as. One without an address does not exist yet.
func (s *Subscriber) Counted() CountedState {
	switch {
	case s.EmailKey == "":
		return NotCounted
	case s.Block == StatusBounced:
		return CountBounced
	case s.Block == StatusComplaint:
		return CountComplaint
	case s.Block == StatusSuppressed:
		return CountSuppressed
	case s.MemberStatus == StatusActive:
		return CountMailable
	}
	return NotCounted
}

// CountedList is a list with its counts.
type CountedList struct {
	List
	Counts ListCounts `json:"counts"`
}

// DayCounts are the counts of a list at the end of a day, or now on the day that has not ended.
type DayCounts struct {
	Day string `json:"day"` // UTC, as 2026-11-23
	ListCounts
}
