package report

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
)

// mailgunTolerance is the maximum age of a Mailgun request. Mailgun retries for eight hours. A replay has no effect,
// because a token counts only once.
const mailgunTolerance = 12 * time.Hour

// mailgunRequest is a Mailgun webhook request.
type mailgunRequest struct {
	Signature struct {
		Timestamp looseText `json:"timestamp"`
		Token     string    `json:"token"`
		Signature string    `json:"signature"`
	} `json:"signature"`
	Event struct {
		Event     string    `json:"event"`
		Timestamp looseText `json:"timestamp"`
		Recipient string    `json:"recipient"`
		Severity  string    `json:"severity"`
		Reason    string    `json:"reason"`
		Status    struct {
			Enhanced looseText `json:"enhanced-code"`
			Message  string    `json:"message"`
		} `json:"delivery-status"`
		Message struct {
			Headers struct {
				MessageID string `json:"message-id"`
			} `json:"headers"`
		} `json:"message"`
		Variables  map[string]any `json:"user-variables"`
		ClientInfo struct {
			Bot string `json:"bot"`
		} `json:"client-info"`
	} `json:"event-data"`
}

// verifyMailgun checks the signature in the body, which covers only timestamp and token.
func verifyMailgun(_ context.Context, h *Hook, r *Request) error {
	var in mailgunRequest
	if json.Unmarshal(r.Body, &in) != nil || in.Signature.Token == "" {
		return core.ErrInvalidSignature
	}
	s := &in.Signature
	given, err := hex.DecodeString(s.Signature)
	if err != nil || !within(unixOf(s.Timestamp), r.Now, mailgunTolerance) {
		return core.ErrInvalidSignature
	}
	for _, secret := range h.Secrets {
		if hmac.Equal(given, hmacSHA256([]byte(secret), []byte(s.Timestamp.String()), []byte(s.Token))) {
			return nil
		}
	}
	return core.ErrInvalidSignature
}

// verdict returns what the server's reply means for the address. It may contradict the severity. Mailgun also gives up
// if it is blocked (espblock) or the email is too old.
func (r *mailgunRequest) verdict() smtp.Verdict {
	switch e := &r.Event; e.Reason {
	case "espblock", "blacklisted":
		return smtp.VerdictSender
	case "old", "greylisted":
		return smtp.VerdictPassing
	default:
		return smtp.VerdictOf(e.Status.Enhanced.String(), e.Status.Message)
	}
}

// outcome returns the event's outcome.
func (r *mailgunRequest) outcome() core.ProviderEvent {
	switch e := &r.Event; e.Event {
	case "failed":
		switch {
		case strings.HasPrefix(e.Reason, "suppress-"):
			return suppressed
		case e.Severity == "permanent" && r.verdict() != smtp.VerdictSender && r.verdict() != smtp.VerdictPassing:
			return hardBounced
		case e.Severity == "permanent", e.Severity == "temporary":
			return softBounced
		}
	case "complained":
		return complained
	case "delivered":
		return delivered
	case "opened":
		return opened
	case "clicked":
		return clicked
	case "unsubscribed":
		return unsubscribed
	}
	return nothing
}

// parseMailgun parses the event in a request.
func parseMailgun(r *Request) ([]core.ProviderReport, error) {
	var in mailgunRequest
	if err := readJSON(r.Body, &in); err != nil {
		return nil, err
	}
	e := &in.Event
	mark, _ := e.Variables["nd"].(string)
	id := e.Message.Headers.MessageID
	key := core.ProviderKey("mailgun", in.Signature.Token)
	p, ok := reportOf(in.outcome(), e.Recipient, id, unixOf(e.Timestamp), key, mark, id)
	if !ok {
		return nil, nil
	}
	p.ByMachine = e.ClientInfo.Bot != ""
	p.Sender = in.outcome() == softBounced && in.verdict() == smtp.VerdictSender
	return []core.ProviderReport{p}, nil
}
