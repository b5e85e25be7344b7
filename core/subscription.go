package core

// The states of a subscription (member side).
const (
	SubscriptionPending      = "pending"
	SubscriptionActive       = "active"
	SubscriptionUnsubscribed = "unsubscribed"
)

// The values of Subscription.Proof: how the current state was proved.
const (
	ProofResponse = "response" // token from the subscribe response: proves nothing about the mailbox
	ProofMailed   = "mailed"   // token that only the mailbox received
	ProofImport   = "import"   // the importing person vouches for it
	ProofAdmin    = "admin"
	ProofUndo     = "undo" // link in the email about an unsubscribe
	// pending, but unsubscribed according to a file: only the person's own confirmation activates it
	ProofLeft = "left"
)

// Subscription is one address on one list on the member side. Its id is derived from the two, so that responses don't
// reveal whether the address is subscribed.
type Subscription struct {
	ID          string      `db:"id" json:"id"`
	ListID      string      `db:"list_id" json:"list_id"`
	Email       Email       `db:"email" json:"email"`
	Status      string      `db:"status" json:"status" enum:"pending|active|unsubscribed" about:"pending: waits for confirmation; active: confirmed; unsubscribed: ended or blocked"`
	Preferences Preferences `db:"preferences" json:"preferences"`
	CreatedAt   Instant     `db:"created_at" json:"created_at"`

	Generation int64   `db:"generation" json:"-"` // incremented by each subscription after an unsubscribe
	Proof      string  `db:"means" json:"-"`
	ChangedAt  Instant `db:"changed_at" json:"-"` // when the status changed
	EventAt    Instant `db:"event_at" json:"-"`   // occurred_at of the last event; 0: none
}

// Subscribing is the outcome of a subscribe request. It determines which email is sent.
type Subscribing uint8

// The outcomes of Subscribe.
const (
	SubscribeStarted   Subscribing = iota // a new generation started
	SubscribeRepeated                     // still pending: send another confirmation email
	SubscribeNotNeeded                    // already active: nothing changes
)

// Subscribe requests a subscription. A new or unsubscribed subscription becomes pending in a new generation, which
// invalidates the earlier confirm and undo tokens. A pending one gets the new preferences and its tokens stay valid.
// An active one does not change, because the caller may be anonymous.
func (s *Subscription) Subscribe(email Email, p Preferences, now Instant) Subscribing {
	switch s.Status {
	case SubscriptionActive:
		return SubscribeNotNeeded
	case SubscriptionPending:
		s.Email, s.Preferences = email, p.OrEmpty()
		return SubscribeRepeated
	}
	if s.CreatedAt == 0 {
		s.CreatedAt = now
	}
	s.Email, s.Preferences = email, p.OrEmpty()
	s.Generation++
	s.Proof = ""
	s.move(SubscriptionPending, now)
	return SubscribeStarted
}

// Confirm activates a pending subscription. If it is already active, Confirm returns no event and no error. It returns
// ErrInvalidToken for a token from another generation, or after an unsubscribe.
func (s *Subscription) Confirm(generation int64, proof string, now Instant) (*Change, error) {
	if generation != s.Generation || s.Status != SubscriptionPending && s.Status != SubscriptionActive {
		return nil, ErrInvalidToken
	}
	if s.Status == SubscriptionActive {
		// This proves the mailbox, or replaces a file's statement with the subscriber's own.
		if proof == ProofMailed || s.Proof == ProofImport {
			s.Proof = proof
		}
		return nil, nil
	}
	s.Proof = proof
	s.move(SubscriptionActive, now)
	return s.change(EventActivated, now), nil
}

// Unsubscribe ends a subscription in any state and generation. It returns an event only if the subscription was active,
// because receivers know only active subscriptions; otherwise it returns nil.
func (s *Subscription) Unsubscribe(now Instant) *Change {
	switch s.Status {
	case SubscriptionPending:
		s.move(SubscriptionUnsubscribed, now)
	case SubscriptionActive:
		s.move(SubscriptionUnsubscribed, now)
		return s.change(EventUnsubscribed, now)
	}
	return nil
}

// Resume undoes the unsubscribe at the instant left. The subscription becomes active again, in the same generation and
// with its earlier proof. If it is already active, Resume returns no event and no error. If anything happened since
// that unsubscribe, or the subscription was never confirmed, it returns ErrInvalidToken.
func (s *Subscription) Resume(left, now Instant) (*Change, error) {
	switch {
	case s.Status == SubscriptionActive:
		return nil, nil
	case s.Status != SubscriptionUnsubscribed || s.ChangedAt != left || s.Proof == "":
		return nil, ErrInvalidToken
	}
	s.move(SubscriptionActive, now)
	return s.change(EventActivated, now), nil
}

// SetPreferences replaces the preferences. It returns an event only for an active subscription.
func (s *Subscription) SetPreferences(p Preferences, now Instant) *Change {
	if s.Status == "" {
		return nil
	}
	if p = s.Preferences.ReplacedBy(p.OrEmpty()); s.Status != SubscriptionActive {
		if p.AgreesToTracking() { // only active subscribers can agree to tracking
			p = p.withTrackingOf(s.Preferences)
		}
		s.Preferences = p
		return nil
	}
	s.Preferences = p
	return s.change(EventPreferences, now)
}

// Left reports whether the address unsubscribed and has not confirmed a new subscription since. A pending request does
// not count, because anyone can request a subscription.
func (s *Subscription) Left() bool {
	return s.Status == SubscriptionUnsubscribed ||
		s.Status == SubscriptionPending && (s.Generation > 1 || s.Proof == ProofLeft)
}

