package report

import (
	"context"
	"encoding/base64"
	"strings"

	"newsletterd/core"
)

// verifyBasic checks HTTP basic authentication (RFC 7617), the only method that Postmark and Mailjet offer.
func verifyBasic(_ context.Context, h *Hook, r *Request) error {
	scheme, text, _ := strings.Cut(headerOf(r, "Authorization"), " ")
	given, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	good := false
	for _, secret := range h.Secrets {
		if equalText(string(given), secret) {
			good = true
		}
	}
	if err != nil || !strings.EqualFold(scheme, "Basic") || !good {
		return core.ErrInvalidSignature
	}
	return nil
}

// postmarkEvent is a Postmark webhook event. It has the fields of all record types.
type postmarkEvent struct {
	RecordType        string            `json:"RecordType"`
	ID                looseText         `json:"ID"`
	Type              string            `json:"Type"`
	MessageID         string            `json:"MessageID"`
	Email             string            `json:"Email"`
	Recipient         string            `json:"Recipient"`
	BouncedAt         string            `json:"BouncedAt"`
	DeliveredAt       string            `json:"DeliveredAt"`
	ReceivedAt        string            `json:"ReceivedAt"`
	ChangedAt         string            `json:"ChangedAt"`
	SuppressSending   bool              `json:"SuppressSending"`
	SuppressionReason string            `json:"SuppressionReason"`
	Details           string            `json:"Details"`
	Metadata          map[string]string `json:"Metadata"`
}

// postmarkBounces maps Type values to bounce types. Other values don't concern the address.
var postmarkBounces = map[string]core.ProviderEvent{
	"HardBounce": hardBounced, "BadEmailAddress": hardBounced,
	"SoftBounce": softBounced, "Transient": softBounced, "DnsError": softBounced,
	"VirusNotification": softBounced, "DMARCPolicy": softBounced, "Blocked": softBounced, "SpamNotification": softBounced,
	"Unknown":             someBounce,
	"SpamComplaint":       complained,
	"ManuallyDeactivated": suppressed,
	"Unsubscribe":         unsubscribed,
}

// sender reports whether the sender or the email was refused rather than the recipient, for example because a provider
// blocks the sender, or a server classified the email as spam without the recipient's knowledge.
func (e *postmarkEvent) sender() bool {
	switch e.Type {
	case "Blocked", "SpamNotification", "DMARCPolicy", "VirusNotification":
		return true
	}
	return e.RecordType == "Bounce" && refusesSender("", e.Details)
}

// outcome returns the event's outcome, its address and its time.
func (e *postmarkEvent) outcome() (o core.ProviderEvent, email, at string) {
	switch e.RecordType {
	case "Bounce":
		o := postmarkBounces[e.Type]
		if o == hardBounced && e.sender() {
			o = softBounced
		}
		return o, e.Email, e.BouncedAt
	case "SpamComplaint":
		return complained, e.Email, e.BouncedAt
	case "Delivery":
		return delivered, e.Recipient, e.DeliveredAt
	case "Open":
		return opened, e.Recipient, e.ReceivedAt
	case "Click":
		return clicked, e.Recipient, e.ReceivedAt
	case "SubscriptionChange":
		if e.SuppressSending {
			return suppressed, e.Recipient, e.ChangedAt
		}
	}
	return nothing, "", ""
}

// parsePostmark parses one event or a batch.
func parsePostmark(r *Request) ([]core.ProviderReport, error) {
	events, err := readBatch[postmarkEvent](r)
	var out []core.ProviderReport
	for i := range events {
		e := &events[i]
		o, email, at := e.outcome()
		key := core.ProviderKey("postmark", e.RecordType, e.MessageID, e.ID.String(), email, at)
		if p, ok := reportOf(o, email, e.MessageID, instantOf(at), key, e.Metadata["nd"]); ok {
			p.Sender = o == softBounced && e.sender()
			out = append(out, p)
		}
	}
	return out, err
}
