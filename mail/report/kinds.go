package report

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
	"newsletterd/mail/smtp"
)

// kinds lists the supported email providers.
var kinds = []*Kind{
	{Name: KindGeneric, MaxBody: maxEvent, Secret: genericSecret, verify: verifyGeneric},
	{Name: "ses", MaxBody: maxEvent, Topics: true, verify: verifySNS, parse: parseSES, confirm: confirmSNS},
	{Name: "postmark", MaxBody: maxEvent, Secret: basicSecret, verify: verifyBasic, parse: parsePostmark},
	{Name: "sendgrid", MaxBody: maxBatch, Secret: sendgridSecret, verify: verifySendGrid, parse: parseSendGrid},
	{Name: "mailgun", MaxBody: maxEvent, Secret: mailgunSecret, verify: verifyMailgun, parse: parseMailgun},
	{Name: "resend", MaxBody: maxEvent, Secret: svixSecret, verify: verifySvix, parse: parseResend},
	{Name: "mailjet", MaxBody: maxBatch, Secret: basicSecret, verify: verifyBasic, parse: parseMailjet},
}

// The forms of secrets for the kinds.
var (
	genericSecret = SecretForm{
		Help: "whsec_ followed by 32 bytes in base64", Check: checkGenericKey, Pattern: "^whsec_[A-Za-z0-9+/]{43}=$",
		Fresh: func() string {
			key := make([]byte, 32)
			rand.Read(key)
			return "whsec_" + base64.StdEncoding.EncodeToString(key)
		},
	}
	basicSecret = SecretForm{
		Help:  "name:password, as in the webhook URL at the provider (https://name:password@…)",
		Check: checkBasic, Pattern: "^[^:]+:.{8,}$",
		Fresh: func() string { return "newsletterd:" + core.NewToken() },
	}
	sendgridSecret = SecretForm{Help: "the verification key of the Event Webhook, in base64", Check: checkSendGridKey}
	mailgunSecret  = SecretForm{Help: "the HTTP webhook signing key", Check: filledSecret}
	svixSecret     = SecretForm{Help: "the signing secret: whsec_ followed by base64", Check: checkWebhookKey}
)

// filledSecret returns an error unless s has at least 8 characters and no surrounding spaces.
func filledSecret(s string) error {
	if len(s) < 8 || strings.TrimSpace(s) != s {
		return core.Invalidf("secret", "secret is too short or has spaces around it. Copy it again.")
	}
	return nil
}

// checkBasic returns an error unless s is name:password.
func checkBasic(s string) error {
	name, password, _ := strings.Cut(s, ":")
	if name == "" || len(password) < 8 {
		return core.Invalidf("secret", "secret must be name:password. The password must have at least 8 characters.")
	}
	return nil
}

// headerOf returns the value of a header field whose name is in net/http's spelling. If the field is missing or
// repeated, it returns an empty string.
func headerOf(r *Request, name string) string {
	if v := r.Header[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}

// equalText reports whether a and b are equal, in constant time.
func equalText(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// The events that providers report, each under its own name.
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

// unsubscribeMark is the type of an unsubscribe event. core has no constant for it.
const unsubscribeMark = "unsubscribe"

// reportOf returns a report with an outcome. For an empty outcome, ok is false.
func reportOf(
	outcome core.ProviderEvent, email, messageID string, at core.Instant, key []byte, names ...string,
) (p core.ProviderReport, ok bool) {
	p = core.ProviderReport{Event: outcome, Key: key, Names: names, Unsubscribe: outcome.Type == unsubscribeMark}
	p.Event.Email, p.Event.MessageID, p.Event.OccurredAt = core.Email(bareAddress(email)), messageID, at
	return p, outcome.Type != ""
}

// refusesSender reports whether a status or reply refuses the sender or the email by policy (X.7.x in RFC 3463), which
// is not the recipient's fault.
func refusesSender(status, reply string) bool {
	return strings.HasPrefix(status, "5.7.") || strings.HasPrefix(smtp.CodeIn(reply), "5.7.")
}

// bareAddress returns a mailbox's address without any display name.
func bareAddress(s string) string {
	if strings.ContainsAny(s, "<\"") {
		if a, err := mail.ParseAddress(s); err == nil {
			return a.Address
		}
	}
	return s
}

// looseText is a JSON value that a provider sends as either a number or a string.
type looseText string

// UnmarshalJSON implements json.Unmarshaler. It accepts any value.
func (t *looseText) UnmarshalJSON(b []byte) error {
	if s := ""; json.Unmarshal(b, &s) == nil {
		*t = looseText(s)
	} else if string(b) != "null" {
		*t = looseText(b)
	}
	return nil
}

func (t looseText) String() string { return string(t) }

// instantOf parses an RFC 3339 time. For any other string it returns 0.
func instantOf(s string) core.Instant {
	at, err := core.ParseInstant(s)
	if err != nil {
		return 0
	}
	return at
}

// unixOf parses Unix seconds with an optional fraction. For any other string it returns 0.
func unixOf(n looseText) core.Instant {
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || f < 0 || f > 253402300799 {
		return 0
	}
	return core.At(time.UnixMilli(int64(f * 1000)))
}

// readJSON decodes a provider's JSON and ignores unknown fields. Errors are of kind Invalid.
func readJSON(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return core.Invalidf("", "The body isn't JSON in this provider's format. Check that the webhook URL is the "+
			"one for this provider.").With(err)
	}
	return nil
}

// readBatch decodes one object or an array of objects. It skips and counts malformed elements of an array. If all are
// malformed, it returns the error of the first.
func readBatch[T any](r *Request) ([]T, error) {
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
			err = core.Invalidf("", "The body isn't JSON in this provider's format. Check that the webhook URL is "+
				"the one for this provider.")
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

// lastingTolerance is the maximum age of a signed event from a provider that keeps the time of the first attempt when
// it retries. A replay has no effect, because an event counts only once.
const lastingTolerance = time.Hour

// within reports whether at is neither earlier than oldest before now nor later than Tolerance after now.
func within(at, now core.Instant, oldest time.Duration) bool {
	return now.Sub(at) <= oldest && at.Sub(now) <= Tolerance
}
