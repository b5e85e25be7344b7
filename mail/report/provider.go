package report

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
)

// HeaderSignature is the generic kind's signature header, in net/http's spelling.
const HeaderSignature = "X-Mailprovider-Sns-Signature"

// Tolerance is the maximum difference between the time of a signed event and this machine's clock. Some kinds permit
// more.
const Tolerance = 300 * time.Second

// The maximum sizes of a request body in bytes, for kinds that send one event per request and for kinds that send
// batches.
const (
	maxEvent = 256 << 10
	maxBatch = 1 << 20
)

// KindGeneric is the kind with newsletterd's own event format (docs/webhooks.md): one JSON object, decoded by the
// receiver.
const KindGeneric = "generic"

// Kind is a type of email provider, with functions to verify and interpret its events.
type Kind struct {
	Name    string
	MaxBody int64 // maximum size of a request, in bytes
	Secret  SecretForm
	Topics  bool // providers of this kind, such as ses, need the topics to listen to

	verify func(context.Context, *Hook, *Request) error
	parse  func(*Request) ([]core.ProviderReport, error) // nil: the receiver decodes the body

	confirm func(context.Context, *Hook, *Request) error // nil: the kind requires no confirmation
}

// SecretForm describes the secrets of a kind of provider.
type SecretForm struct {
	Help    string             // description for people, such as "whsec_ and base64"
	Check   func(string) error // nil: the kind has no secret
	Fresh   func() string      // generates a secret; nil: the provider issues it
	Pattern string             // regular expression of valid secrets; empty: none
}

// Hook is a configured provider whose requests are verified.
type Hook struct {
	Name    string
	Kind    string
	Secrets []string // as configured; a signature by any of them suffices
	Topics  []string // only for kind ses
	SNS     *SNS     // only for kind ses
}

// Request is a webhook request from a provider. Header is an http.Header.
type Request struct {
	Header map[string][]string
	Body   []byte
	Now    core.Instant
	// Malformed is the number of malformed batch elements that Reports has skipped.
	Malformed int
}

