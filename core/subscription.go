package core

// The states of a subscription (member side).
const (
	SubscriptionPending      = "pending"
	SubscriptionActive       = "active"
	SubscriptionUnsubscribed = "unsubscribed"
)

// The proofs by which a subscription's present state was proved.
const (
	ProofResponse = "response" // the token of subscribe's own answer: proves nothing about the mailbox
	ProofMailed   = "mailed"   // a token that only the mailbox has seen
	ProofImport   = "import"   // the operator vouches for it
	ProofAdmin    = "admin"
	ProofUndo     = "undo" // the link in the mail that told of an unsubscribe
	// of a pending one whom a file calls unsubscribed: only their own confirmation makes them active
	ProofLeft = "left"
)

// Subscription is one address on one list, as the member service knows it. Its id is derived from both,
// so that an answer about a stranger looks like one about a subscriber.
type Subscription struct {
	ID          string      `db:"id" json:"id"`
	ListID      string      `db:"list_id" json:"list_id"`
	Email       Email       `db:"email" json:"email"`
	Status      string      `db:"status" json:"status" enum:"pending|active|unsubscribed"`
	Preferences Preferences `db:"preferences" json:"preferences"`
	CreatedAt   Instant     `db:"created_at" json:"created_at"`

	Generation int64   `db:"generation" json:"-"` // counts up with each subscription after an unsubscribe
	Proof      string  `db:"means" json:"-"`
	ChangedAt  Instant `db:"changed_at" json:"-"` // of the status
	EventAt    Instant `db:"event_at" json:"-"`   // occurred_at of the last event; 0: none yet
}

// Subscribing says what a request to subscribe came to, which decides the mail that follows.
type Subscribing uint8

// The outcomes of Subscribe.
const (
	SubscribeStarted   Subscribing = iota // a new generation
	SubscribeRepeated                     // still pending: one more confirmation mail
	SubscribeNotNeeded                    // active already: nothing changes
)

// Subscribe asks for a subscription. The new and the unsubscribed become pending in a generation of their
// own, which ends the confirm and undo tokens of the one before; the pending get the new preferences and
// keep every token; the active stay as they are, whatever an anonymous caller sends.
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

// Confirm makes a pending subscription active. It takes effect once: repeated while active it returns no
// event and no error. A token of another generation, or one used after an unsubscribe, is ErrInvalidToken.
func (s *Subscription) Confirm(generation int64, proof string, now Instant) (*Change, error) {
	if generation != s.Generation || s.Status != SubscriptionPending && s.Status != SubscriptionActive {
		return nil, ErrInvalidToken
	}
	if s.Status == SubscriptionActive {
		// It proves the mailbox after all, whatever came first; or it is their own word after that of a file.
		if proof == ProofMailed || s.Proof == ProofImport {
			s.Proof = proof
		}
		return nil, nil
	}
	s.Proof = proof
	s.move(SubscriptionActive, now)
	return s.change(EventActivated, now), nil
}

// Unsubscribe ends a subscription, in whatever state and generation. Only an active one was ever
// announced, so only its end is an event; nil means that there is none.
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

// Resume takes back the unsubscribe that happened at left: the subscription is active again as it was, in the same
// generation and with the proof that it had. Repeated while active it returns no event and no error. ErrInvalidToken
// where that unsubscribe is not the last thing that happened, or ended what was never confirmed.
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

// SetPreferences replaces the preferences; an event follows for the active alone.
func (s *Subscription) SetPreferences(p Preferences, now Instant) *Change {
	if s.Status == "" {
		return nil
	}
	if p = s.Preferences.ReplacedBy(p.OrEmpty()); s.Status != SubscriptionActive {
		if p.AgreesToTracking() { // only subscribers agree
			p = p.withTrackingOf(s.Preferences)
		}
		s.Preferences = p
		return nil
	}
	s.Preferences = p
	return s.change(EventPreferences, now)
}

// Left reports whether the address has left and not come back: anyone may ask for a subscription in the name of who has
// left, and until it is confirmed that is no word of theirs.
func (s *Subscription) Left() bool {
	return s.Status == SubscriptionUnsubscribed ||
		s.Status == SubscriptionPending && (s.Generation > 1 || s.Proof == ProofLeft)
}

