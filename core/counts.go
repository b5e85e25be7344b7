package core

import (
	"fmt"
	"strings"
)

// ListCounts holds the number of a list's subscriptions, and of its subscribers on the send side, in each state. Every
// record has at most one state.
type ListCounts struct {
	// Counts of the subscriptions.
	Active       int64 `json:"active" db:"active" about:"Active subscriptions"`
	Pending      int64 `json:"pending" db:"pending" about:"Not confirmed yet"`
	Unsubscribed int64 `json:"unsubscribed" db:"unsubscribed" about:"Including blocked ones"`
	// Counts of the subscribers on the send side. Unsubscribed ones without a block are not counted.
	Bounced    int64 `json:"bounced" db:"bounced" about:"Not emailed, because of a bounce"`
	Complaint  int64 `json:"complaint" db:"complaint" about:"Not emailed: marked an email as spam"`
	Suppressed int64 `json:"suppressed" db:"suppressed" about:"Not emailed: on the suppression list"`
	Mailable   int64 `json:"mailable" db:"mailable" about:"Active and not blocked"`
}

// Add adds n to the count of state s. For NotCounted, it does nothing.
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

// Plus returns the sum of two counts.
func (c ListCounts) Plus(d ListCounts) ListCounts {
	return ListCounts{
		c.Active + d.Active, c.Pending + d.Pending, c.Unsubscribed + d.Unsubscribed,
		c.Bounced + d.Bounced, c.Complaint + d.Complaint, c.Suppressed + d.Suppressed, c.Mailable + d.Mailable,
	}
}

// Against describes how c differs from there, the actual counts. If they are equal, it returns "".
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

// Readers returns the maximum number of people that a job for the list reaches: the mailable subscribers on the send
// side. If the send side has not received all subscriptions, it returns the active subscriptions that aren't blocked.
func (c ListCounts) Readers() int64 {
	return max(c.Mailable, c.Active-c.Bounced-c.Complaint-c.Suppressed)
}

// CountedState is a state that has its own count in ListCounts.
type CountedState uint8

// The values of CountedState.
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

// CountedSubscription returns the counted state for a subscription status. An empty status means no subscription.
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

// Counted returns the state that a subscriber is counted under. A subscriber without an address does not exist yet, so
// it isn't counted.
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
	Counts ListCounts `json:"counts" about:"Numbers of subscriptions and subscribers by status"`
}

// DayCounts holds the counts of a list at the end of a day, or the current counts for today.
type DayCounts struct {
	Day string `json:"day" about:"Day in UTC, such as 2026-11-23"`
	ListCounts
}
