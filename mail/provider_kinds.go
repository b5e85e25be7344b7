package mail

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/mail"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
)

// providerKinds is THE TABLE of mail providers: one line each.
var providerKinds = []*ProviderKind{
	{Name: KindGeneric, MaxBody: maxProviderEvent, Secret: genericSecret, verify: verifyGeneric},
	{Name: "ses", MaxBody: maxProviderEvent, Topics: true, verify: verifySNS, parse: parseSES, confirm: confirmSNS},
	{Name: "postmark", MaxBody: maxProviderEvent, Secret: basicSecret, verify: verifyBasic, parse: parsePostmark},
	{Name: "sendgrid", MaxBody: maxProviderBatch, Secret: sendgridSecret, verify: verifySendGrid, parse: parseSendGrid},
	{Name: "mailgun", MaxBody: maxProviderEvent, Secret: mailgunSecret, verify: verifyMailgun, parse: parseMailgun},
	{Name: "resend", MaxBody: maxProviderEvent, Secret: svixSecret, verify: verifySvix, parse: parseResend},
	{Name: "mailjet", MaxBody: maxProviderBatch, Secret: basicSecret, verify: verifyBasic, parse: parseMailjet},
}

// The secrets of the kinds, as people have to write them.
var (
	genericSecret = SecretForm{
		Help: "whsec_ and the base64 of 32 bytes", Check: checkGenericKey,
		Fresh: func() string {
			key := make([]byte, 32)
			rand.Read(key)
			return "whsec_" + base64.StdEncoding.EncodeToString(key)
		},
	}
	basicSecret = SecretForm{
		Help: "name:password, as it stands in the webhook's address at the provider (https://name:password@…)", Check: checkBasic,
		Fresh: func() string { return "newsletterd:" + core.NewToken() },
	}
	sendgridSecret = SecretForm{Help: "the verification key of the Event Webhook, in base64", Check: checkSendGridKey}
	mailgunSecret  = SecretForm{Help: "the HTTP webhook signing key", Check: filledSecret}
	svixSecret     = SecretForm{Help: "the signing secret: whsec_ and base64", Check: checkWebhookKey}
)

func filledSecret(s string) error {
	if len(s) < 8 || strings.TrimSpace(s) != s {
		return core.Invalidf("secret", "secret is too short, or has spaces around it.")
	}
	return nil
}

func checkBasic(s string) error {
	name, password, _ := strings.Cut(s, ":")
	if name == "" || len(password) < 8 {
		return core.Invalidf("secret", "secret must be name:password, the password of 8 characters at least.")
	}
	return nil
}

// headerOf is the value of a header (in net/http's spelling) that must stand once; empty where it does not.
func headerOf(r *ProviderRequest, name string) string {
	if v := r.Header[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}

// equalText compares without telling by its time where two texts differ.
func equalText(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// outcomes of a mail that a provider tells in words of its own.
var (
	hardBounced  = core.ProviderEvent{Type: core.ProviderHardBounced, BounceType: core.HardBounce}
	softBounced  = core.ProviderEvent{Type: core.ProviderSoftBounced, BounceType: core.SoftBounce}
	someBounce   = core.ProviderEvent{Type: core.ProviderBounce}
	complained   = core.ProviderEvent{Type: core.ProviderComplaint}
	suppressed   = core.ProviderEvent{Type: core.ProviderSuppression}
	delivered    = core.ProviderEvent{Type: core.ProviderDelivery}
	opened       = core.ProviderEvent{Type: core.ProviderOpen}
	clicked      = core.ProviderEvent{Type: core.ProviderClick}
	nothing      = core.ProviderEvent{}
	unsubscribed = core.ProviderEvent{Type: unsubscribeMark}
)

// unsubscribeMark stands for an event_type where a provider says that the recipient has left: there is none for it.
const unsubscribeMark = "unsubscribe"

// reportOf fills an outcome in; ok is false for nothing.
func reportOf(outcome core.ProviderEvent, email, messageID string, at core.Instant, key []byte, names ...string) (p ProviderReport, ok bool) {
	p = ProviderReport{Event: outcome, Key: key, Names: names, Unsubscribe: outcome.Type == unsubscribeMark}
	p.Event.Email, p.Event.MessageID, p.Event.OccurredAt = core.Email(bareAddress(email)), messageID, at
	return p, outcome.Type != ""
}

// bareAddress is the address alone of one that may have a name beside it.
func bareAddress(s string) string {
	if strings.ContainsAny(s, "<\"") {
		if a, err := mail.ParseAddress(s); err == nil {
			return a.Address
		}
	}
	return s
}

// looseText is a value that a provider writes as a number or as a text.
type looseText string

// UnmarshalJSON takes anything.
func (t *looseText) UnmarshalJSON(b []byte) error {
	if s := ""; json.Unmarshal(b, &s) == nil {
		*t = looseText(s)
	} else if string(b) != "null" {
		*t = looseText(b)
	}
	return nil
}

func (t looseText) String() string { return string(t) }

// instantOf reads RFC 3339; 0 where it is none.
func instantOf(s string) core.Instant {
	at, err := core.ParseInstant(s)
	if err != nil {
		return 0
	}
	return at
}

// unixOf reads unix seconds, with a fraction or without, written as a number or a text.
func unixOf(n looseText) core.Instant {
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || f < 0 || f > 253402300799 {
		return 0
	}
	return core.At(time.UnixMilli(int64(f * 1000)))
}

// readJSON reads a provider's JSON; the form of its fields is the provider's, so what we do not know is left aside.
func readJSON(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return core.Invalidf("", "The body is not the provider's JSON.").With(err)
	}
	return nil
}

// readBatch reads one object or an array of them. Elements of an array that can't be read are left out and counted, unless none can.
func readBatch[T any](r *ProviderRequest) ([]T, error) {
	b := bytes.TrimSpace(r.Body)
	if len(b) == 0 || b[0] != '[' {
		var one T
		if err := readJSON(b, &one); err != nil {
			return nil, err
		}
		return []T{one}, nil
	}
	var texts []json.RawMessage
	if err := readJSON(b, &texts); err != nil {
		return nil, err
	}
	var many []T
	var first error
	for _, text := range texts {
		var one T
		err := readJSON(text, &one)
		if err == nil && text[0] != '{' { // null
			err = core.Invalidf("", "The body is not the provider's JSON.")
		}
		if err != nil {
			r.Malformed++
			first = cmp.Or(first, err)
			continue
		}
		many = append(many, one)
	}
	if len(many) == 0 {
		return nil, first
	}
	return many, nil
}

// lastingTolerance is how old a signed event may be where the provider keeps its time when it tries again; that it counts
// once keeps a replay without effect.
const lastingTolerance = time.Hour

// within tells whether an instant is not older than oldest, nor ahead of our clock by more than a little.
func within(at, now core.Instant, oldest time.Duration) bool {
	return now.Sub(at) <= oldest && at.Sub(now) <= ProviderTolerance
}
