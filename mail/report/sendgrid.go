package report

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"strings"

	"newsletterd/core"
	"newsletterd/mail/smtp"
)

// The headers of SendGrid's Event Webhook, in net/http's spelling.
const (
	headerSendGridSignature = "X-Twilio-Email-Event-Webhook-Signature"
	headerSendGridTimestamp = "X-Twilio-Email-Event-Webhook-Timestamp"
)

// sendgridKey parses a verification key: the base64 of a P-256 public key (SPKI).
func sendgridKey(secret string) (*ecdsa.PublicKey, error) {
	der, err := base64.StdEncoding.DecodeString(secret)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, err
	}
	ec, ok := key.(*ecdsa.PublicKey)
	if !ok || ec.Curve != elliptic.P256() {
		return nil, core.Invalidf("secret", "secret must be a P-256 public key in base64.")
	}
	return ec, nil
}

// checkSendGridKey returns an error unless secret is a verification key.
func checkSendGridKey(secret string) error {
	_, err := sendgridKey(secret)
	return err
}

// verifySendGrid checks the ECDSA signature over the timestamp and the raw body.
func verifySendGrid(_ context.Context, h *Hook, r *Request) error {
	stamp := headerOf(r, headerSendGridTimestamp)
	sig, err := base64.StdEncoding.DecodeString(headerOf(r, headerSendGridSignature))
	if err != nil || len(stamp) != 10 || !within(unixOf(looseText(stamp)), r.Now, lastingTolerance) {
		return core.ErrInvalidSignature
	}
	sum := sha256.Sum256(append([]byte(stamp), r.Body...))
	for _, secret := range h.Secrets {
		key, err := sendgridKey(secret)
		if err == nil && ecdsa.VerifyASN1(key, sum[:], sig) {
			return nil
		}
	}
	return core.ErrInvalidSignature
}

// sendgridEvent is one SendGrid event.
type sendgridEvent struct {
	Email       string    `json:"email"`
	Timestamp   looseText `json:"timestamp"`
	Event       string    `json:"event"`
	Type        string    `json:"type"`
	Reason      string    `json:"reason"`
	Status      string    `json:"status"`
	Class       string    `json:"bounce_classification"`
	SMTPID      string    `json:"smtp-id"`
	EventID     string    `json:"sg_event_id"`
	MessageID   string    `json:"sg_message_id"`
	MachineOpen bool      `json:"sg_machine_open"`
	Mark        string    `json:"nd"` // from unique_args: the token of our Message-ID
}

// verdict returns what a bounce means for the address. SendGrid classifies faults of the sender as Content or
// Reputation.
func (e *sendgridEvent) verdict() smtp.Verdict {
	if e.Class == "Content" || e.Class == "Reputation" {
		return smtp.VerdictSender
	}
	return smtp.VerdictOf(e.Status, e.Reason)
}

// outcome returns the event's outcome.
func (e *sendgridEvent) outcome() core.ProviderEvent {
	switch e.Event {
	case "bounce":
		if v := e.verdict(); e.Type == "blocked" || v == smtp.VerdictSender || v == smtp.VerdictPassing {
			return softBounced
		}
		return hardBounced
	case "dropped":
		for _, reason := range []string{"Bounced Address", "Spam Reporting", "Unsubscribed"} {
			if strings.HasPrefix(e.Reason, reason) {
				return suppressed
			}
		}
	case "spamreport":
		return complained
	case "delivered":
		return delivered
	case "open":
		return opened
	case "click":
		return clicked
	case "unsubscribe", "group_unsubscribe":
		return unsubscribed
	}
	return nothing
}

// parseSendGrid parses one event or a batch.
func parseSendGrid(r *Request) ([]core.ProviderReport, error) {
	events, err := readBatch[sendgridEvent](r)
	var out []core.ProviderReport
	for i := range events {
		e := &events[i]
		key := core.ProviderKey("sendgrid", e.EventID, e.Email)
		if e.EventID == "" {
			key = nil // settle derives a key from the event
		}
		if p, ok := reportOf(e.outcome(), e.Email, e.MessageID, unixOf(e.Timestamp), key, e.Mark, e.SMTPID); ok {
			p.ByMachine = e.MachineOpen
			p.Sender = p.Event.Type == softBounced.Type && e.verdict() == smtp.VerdictSender
			out = append(out, p)
		}
	}
	return out, err
}
