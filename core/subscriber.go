package core

import "time"

// Status is a subscriber's status on the send side and in subscriber payloads.
type Status string

// The statuses of a subscriber. The member side sets the first two; the others are blocks.
const (
	StatusActive       Status = "active"
	StatusUnsubscribed Status = "unsubscribed"
	StatusBounced      Status = "bounced"
	StatusComplaint    Status = "complaint"
	StatusSuppressed   Status = "suppressed"
	NotBlocked         Status = "" // zero value of Subscriber.Block
)

// strength returns the rank of a block. A block can only be replaced by one of a higher rank.
func (s Status) strength() int {
	switch s {
	case StatusBounced:
		return 1
	case StatusComplaint:
		return 2
	case StatusSuppressed:
		return 3
	}
	return 0
}

// Limits for subscribers.
const (
	MaxClockAhead    = 300 * time.Second   // an instant further ahead is replaced by the time of receipt
	MaxSoftBounces   = 5                   // consecutive soft bounces without a delivery in between
	SoftBouncePeriod = 3 * 24 * time.Hour  // minimum time that MaxSoftBounces must span
	DoubtPeriod      = 90 * 24 * time.Hour // time within which the second doubtful bounce counts
)

// Subscriber is one address of one list on the send side. MemberStatus is the last status reported by the member side.
// Block, if set, forbids emailing the address regardless of that status. Each has its own instant.
type Subscriber struct {
	ListID         string      `db:"list_id"`
	EmailKey       string      `db:"email_key"`
	ID             string      `db:"id"` // id of the subscription
	Email          Email       `db:"email"`
	MemberStatus   Status      `db:"word"`
	MemberStatusAt Instant     `db:"word_at"` // 0: the member side has reported nothing yet
	Block          Status      `db:"block"`
	BlockAt        Instant     `db:"block_at"`
	Preferences    Preferences `db:"preferences"`
	SoftBounces    int         `db:"soft_bounces"`
	SoftAt         Instant     `db:"soft_at"`
	DoubtedAt      Instant     `db:"doubted_at"` // instant of the first doubtful bounce; 0: none
	SyncNo         int64       `db:"sync_no"`    // number of the last full sync that contained the subscriber
	CreatedAt      Instant     `db:"created_at"`
	ChangedAt      Instant     `db:"changed_at"`
	JoinedAt       Instant     `db:"joined_at"` // when the member side last reactivated it; 0: never, see Joined
}

// Joined returns the start of the current subscription. It is meaningful only while the member status is active.
func (s *Subscriber) Joined() Instant {
	if s.JoinedAt != 0 {
		return s.JoinedAt
	}
	return s.CreatedAt
}

// Status returns the block if there is one, otherwise the member status.
func (s *Subscriber) Status() Status {
	if s.Block != NotBlocked {
		return s.Block
	}
	return s.MemberStatus
}

// Mailable reports whether a job may email the subscriber.
func (s *Subscriber) Mailable() bool { return s.MemberStatus == StatusActive && s.Block == NotBlocked }

// Apply applies one subscriber from an event or, if eventType is empty, from a full-sync batch. It reports whether
// anything changed.
//
// Events may arrive in any order: the member status with the newest instant wins, and unsubscribed wins between equal
// instants. Blocks only get stronger, with one exception: a later activation by the member clears a bounce. A batch
// never clears a block.
func (s *Subscriber) Apply(p EventSubscriber, eventType string, occurredAt, now Instant) bool {
	if occurredAt > now.Add(MaxClockAhead) {
		occurredAt = now
	}
	status, fresh := Status(p.Status), s.EmailKey == ""
	if fresh {
		s.EmailKey, s.CreatedAt = p.Email.Key(), now
		s.ID, s.Email, s.MemberStatus, s.Preferences = p.ID, p.Email, StatusUnsubscribed, NoPreferences
	}
	changed := fresh
	if eventType == EventActivated && status == StatusActive && s.Block == StatusBounced &&
		occurredAt > s.BlockAt && occurredAt >= s.MemberStatusAt {
		s.Block, s.BlockAt, s.SoftBounces, s.SoftAt, s.DoubtedAt = NotBlocked, 0, 0, 0, 0
		changed = true
	}
	if status.strength() > 0 {
		changed = s.block(status, occurredAt) || changed
	} else if occurredAt > s.MemberStatusAt || occurredAt == s.MemberStatusAt && status == StatusUnsubscribed &&
		s.MemberStatus != status {
		if status == StatusActive && s.MemberStatus != status && !fresh {
			s.JoinedAt = occurredAt
		}
		s.MemberStatus, s.MemberStatusAt, changed = status, occurredAt, true
		s.describe(p)
	}
	if fresh {
		s.describe(p)
	}
	if changed {
		s.ChangedAt = now
	}
	return changed
}

