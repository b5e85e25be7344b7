package report

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"strings"

	"newsletterd/core"
)

// The headers of Svix signatures, which Resend uses, in net/http's spelling.
const (
	headerSvixID        = "Svix-Id"
	headerSvixTimestamp = "Svix-Timestamp"
	headerSvixSignature = "Svix-Signature"
)

// verifySvix checks the HMAC over id, timestamp and raw body. The header can contain several signatures, for key
// rotation.
func verifySvix(_ context.Context, h *Hook, r *Request) error {
	id, stamp := headerOf(r, headerSvixID), headerOf(r, headerSvixTimestamp)
	if id == "" || !near(stamp, r.Now) {
		return core.ErrInvalidSignature
	}
	good := false
	for part := range strings.FieldsSeq(headerOf(r, headerSvixSignature)) {
		text, ok := strings.CutPrefix(part, "v1,")
		given, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil {
			continue
		}
		for _, secret := range h.Secrets {
			key, err := webhookKey(secret)
			if err == nil && hmac.Equal(given, hmacSHA256(key, []byte(id+"."+stamp+"."), r.Body)) {
				good = true
			}
		}
	}
	if !good {
		return core.ErrInvalidSignature
	}
	return nil
}

// nameValue is a header field of an email in JSON.
type nameValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// resendEvent is a webhook event from Resend.
type resendEvent struct {
	Type      string `json:"type"`
	CreatedAt string `json:"created_at"`
	Data      struct {
		EmailID string      `json:"email_id"`
		To      []string    `json:"to"`
		Headers []nameValue `json:"headers"`
		Bounce  struct {
			Type    string `json:"type"`
			SubType string `json:"subType"`
			Message string `json:"message"`
		} `json:"bounce"`
	} `json:"data"`
}

// sender reports whether the sender was refused rather than the recipient.
func (e *resendEvent) sender() bool { return refusesSender("", e.Data.Bounce.Message) }

// outcome returns the event's outcome.
func (e *resendEvent) outcome() core.ProviderEvent {
	switch e.Type {
	case "email.bounced":
		return bounceOf(e.Data.Bounce.Type, e.Data.Bounce.SubType, e.sender())
	case "email.complained":
		return complained
	case "email.suppressed":
		return suppressed
	case "email.delivered":
		return delivered
	case "email.opened":
		return opened
	case "email.clicked":
		return clicked
	}
	return nothing
}

// bounceOf converts a bounce type and subtype of Amazon SES, which Resend also uses, to an event. sender is true if the
// sender was refused rather than the recipient.
func bounceOf(kind, sub string, sender bool) core.ProviderEvent {
	switch {
	case sub == "Suppressed" || sub == "OnAccountSuppressionList":
		return suppressed
	case kind == "Permanent" && !sender:
		return hardBounced
	case kind == "Transient", kind == "Permanent":
		return softBounced
	}
	return someBounce
}

// messageIDs returns the Message-IDs among an email's header fields.
func messageIDs(headers []nameValue) (ids []string) {
	for _, h := range headers {
		if strings.EqualFold(h.Name, "Message-ID") {
			ids = append(ids, h.Value)
		}
	}
	return ids
}

// parseResend parses the event in a request, with one report per recipient.
func parseResend(r *Request) ([]core.ProviderReport, error) {
	var e resendEvent
	if err := readJSON(r.Body, &e); err != nil {
		return nil, err
	}
	var out []core.ProviderReport
	for _, to := range e.Data.To {
		key := core.ProviderKey("resend", headerOf(r, headerSvixID), to)
		names := messageIDs(e.Data.Headers)
		if p, ok := reportOf(e.outcome(), to, e.Data.EmailID, instantOf(e.CreatedAt), key, names...); ok {
			p.Sender = p.Event.Type == softBounced.Type && e.sender()
			out = append(out, p)
		}
	}
	return out, nil
}