// Names returns the names of the kinds.
func Names() (names []string) {
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// KindOf returns the kind with a name, or nil if there is none.
func KindOf(name string) *Kind {
	for _, k := range kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// CheckSecrets returns an error of kind core.Invalid unless secrets have the form that the kind requires.
func (k *Kind) CheckSecrets(secrets []string) error {
	if k.Secret.Check == nil {
		if len(secrets) > 0 {
			return core.Invalidf("secret", "Providers of kind %s have no secret. Leave it out.", k.Name)
		}
		return nil
	}
	if len(secrets) == 0 {
		return core.Invalidf("secret", "secret is missing. Set %s.", k.Secret.Help)
	}
	for _, s := range secrets {
		if k.Secret.Check(s) != nil {
			return core.Invalidf("secret", "secret must be %s.", k.Secret.Help)
		}
	}
	return nil
}

// CheckTopics returns an error of kind core.Invalid if the topics don't fit the kind: ses needs at least one, and
// other kinds must have none.
func (k *Kind) CheckTopics(topics []string) error {
	switch {
	case k.Topics && len(topics) == 0:
		return core.Invalidf("topics", "topics is missing. Providers of kind %s need at least one topic.",
			k.Name)
	case !k.Topics && len(topics) > 0:
		return core.Invalidf("topics", "Providers of kind %s have no topics. Leave them out.", k.Name)
	}
	return nil
}

// Verify checks that a request comes from the provider. If not, it returns core.ErrInvalidSignature. If the provider
// does not listen to the request's topic, it returns an error of kind Forbidden. If data for the check can't be
// fetched, the error is of kind Unavailable.
func (h *Hook) Verify(ctx context.Context, r *Request) error {
	k := KindOf(h.Kind)
	if k == nil {
		return core.ErrInvalidSignature
	}
	return k.verify(ctx, h, r)
}

// Confirm confirms an event subscription if a verified request asks for that. For all other requests, and for kinds
// without confirmation, it does nothing. If the confirmation can't be sent, it returns an error of kind Unavailable.
func (h *Hook) Confirm(ctx context.Context, r *Request) error {
	if k := KindOf(h.Kind); k != nil && k.confirm != nil {
		return k.confirm(ctx, h, r)
	}
	return nil
}

// Reports returns the events in a verified request. A body without events is not an error, because providers report
// more than newsletterd uses. Malformed elements in a batch are skipped and counted in r.Malformed. A malformed body,
// or a batch with only malformed elements, is an error of kind Invalid.
func (k *Kind) Reports(r *Request) ([]core.ProviderReport, error) {
	reports, err := k.parse(r)
	if err != nil {
		return nil, err
	}
	good := reports[:0]
	for i := range reports {
		if settle(&reports[i], r.Now) {
			good = append(good, reports[i])
		}
	}
	return good, nil
}

// settle converts a report to the form that is stored, and reports whether it is usable. A report must have names, or
// an address that newsletterd could have emailed.
func settle(p *core.ProviderReport, now core.Instant) bool {
	email, err := core.ParseEmail(string(p.Event.Email))
	if err != nil && (p.Event.Email != "" || len(p.Names) == 0) {
		return false
	}
	p.Event.Email = email
	if p.Event.OccurredAt <= 0 {
		p.Event.OccurredAt = now
	}
	p.Event.MessageID = strings.ToValidUTF8(p.Event.MessageID[:min(len(p.Event.MessageID), 998)], "")
	if p.Key == nil {
		p.Key = p.Event.Key()
	}
	return true
}

// verifyGeneric checks "t=<unix>,v1=<hex>", where v1 is the HMAC-SHA256 of t, a dot and the raw body. Up to four v1
// are permitted, so that senders can change their secret.
func verifyGeneric(_ context.Context, h *Hook, r *Request) error {
	values := r.Header[HeaderSignature]
	if len(values) != 1 {
		return core.ErrInvalidSignature
	}
	first, rest, _ := strings.Cut(values[0], ",")
	t, ok := strings.CutPrefix(first, "t=")
	if !ok || !near(t, r.Now) {
		return core.ErrInvalidSignature
	}
	text := append(append([]byte(t), '.'), r.Body...)
	good, n := false, 0
	for part := range strings.SplitSeq(rest, ",") {
		digits, ok := strings.CutPrefix(part, "v1=")
		given, err := hex.DecodeString(digits)
		if n++; !ok || err != nil || n > 4 {
			return core.ErrInvalidSignature
		}
		for _, secret := range h.Secrets {
			key, err := webhookKey(secret)
			if err == nil && hmac.Equal(given, hmacSHA256(key, text)) {
				good = true
			}
		}
	}
	if !good {
		return core.ErrInvalidSignature
	}
	return nil
}

// near reports whether seconds, a 10-digit Unix time, is within Tolerance of now.
func near(seconds string, now core.Instant) bool {
	n, err := strconv.ParseUint(seconds, 10, 63)
	if err != nil || len(seconds) != 10 {
		return false
	}
	d := core.Instant(n * 1000).Sub(now)
	return -Tolerance <= d && d <= Tolerance
}

// hmacSHA256 returns the HMAC of the parts.
func hmacSHA256(key []byte, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, key)
	for _, p := range parts {
		m.Write(p)
	}
	return m.Sum(nil)
}

// webhookKey decodes a secret that consists of "whsec_" and base64 to its key of 16 to 64 bytes.
func webhookKey(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 16 || len(key) > 64 {
		return nil, core.Invalidf("secret", "secret must be whsec_ followed by base64.")
	}
	return key, nil
}

// checkWebhookKey returns an error unless webhookKey accepts secret.
func checkWebhookKey(secret string) error {
	_, err := webhookKey(secret)
	return err
}

// checkGenericKey is like checkWebhookKey, but requires a 32-byte key, which all secrets generated by newsletterd have.
func checkGenericKey(secret string) error {
	if key, err := webhookKey(secret); err != nil || len(key) != 32 {
		return core.Invalidf("secret", "secret must be whsec_ followed by 32 bytes in base64.")
	}
	return nil
}
