package core

import (
	"crypto/sha256"
	"strconv"
	"strings"
)

// The words of a provider event's event_type.
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

// The effects of a provider event in addition to those that Subscriber.Report knows: they only count.
const (
	Open  = "open"
	Click = "click"
)

// maxMessageID is the longest message_id that is taken, in bytes: a line of a mail (RFC 5322 section 2.1.1).
const maxMessageID = 998

// ProviderEvent is what a mail provider reports of one mail to one address.
type ProviderEvent struct {
	Type       string
	MessageID  string // ours or the provider's, with or without angle brackets
	TenantID   string // empty: the provider does not say, and the mail tells
	Email      Email
	OccurredAt Instant
	BounceType string // HardBounce, SoftBounce or empty
}

// Validate checks the form of a received event and brings the tenant's id into lower case and the address into its
// normal spelling. Errors name the field.
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

// Effect is what the event means; empty for an unknown event_type. A bounce of no known type counts as soft, and the
// event_type beats the bounce_type.
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

// Effect is what the report means for the address: that of its event, unless more is known of a soft bounce.
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

// Key is what makes two events of one provider the same: message_id, event_type, address and instant.
func (e *ProviderEvent) Key() []byte {
	return ProviderKey(bareMessageID(e.MessageID), e.Type, e.Email.Key(), strconv.FormatInt(int64(e.OccurredAt), 10))
}

// ProviderKey folds the words that make two events the same into the 16 bytes that are kept.
func ProviderKey(words ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(words, "\n")))
	return sum[:16]
}

func bareMessageID(id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(id), "<"), ">")
}

// Marks are what is known of a recipient after the relay took the mail: bits of one number.
type Marks int

// The marks of a recipient. Each is counted in the job's statistics when it is first set.
const (
	MarkDelivered Marks = 1 << iota
	MarkBounced
	MarkComplained
	MarkOpened
	MarkClicked
	MarkMachineOpened  // as far as is known, only machines have opened it
	MarkMachineClicked // … have followed its links
	MarkReadByPerson   // of openings: ClassPerson; one of the three once it is known
	MarkReadUnclear    // ClassUnclear
	MarkReadByScanner  // ClassScanner
)

// Opens returns who has opened the mail. Of one that was opened before there were classes, those that said they were
// machines are unclear.
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

// WithOpens returns the marks with another class of openings.
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

// MarkOf is the mark that an effect sets; 0: none.
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

// RecipientEvents are what can have become of a mail after it was sent, in the words of lists of recipients: opened and
// clicked by people as far as is known, the others by machines alone.
var RecipientEvents = []string{"bounced", "complained", "opened", "clicked", "machine_opened", "machine_clicked"}

// MarksOf returns which marks of a recipient tell of an event of RecipientEvents, and what they are then; zeros for a
// word that is none.
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

// Names lists the marks by name, in the order in which they come about.
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

// providerNames that can't be given: they are addresses of other webhooks.
var takenProviderNames = map[string]bool{"subscriptions": true, "lists": true}

// CheckProviderName reports whether a provider may be called so: its name is the last part of its webhook's address.
func CheckProviderName(name string) error {
	if len(name) == 0 || len(name) > 64 {
		return Invalidf("name", "name must have 1 to 64 characters.")
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || i > 0 && (c == '_' || c == '-')) {
			return Invalidf("name",
				"name must start with a letter or digit and contain only lower-case letters, digits, _ and -.")
		}
	}
	if takenProviderNames[name] {
		return Invalidf("name", "name is reserved: %s is the path of another webhook. Choose another name.", name)
	}
	return nil
}

// DefaultProvider is the name of the generic provider that is made at the first start.
const DefaultProvider = "mailprovider"

// ProviderReport is one event that a provider, or a mail that came back, reports, with what its receiver has found out
// about it.
type ProviderReport struct {
	Event       ProviderEvent
	Names       []string // that may identify the mail (mail.Ident.Recipient): token, Message-ID, return address
	Key         []byte   // equal for the same event reported twice by its provider
	Unsubscribe bool     // the recipient unsubscribed at the provider; Event has no type then
	ByMachine   bool     // a program opened or clicked, not a person
	Provider    string   // name of the provider
	JobNo       int64    // the mail is of this job; 0: none of ours
	Seq         int64    // its recipient
	Guess       bool     // without JobNo: the newest mail to the address may be meant
	Doubtful    bool     // of a soft bounce: the address probably does not exist (DoubtfulBounce)
	Sender      bool     // of a soft bounce: the sender is at fault, which says nothing against the address
}
