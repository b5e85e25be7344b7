package core

import (
	"crypto/sha256"
	"strconv"
	"strings"
)

// The values of ProviderEvent.EventType.
const (
	ProviderBounce      = "bounce"
	ProviderHardBounced = "hard_bounced"
	ProviderSoftBounced = "soft_bounced"
	ProviderComplaint   = "complaint"
	ProviderSuppression = "suppression"
	ProviderDelivery    = "delivery"
	ProviderOpen        = "open"
	ProviderClick       = "click"
)

// The effects of provider events that only change counters. Subscriber.Report handles the other effects.
const (
	Open  = "open"
	Click = "click"
)

// maxMessageID is the maximum length of a message_id in bytes: one line of an email (RFC 5322 section 2.1.1).
const maxMessageID = 998

// ProviderEvent is a mail provider's event about one email to one address.
type ProviderEvent struct {
	Type       string
	MessageID  string // newsletterd's or the provider's, with or without angle brackets
	TenantID   string // empty: not reported by the provider; derived from the email
	Email      Email
	OccurredAt Instant
	BounceType string // HardBounce, SoftBounce or empty
}

// Validate checks the form of a received event. It converts the tenant's id to lower case and normalizes the address.
// Errors name the field.
func (e *ProviderEvent) Validate() error {
	if e.Effect() == "" {
		return Invalidf("event_type",
			"event_type must be bounce, hard_bounced, soft_bounced, complaint, suppression, delivery, open or click.")
	}
	switch {
	case e.MessageID == "":
		return Invalidf("message_id", "message_id is required.")
	case len(e.MessageID) > maxMessageID:
		return Invalidf("message_id", "message_id must have at most %d bytes.", maxMessageID)
	}
	if err := checkIDs([]wireID{{"tenant_id", &e.TenantID}}); err != nil {
		return err
	}
	email, err := ParseEmail(string(e.Email))
	if err != nil {
		return ErrInvalidEmail.On("email")
	}
	e.Email = email
	if e.OccurredAt == 0 {
		return Invalidf("occurred_at", "occurred_at is required.")
	}
	switch e.BounceType {
	case "", HardBounce, SoftBounce:
		return nil
	}
	return Invalidf("bounce_type", "bounce_type must be hard or soft.")
}

// Effect returns what the event changes, or "" if event_type is unknown. A bounce of an unknown type counts as soft.
// event_type takes precedence over bounce_type.
func (e *ProviderEvent) Effect() string {
	switch e.Type {
	case ProviderHardBounced:
		return HardBounce
	case ProviderSoftBounced:
		return SoftBounce
	case ProviderBounce:
		if e.BounceType == HardBounce {
			return HardBounce
		}
		return SoftBounce
	case ProviderComplaint:
		return Complaint
	case ProviderSuppression:
		return Suppression
	case ProviderDelivery:
		return Delivery
	case ProviderOpen:
		return Open
	case ProviderClick:
		return Click
	}
	return ""
}

// Effect returns the effect of the report on the address. For a soft bounce, that is DoubtfulBounce if Doubtful is set,
// or else "" if Sender is set. In all other cases, it is the effect of the event.
func (r *ProviderReport) Effect() string {
	effect := r.Event.Effect()
	switch {
	case effect != SoftBounce:
		return effect
	case r.Doubtful:
		return DoubtfulBounce
	case r.Sender:
		return ""
	}
	return effect
}

// Key returns the key by which duplicates of a provider's event are recognized. It depends on message_id, event_type,
// address and instant.
func (e *ProviderEvent) Key() []byte {
	return ProviderKey(bareMessageID(e.MessageID), e.Type, e.Email.Key(), strconv.FormatInt(int64(e.OccurredAt), 10))
}

// ProviderKey returns the key under which an event is stored: a 16-byte hash of the words that identify it.
func ProviderKey(words ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(words, "\n")))
	return sum[:16]
}

func bareMessageID(id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(id), "<"), ">")
}

// Marks is a bit set of the events reported for a recipient since the relay accepted the email.
type Marks int

// The bits of Marks. The job's statistics count each when it is first set for a recipient.
const (
	MarkDelivered Marks = 1 << iota
	MarkBounced
	MarkComplained
	MarkOpened
	MarkClicked
	MarkMachineOpened  // opened only by machines, as far as known
	MarkMachineClicked // … clicked only by machines
	MarkReadByPerson   // of opens: ClassPerson; one of these three once known
	MarkReadUnclear    // ClassUnclear
	MarkReadByScanner  // ClassScanner
)