// Import applies a row from an imported file with the status active or pending. proof is used for an active
// subscription: ProofImport, or ProofAdmin for an address that was added manually. Importing the same row twice changes
// nothing, and no file resubscribes an address that unsubscribed (see Left). changed reports whether the record must be
// saved. A subscription that is not active can change without an event.
func (s *Subscription) Import(email Email, status, proof string, p Preferences, now Instant) (c *Change, changed bool) {
	if s.Left() {
		return nil, false
	}
	agrees := p.AgreesToTracking()
	if p != "" && s.Status != "" {
		if p = s.Preferences.MergedWith(p); string(s.Preferences.tracking()) == "false" { // withdrawals stay
			p = p.withTrackingOf(s.Preferences)
		}
	}
	switch s.Status {
	case SubscriptionActive:
		if p == "" || p == s.Preferences {
			return nil, false
		}
		return s.SetPreferences(p, now), true
	case SubscriptionPending:
		if p != "" && p != s.Preferences {
			s.Preferences, changed = p, true
		}
		if status != SubscriptionActive {
			return nil, changed
		}
		if !agrees && s.Preferences.AgreesToTracking() { // requested, but never confirmed
			s.Preferences = s.Preferences.withTrackingOf(NoPreferences)
		}
	default:
		s.Email, s.Preferences, s.CreatedAt = email, p.OrEmpty(), now
		s.Generation = 1
		if status != SubscriptionActive {
			s.move(SubscriptionPending, now)
			return nil, true
		}
	}
	s.Proof = proof
	s.move(SubscriptionActive, now)
	return s.change(EventActivated, now), true
}

// Vouch records that a person manually added an address as active that a file had already activated. Undoing that
// file's import then doesn't affect the address. Vouch reports whether it changed s.
func (s *Subscription) Vouch(status, proof string, now Instant) bool {
	if status != SubscriptionActive || proof != ProofAdmin || s.Status != SubscriptionActive || s.Proof != ProofImport {
		return false
	}
	s.Proof, s.ChangedAt = proof, now
	return true
}

// Change is an event for the send service: its type and its instant.
type Change struct {
	EventType  string
	OccurredAt Instant
}

func (s *Subscription) move(status string, now Instant) {
	s.Status, s.ChangedAt = status, now
}

// change returns a new event of the given type for the subscription. A subscription's instants always increase, even if
// the clock doesn't, because receivers drop events older than the last one.
func (s *Subscription) change(eventType string, now Instant) *Change {
	s.EventAt = max(now, s.EventAt+1)
	return &Change{EventType: eventType, OccurredAt: s.EventAt}
}

// The kinds of consent records: given or withdrawn.
const (
	ConsentRequested    = "requested"
	ConsentConfirmed    = "confirmed"
	ConsentUnsubscribed = "unsubscribed"
	ConsentResumed      = "resumed"
	ConsentDisabled     = "disabled"
	ConsentImported     = "imported"
	// a file marked an address as unsubscribed that was not on the list
	ConsentImportedLeft = "imported_unsubscribed"

	ConsentTracking          = "tracking_agreed" // to opens and clicks that identify the subscriber
	ConsentTrackingWithdrawn = "tracking_withdrawn"
)

// Consent is one record of the append-only consent ledger.
type Consent struct {
	ListID         string  `db:"list_id" json:"list_id"`
	SubscriptionID string  `db:"subscription_id" json:"subscription_id"`
	At             Instant `db:"at" json:"at" about:"Time of the entry"`
	What           string  `db:"what" json:"what" about:"What happened, such as requested, confirmed, unsubscribed or imported"`
	Proof          string  `db:"means" json:"means" about:"How it was proved: response, mailed, import, admin, undo or left"`
	Origin
	TextVersion string `db:"text_version" json:"text_version" about:"Version of the consent text; empty: no form of newsletterd was used"`
	Generation  int64  `db:"generation" json:"generation" about:"1 for the first subscription, one more each time the person subscribes again"`
	// number of the job whose email contained the unsubscribe link; 0: none or unknown
	JobNo        int64   `db:"job_no" json:"-"`
	Reason       string  `db:"reason" json:"reason,omitempty" about:"Reason for unsubscribing; of an import, the consent as the other system recorded it"`
	SubscribedAt Instant `db:"-" json:"subscribed_at,omitempty" about:"Of an import: when the person subscribed in the other system; absent: unknown"`
	Text         string  `db:"text" json:"text,omitempty" about:"Consent text that the person saw, if a form of newsletterd showed it"`
}

// Origin is the source of a request, as recorded in the consent ledger.
type Origin struct {
	Source    string `db:"source" json:"source"` // set by the caller, for example the name of a form
	Remote    string `db:"remote" json:"remote"` // address of the client
	UserAgent string `db:"user_agent" json:"user_agent"`
}

// MaxOrigin is the maximum length of each string in an Origin, in bytes. They are untrusted.
const MaxOrigin = 255

// Trim returns o with TrimText applied to each string.
func (o Origin) Trim() Origin {
	return Origin{Source: TrimText(o.Source), Remote: TrimText(o.Remote), UserAgent: TrimText(o.UserAgent)}
}

// TrimText removes control characters and cuts s to MaxOrigin bytes without splitting a character.
func TrimText(s string) string {
	plain := len(s) <= MaxOrigin
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	b := make([]byte, 0, min(len(s), MaxOrigin))
	for _, r := range s {
		if r < ' ' || 0x7f <= r && r < 0xa0 || r == 0xfffd {
			continue
		}
		if len(b)+len(string(r)) > MaxOrigin {
			break
		}
		b = append(b, string(r)...)
	}
	return string(b)
}