// describe copies the fields of the payload that don't depend on its instant.
func (s *Subscriber) describe(p EventSubscriber) {
	s.ID, s.Email = p.ID, p.Email
	if p.Preferences != "" {
		s.Preferences = p.Preferences
	}
}

// block sets a stronger block and reports whether anything changed. For an equal block, only a later instant is a
// change.
func (s *Subscriber) block(b Status, at Instant) bool {
	switch {
	case b.strength() > s.Block.strength():
		s.Block, s.BlockAt = b, at
		return true
	case b == s.Block && at > s.BlockAt:
		s.BlockAt = at
		return true
	}
	return false
}

// Absent marks a subscriber that a full sync did not contain as unsubscribed since the start of the sync, and reports
// whether anything changed. It ignores a subscriber that has changed since the sync started.
func (s *Subscriber) Absent(syncNo int64, startedAt, now Instant) bool {
	if s.SyncNo >= syncNo || s.MemberStatusAt > startedAt || s.MemberStatus == StatusUnsubscribed {
		return false
	}
	s.MemberStatus, s.MemberStatusAt, s.ChangedAt = StatusUnsubscribed, startedAt, now
	return true
}

// The effects of a mail provider's event on an address.
const (
	HardBounce  = "hard"
	SoftBounce  = "soft"
	Complaint   = "complaint"
	Suppression = "suppression"
	Delivery    = "delivery"
	// DoubtfulBounce means that the address probably doesn't exist. Two in a row block it.
	DoubtfulBounce = "doubtful"
)

// Report updates the subscriber after a mail provider's event and reports whether anything changed. MaxSoftBounces
// consecutive soft bounces over at least SoftBouncePeriod mark the address as bounced, and so do two doubtful bounces
// within DoubtPeriod. A delivery in between resets the count.
func (s *Subscriber) Report(effect string, occurredAt, now Instant) bool {
	if occurredAt > now.Add(MaxClockAhead) {
		occurredAt = now
	}
	changed := false
	switch effect {
	case HardBounce:
		changed = s.block(StatusBounced, occurredAt)
	case Complaint:
		changed = s.block(StatusComplaint, occurredAt)
	case Suppression:
		changed = s.block(StatusSuppressed, occurredAt)
	case Delivery:
		// A delivery before the first bounce does not reset the count.
		if changed = s.SoftBounces > 0 && occurredAt >= s.SoftAt; changed {
			s.SoftBounces, s.SoftAt, s.DoubtedAt = 0, 0, 0
		}
	case SoftBounce, DoubtfulBounce:
		changed = true
		if s.SoftBounces++; s.SoftBounces == 1 || occurredAt < s.SoftAt {
			s.SoftAt = occurredAt
		}
		if s.SoftBounces >= MaxSoftBounces && occurredAt.Sub(s.SoftAt) >= SoftBouncePeriod {
			s.block(StatusBounced, occurredAt)
		}
		if effect == DoubtfulBounce {
			s.doubt(occurredAt)
		}
	}
	if changed {
		s.ChangedAt = now
	}
	return changed
}

// doubt records a doubtful bounce and blocks the subscriber on the second one.
func (s *Subscriber) doubt(at Instant) {
	switch since := at.Sub(s.DoubtedAt); {
	case s.DoubtedAt == 0 || since > DoubtPeriod:
		s.DoubtedAt = at
	case since < -DoubtPeriod: // reported late: it says nothing about the current state
	default:
		s.block(StatusBounced, at)
	}
}