// Opens returns the class of the email's opens. Opens by declared machines that were recorded before classes existed
// are unclear.
func (m Marks) Opens() Class {
	switch {
	case m&MarkReadByPerson != 0:
		return ClassPerson
	case m&MarkReadUnclear != 0:
		return ClassUnclear
	case m&MarkReadByScanner != 0:
		return ClassScanner
	case m&MarkOpened == 0:
		return ClassNone
	case m&MarkMachineOpened != 0:
		return ClassUnclear
	}
	return ClassPerson
}

// Clicked reports whether, as far as known, a person clicked a link in the email.
func (m Marks) Clicked() bool { return m&MarkClicked != 0 && m&MarkMachineClicked == 0 }

// WithOpens returns the marks with c as the class of opens.
func (m Marks) WithOpens(c Class) Marks {
	m &^= MarkReadByPerson | MarkReadUnclear | MarkReadByScanner
	switch c {
	case ClassPerson:
		m |= MarkReadByPerson
	case ClassUnclear:
		m |= MarkReadUnclear
	case ClassScanner:
		m |= MarkReadByScanner
	}
	return m
}

// MarkOf returns the mark that an effect sets, or 0 if it sets none.
func MarkOf(effect string) Marks {
	switch effect {
	case HardBounce, SoftBounce:
		return MarkBounced
	case Complaint:
		return MarkComplained
	case Delivery:
		return MarkDelivered
	case Open:
		return MarkOpened
	case Click:
		return MarkClicked
	}
	return 0
}

// RecipientEvents lists an email's events after sending, as named in recipient lists. Opened and clicked mean by
// people, as far as known; the machine_ events mean only by machines.
var RecipientEvents = []string{"bounced", "complained", "opened", "clicked", "machine_opened", "machine_clicked"}

// MarksOf returns the marks for event, one of RecipientEvents: a recipient has the event if its marks under mask equal
// want. For any other word it returns zeros.
func MarksOf(event string) (mask, want Marks) {
	switch event {
	case "bounced":
		return MarkBounced, MarkBounced
	case "complained":
		return MarkComplained, MarkComplained
	case "opened":
		return MarkOpened | MarkMachineOpened, MarkOpened
	case "clicked":
		return MarkClicked | MarkMachineClicked, MarkClicked
	case "machine_opened":
		return MarkMachineOpened, MarkMachineOpened
	case "machine_clicked":
		return MarkMachineClicked, MarkMachineClicked
	}
	return 0, 0
}

// Names returns the names of the marks in their usual order of occurrence.
func (m Marks) Names() []string {
	words := []string{}
	for i, w := range [...]string{
		"delivered", "bounced", "complained", "opened", "clicked", "machine_opened",
		"machine_clicked",
	} {
		if m&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	return words
}

// takenProviderNames are reserved because they are paths of other webhooks.
var takenProviderNames = map[string]bool{"subscriptions": true, "lists": true}

// CheckProviderName returns an Invalid error if a provider can't have this name, which becomes part of its webhook
// path.
func CheckProviderName(name string) error {
	if len(name) == 0 || len(name) > 64 {
		return Invalidf("name", "name must have 1 to 64 characters.")
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || i > 0 && (c == '_' || c == '-')) {
			return Invalidf("name",
				"name must start with a letter or digit and contain only lowercase letters, digits, _ and -.")
		}
	}
	if takenProviderNames[name] {
		return Invalidf("name", "name is reserved: %s is the path of another webhook. Choose another name.", name)
	}
	return nil
}

// DefaultProvider is the name of the generic provider that is created on the first start.
const DefaultProvider = "mailprovider"

// ProviderReport is an event reported by a provider or a bounced email, with its receiver's findings.
type ProviderReport struct {
	Event       ProviderEvent
	Names       []string // possible ids of the email (mail.Ident.Recipient): token, Message-ID, return address
	Key         []byte   // equal if the provider reports the same event twice
	Unsubscribe bool     // the recipient unsubscribed at the provider; Event then has no type
	ByMachine   bool     // opened or clicked by a program, not a person
	Provider    string   // name of the provider
	JobNo       int64    // job of the email; 0: not from a job
	Seq         int64    // number of the recipient
	Guess       bool     // without JobNo: assume the newest email to the address
	Doubtful    bool     // of a soft bounce: the address probably doesn't exist (DoubtfulBounce)
	Sender      bool     // of a soft bounce: caused by the sender, so not held against the address
}
