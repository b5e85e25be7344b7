package mail

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"strings"

	"newsletterd/core"
)

// The headers of Svix, by which Resend signs, in the spelling of net/http.
const (
	headerSvixID        = "Svix-Id"
	headerSvixTimestamp = "Svix-Timestamp"
	headerSvixSignature = "Svix-Signature"
)

// verifySvix checks the HMAC over id, timestamp and raw body; the header may hold several, for keys that change.
func verifySvix(_ context.Context, h *ProviderHook, r *ProviderRequest) error {
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

type nameValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

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
		} `json:"bounce"`
	} `json:"data"`
}

func (e *resendEvent) outcome() core.ProviderEvent {
	switch e.Type {
	case "email.bounced":
		return bounceOf(e.Data.Bounce.Type, e.Data.Bounce.SubType)
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

// bounceOf reads the words that Amazon SES has for bounces, and Resend after it.
func bounceOf(kind, sub string) core.ProviderEvent {
	switch {
	case sub == "Suppressed" || sub == "OnAccountSuppressionList":
		return suppressed
	case kind == "Permanent":
		return hardBounced
	case kind == "Transient":
		return softBounced
	}
	return someBounce
}

// messageIDs are the names of a mail among its headers.
func messageIDs(headers []nameValue) (ids []string) {
	for _, h := range headers {
		if strings.EqualFold(h.Name, "Message-ID") {
			ids = append(ids, h.Value)
		}
	}
	return ids
}

func parseResend(r *ProviderRequest) ([]ProviderReport, error) {
	var e resendEvent
	if err := readJSON(r.Body, &e); err != nil {
		return nil, err
	}
	var out []ProviderReport
	for _, to := range e.Data.To {
		key := core.ProviderKey("resend", headerOf(r, headerSvixID), to)
		if p, ok := reportOf(e.outcome(), to, e.Data.EmailID, instantOf(e.CreatedAt), key, messageIDs(e.Data.Headers)...); ok {
			out = append(out, p)
		}
	}
	return out, nil
}
