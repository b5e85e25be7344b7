package mail

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

// HeaderProviderSignature is the header of the generic kind, in the canonical spelling of net/http.
const HeaderProviderSignature = "X-Mailprovider-Sns-Signature"

// ProviderTolerance is how far the time of a signed provider event may be from our clock, either way.
const ProviderTolerance = 300 * time.Second

// The bodies of provider events, in bytes: one event, and kinds that send many in one.
const (
	maxProviderEvent = 256 << 10
	maxProviderBatch = 1 << 20
)

// KindGeneric is the kind of provider whose events have the specification's own form. Its body is one JSON object that
// its receiver decodes.
const KindGeneric = "generic"

// ProviderKind is how one make of mail provider proves its events, and what they mean: one line of a table.
type ProviderKind struct {
	Name    string
	MaxBody int64 // bytes
	Secret  SecretForm
	Topics  bool // it listens to named topics (ses)

	verify func(context.Context, *ProviderHook, *ProviderRequest) error
	parse  func(*ProviderRequest) ([]ProviderReport, error) // nil: the receiver decodes

	confirm func(context.Context, *ProviderHook, *ProviderRequest) error // nil: the kind asks for no answer
}

// SecretForm is what the secret of a provider looks like.
type SecretForm struct {
	Help  string // for people, as "whsec_ and base64"
	Check func(string) error
	Fresh func() string // makes one; nil: it comes from the provider
}

// ProviderHook is a provider as its events are checked against it.
type ProviderHook struct {
	Name    string
	Kind    string
	Secrets []string // as the operator wrote them: any of them suffices
	Topics  []string // of kind ses
	SNS     *SNS     // of kind ses
}

// ProviderRequest is one request of a provider. Header is an http.Header.
type ProviderRequest struct {
	Header map[string][]string
	Body   []byte
	Now    core.Instant
	// Malformed is set by Reports: the number of elements of a batch that are not of the provider's form and were left out.
	Malformed int
}

// ProviderReport is one event as a provider tells it.
type ProviderReport struct {
	Event       core.ProviderEvent
	Names       []string // what may name the mail: our token, our Message-ID, our return address
	Key         []byte   // of sameness
	Unsubscribe bool     // the recipient has left by the provider's own means: Event has no type
	Aside       bool     // a program has opened or clicked, nobody has
}

// ProviderKinds lists the kinds, in the order in which they are told to people.
func ProviderKinds() []*ProviderKind { return providerKinds }

// KindOfProvider finds a kind by name; nil: there is none.
func KindOfProvider(name string) *ProviderKind {
	for _, k := range providerKinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// CheckSecrets tells whether the secrets of a provider have the form of its kind.
func (k *ProviderKind) CheckSecrets(secrets []string) error {
	if k.Secret.Check == nil {
		if len(secrets) > 0 {
			return core.Invalidf("secret", "A provider of kind %s has no secret.", k.Name)
		}
		return nil
	}
	if len(secrets) == 0 {
		return core.Invalidf("secret", "secret is missing: %s.", k.Secret.Help)
	}
	for _, s := range secrets {
		if k.Secret.Check(s) != nil {
			return core.Invalidf("secret", "secret must be %s.", k.Secret.Help)
		}
	}
	return nil
}

// CheckTopics tells whether a provider of the kind may listen to these topics: one of kind ses must have some.
func (k *ProviderKind) CheckTopics(topics []string) error {
	switch {
	case k.Topics && len(topics) == 0:
		return core.Invalidf("topics", "topics are missing: a provider of kind %s listens to named topics alone.", k.Name)
	case !k.Topics && len(topics) > 0:
		return core.Invalidf("topics", "A provider of kind %s has no topics.", k.Name)
	}
	return nil
}

// Verify proves that a request comes from the provider. A request that can't be proved is core.ErrInvalidSignature, one of
// a topic that is not listened to is Forbidden.
func (h *ProviderHook) Verify(ctx context.Context, r *ProviderRequest) error {
	k := KindOfProvider(h.Kind)
	if k == nil {
		return core.ErrInvalidSignature
	}
	return k.verify(ctx, h, r)
}

// Confirm answers a proved request that asks whether we want the provider's events at all, where its kind does so.
func (h *ProviderHook) Confirm(ctx context.Context, r *ProviderRequest) error {
	if k := KindOfProvider(h.Kind); k != nil && k.confirm != nil {
		return k.confirm(ctx, h, r)
	}
	return nil
}

// Reports reads the events of a request whose sender is proved. A body without any is no error: providers report more than
// we ask for. Of a batch, elements that are not of the provider's form are left out and counted in r.Malformed; a batch of nothing
// else is Invalid.
func (k *ProviderKind) Reports(r *ProviderRequest) ([]ProviderReport, error) {
	reports, err := k.parse(r)
	if err != nil {
		return nil, err
	}
	good := reports[:0]
	for _, p := range reports {
		if p.settle(r.Now) {
			good = append(good, p)
		}
	}
	return good, nil
}

// settle brings a report into the form that the store keeps. One about no address, or about an address of no form that we
// mail, is of no use.
func (p *ProviderReport) settle(now core.Instant) bool {
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

// Recipient finds whose mail a report is about by the names that only we can make. 0, 0: none of ours is among them.
func (n *Ident) Recipient(names ...string) (job, seq int64) {
	for _, name := range names {
		name = strings.Trim(strings.TrimSpace(name), "<>")
		if job, seq, ok := n.ParseMessage(name); ok {
			return job, seq
		}
		local, _, _ := strings.Cut(name, "@")
		if _, job, seq, ok := n.ParseLocal(local); ok {
			return job, seq
		}
	}
	return 0, 0
}

// verifyGeneric checks "t=<unix>,v1=<hex>", where v1 is the HMAC-SHA256 of t, a dot and the raw body. Several v1 may
// stand there while the sender changes its secret.
func verifyGeneric(_ context.Context, h *ProviderHook, r *ProviderRequest) error {
	values := r.Header[HeaderProviderSignature]
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

// near tells whether 10 digits of unix seconds are within the tolerance.
func near(seconds string, now core.Instant) bool {
	n, err := strconv.ParseUint(seconds, 10, 63)
	if err != nil || len(seconds) != 10 {
		return false
	}
	d := core.Instant(n * 1000).Sub(now)
	return -ProviderTolerance <= d && d <= ProviderTolerance
}

func hmacSHA256(key []byte, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, key)
	for _, p := range parts {
		m.Write(p)
	}
	return m.Sum(nil)
}

// webhookKey is the key that "whsec_" and base64 stand for.
func webhookKey(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 16 || len(key) > 64 {
		return nil, core.Invalidf("secret", "secret must be whsec_ and the base64 of its bytes.")
	}
	return key, nil
}

func checkWebhookKey(secret string) error {
	_, err := webhookKey(secret)
	return err
}

// checkGenericKey wants 32 bytes, as every secret that we make has.
func checkGenericKey(secret string) error {
	if key, err := webhookKey(secret); err != nil || len(key) != 32 {
		return core.Invalidf("secret", "secret must be whsec_ and the base64 of 32 bytes.")
	}
	return nil
}