// Import applies a row of an operator's file with the wanted status, active or pending; proof is what stands for an
// active one (ProofImport, or ProofAdmin for an address that an operator adds by hand). Importing the same row twice
// changes nothing, and no file brings back who has left (Left). changed reports whether the record is to be written; a
// change without event happens to those who are not active.
func (s *Subscription) Import(email Email, status, proof string, p Preferences, now Instant) (c *Change, changed bool) {
	if s.Left() {
		return nil, false
	}
	agrees := p.AgreesToTracking()
	if p != "" && s.Status != "" {
		if p = s.Preferences.MergedWith(p); string(s.Preferences.tracking()) == "false" { // no file takes that back
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
		if !agrees && s.Preferences.AgreesToTracking() { // what was asked for, and not confirmed
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

// Vouch notes that an operator adds by hand, as active, someone whom a file has made active: from now on it is the
// operator's word, which no undo of that file takes back. It reports whether that is so.
func (s *Subscription) Vouch(status, proof string, now Instant) bool {
	if status != SubscriptionActive || proof != ProofAdmin || s.Status != SubscriptionActive || s.Proof != ProofImport {
		return false
	}
	s.Proof, s.ChangedAt = proof, now
	return true
}

// Change is what the send service must hear about: the word for it and the instant it is stamped with.
type Change struct {
	EventType  string
	OccurredAt Instant
}

func (s *Subscription) move(status string, now Instant) {
	s.Status, s.ChangedAt = status, now
}

// change stamps an event. Instants of one subscription rise strictly, also when the clock does not: the
// receiver drops what is older than its last word.
func (s *Subscription) change(eventType string, now Instant) *Change {
	s.EventAt = max(now, s.EventAt+1)
	return &Change{EventType: eventType, OccurredAt: s.EventAt}
}

// Words of a consent: what was agreed to or withdrawn.
const (
	ConsentRequested    = "requested"
	ConsentConfirmed    = "confirmed"
	ConsentUnsubscribed = "unsubscribed"
	ConsentResumed      = "resumed"
	ConsentDisabled     = "disabled"
	ConsentImported     = "imported"
	// a file called someone unsubscribed who was not on the list
	ConsentImportedLeft = "imported_unsubscribed"

	ConsentTracking          = "tracking_agreed" // to be named in openings and clicks
	ConsentTrackingWithdrawn = "tracking_withdrawn"
)

// Consent is one line of the append-only ledger: what, when, from where, and how it was proved.
type Consent struct {
	ListID         string  `db:"list_id" json:"list_id"`
	SubscriptionID string  `db:"subscription_id" json:"subscription_id"`
	At             Instant `db:"at" json:"at"`
	What           string  `db:"what" json:"what"`
	Proof          string  `db:"means" json:"means"`
	Origin
	TextVersion string `db:"text_version" json:"text_version"`
	Generation  int64  `db:"generation" json:"generation"`
	// whose mail held the link that ended it; 0: none, or not known
	JobNo int64 `db:"job_no" json:"-"`
	// that a leaver gave; of what was imported, the consent as the other system has it
	Reason string `db:"reason" json:"reason,omitempty"`
	// of what was imported: when the person subscribed in the other system, as far as reason tells it
	SubscribedAt Instant `db:"-" json:"subscribed_at,omitempty"`
	// that the version names, where a form of ours showed it
	Text string `db:"text" json:"text,omitempty"`
}

// Origin is where a request came from, as the ledger keeps it.
type Origin struct {
	Source    string `db:"source" json:"source"` // the caller's own word, such as a form's name
	Remote    string `db:"remote" json:"remote"` // address of the client
	UserAgent string `db:"user_agent" json:"user_agent"`
}

// MaxOrigin bounds, in bytes, each text of an Origin: it comes from anyone.
const MaxOrigin = 255

// Trim is TrimText of each text.
func (o Origin) Trim() Origin {
	return Origin{Source: TrimText(o.Source), Remote: TrimText(o.Remote), UserAgent: TrimText(o.UserAgent)}
}

// TrimText cuts a text to MaxOrigin bytes at a character's edge and drops control characters.
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
