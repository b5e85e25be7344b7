package core

import "time"

// Status is what a subscriber is on the send side, and what a subscriber payload says of it.
type Status string

// The statuses of a subscriber. The first two are the member's word, the others are blocks.
const (
	StatusActive       Status = "active"
	StatusUnsubscribed Status = "unsubscribed"
	StatusBounced      Status = "bounced"
	StatusComplaint    Status = "complaint"
	StatusSuppressed   Status = "suppressed"
	NotBlocked         Status = "" // of Subscriber.Block
)

// strength orders the blocks: a stronger one replaces a weaker one, never the other way.
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

// Figures of the rules about subscribers.
const (
	MaxClockAhead    = 300 * time.Second   // an instant further ahead counts as the time of receipt
	MaxSoftBounces   = 5                   // in a row, without a delivery between
	SoftBouncePeriod = 3 * 24 * time.Hour  // that they must span at least
	DoubtPeriod      = 90 * 24 * time.Hour // within which the second doubtful bounce counts
)

// Subscriber is one address of one list as the send side knows it: two facts, each with its instant.
// Word is what the member said last; Block is what stands against mailing whatever the member says.
type Subscriber struct {
	ListID         string      `db:"list_id"`
	EmailKey       string      `db:"email_key"`
	ID             string      `db:"id"` // of the subscription
	Email          Email       `db:"email"`
	MemberStatus   Status      `db:"word"`
	MemberStatusAt Instant     `db:"word_at"` // 0: the member has said nothing yet
	Block          Status      `db:"block"`
	BlockAt        Instant     `db:"block_at"`
	Preferences    Preferences `db:"preferences"`
	SoftBounces    int         `db:"soft_bounces"`
	SoftAt         Instant     `db:"soft_at"`
	DoubtedAt      Instant     `db:"doubted_at"` // of the first doubtful bounce; 0: there was none
	SyncNo         int64       `db:"sync_no"`    // of the last full sync that named it
	CreatedAt      Instant     `db:"created_at"`
	ChangedAt      Instant     `db:"changed_at"`
}

// Status is the block if there is one, else the word.
func (s *Subscriber) Status() Status {
	if s.Block != NotBlocked {
		return s.Block
	}
	return s.MemberStatus
}

// Mailable reports whether a job may mail the subscriber.
func (s *Subscriber) Mailable() bool { return s.MemberStatus == StatusActive && s.Block == NotBlocked }

// Apply takes over one subscriber of an event or, with an empty eventType, of a full-sync batch. It reports whether
// anything changed. The order in which events arrive does not matter to the word: the newest instant holds, and
// unsubscribed wins between equal ones. Blocks only strengthen, but that the member's new activation clears an older
// bounce; a batch never lifts one.
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

// describe takes over what the payload says in addition to the status.
func (s *Subscriber) describe(p EventSubscriber) {
	s.ID, s.Email = p.ID, p.Email
	if p.Preferences != "" {
		s.Preferences = p.Preferences
	}
}

// block strengthens the block, and reports whether anything changed; the instant of an equal one moves forward only.
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

// Absent applies a full sync that did not name the subscriber, and reports whether anything changed: a subscriber that
// has not changed since the sync's start has left as of that start.
func (s *Subscriber) Absent(syncNo int64, startedAt, now Instant) bool {
	if s.SyncNo >= syncNo || s.MemberStatusAt > startedAt || s.MemberStatus == StatusUnsubscribed {
		return false
	}
	s.MemberStatus, s.MemberStatusAt, s.ChangedAt = StatusUnsubscribed, startedAt, now
	return true
}

// The effects of what a mail provider reports on an address.
const (
	HardBounce  = "hard"
	SoftBounce  = "soft"
	Complaint   = "complaint"
	Suppression = "suppression"
	Delivery    = "delivery"
	// DoubtfulBounce says that the address probably does not exist: two mails in a row tell for sure.
	DoubtfulBounce = "doubtful"
)

// Report applies what a mail provider said of the address; it reports whether anything changed. Soft bounces count:
// MaxSoftBounces in a row over at least SoftBouncePeriod make it bounced, and so do two doubtful ones within
// DoubtPeriod. A delivery between clears the count.
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
		// One from before the first of them does not stand between.
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

// doubt takes in a doubtful bounce.
func (s *Subscriber) doubt(at Instant) {
	switch since := at.Sub(s.DoubtedAt); {
	case s.DoubtedAt == 0 || since > DoubtPeriod:
		s.DoubtedAt = at
	case since < -DoubtPeriod: // reported late: it says nothing about today
	default:
		s.block(StatusBounced, at)
	}
}
