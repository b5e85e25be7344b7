package report

import (
	"encoding/json"
	"strings"

	"newsletterd/core"
)

// sesMessage is the content of an SNS message from Amazon SES: an identity's notification (notificationType) or a
// configuration set's event (eventType).
type sesMessage struct {
	NotificationType string `json:"notificationType"`
	EventType        string `json:"eventType"`
	Mail             struct {
		MessageID     string      `json:"messageId"`
		Source        string      `json:"source"`
		Destination   []string    `json:"destination"`
		Headers       []nameValue `json:"headers"`
		CommonHeaders struct {
			MessageID string `json:"messageId"`
		} `json:"commonHeaders"`
		Tags map[string][]string `json:"tags"`
	} `json:"mail"`
	Bounce struct {
		Type       string         `json:"bounceType"`
		SubType    string         `json:"bounceSubType"`
		Recipients []sesRecipient `json:"bouncedRecipients"`
		Timestamp  string         `json:"timestamp"`
	} `json:"bounce"`
	Complaint struct {
		SubType      string         `json:"complaintSubType"`
		FeedbackType string         `json:"complaintFeedbackType"`
		Recipients   []sesRecipient `json:"complainedRecipients"`
		Timestamp    string         `json:"timestamp"`
	} `json:"complaint"`
	Delivery struct {
		Timestamp  string   `json:"timestamp"`
		Recipients []string `json:"recipients"`
	} `json:"delivery"`
	Open         sesSeen `json:"open"`
	Click        sesSeen `json:"click"`
	Subscription struct {
		Timestamp string `json:"timestamp"`
		Now       struct {
			All bool `json:"unsubscribeAll"`
		} `json:"newTopicPreferences"`
	} `json:"subscription"`
}

// sesRecipient is an address that bounced or complained.
type sesRecipient struct {
	Email  string `json:"emailAddress"`
	Status string `json:"status"`
	Reply  string `json:"diagnosticCode"`
}

// sender reports whether the sender was refused rather than the recipient.
func (r *sesRecipient) sender() bool { return refusesSender(r.Status, r.Reply) }

// sesSeen is the time of an open or click.
type sesSeen struct {
	Timestamp string `json:"timestamp"`
}

// sesOutcome is one outcome of a message, for one address.
type sesOutcome struct {
	outcome core.ProviderEvent
	email   string
	at      string
	sender  bool // the sender is at fault
}

// outcomes returns the outcomes in a message from SES, one or more for each address.
func (m *sesMessage) outcomes() (out []sesOutcome) {
	kind := m.EventType
	if kind == "" {
		kind = m.NotificationType
	}
	each := func(o core.ProviderEvent, at string, to []string) {
		for _, email := range to {
			out = append(out, sesOutcome{outcome: o, email: email, at: at})
		}
	}
	switch kind {
	case "Bounce":
		for _, r := range m.Bounce.Recipients {
			o := m.bounce(&r)
			out = append(out, sesOutcome{o, r.Email, m.Bounce.Timestamp, o == softBounced && r.sender()})
		}
	case "Complaint":
		for _, r := range m.Complaint.Recipients {
			out = append(out, sesOutcome{outcome: m.complaint(), email: r.Email, at: m.Complaint.Timestamp})
		}
	case "Delivery":
		each(delivered, m.Delivery.Timestamp, m.Delivery.Recipients)
	case "Open":
		each(opened, m.Open.Timestamp, m.Mail.Destination)
	case "Click":
		each(clicked, m.Click.Timestamp, m.Mail.Destination)
	case "Subscription":
		if m.Subscription.Now.All {
			each(unsubscribed, m.Subscription.Timestamp, m.Mail.Destination)
		}
	}
	return out
}

// bounce returns the outcome of a bounce for an address. SES calls a domain without a mail host (5.4.4) transient, but
// it is a hard bounce.
func (m *sesMessage) bounce(r *sesRecipient) core.ProviderEvent {
	if m.Bounce.Type == "Transient" && r.Status == "5.4.4" {
		return hardBounced
	}
	return bounceOf(m.Bounce.Type, m.Bounce.SubType, r.sender())
}

// complaint returns the outcome of a complaint.
func (m *sesMessage) complaint() core.ProviderEvent {
	switch {
	case m.Complaint.FeedbackType == "not-spam":
		return nothing
	case m.Complaint.SubType == "OnAccountSuppressionList":
		return suppressed
	}
	return complained
}

// names returns possible identifiers of the email: newsletterd's tag, Message-ID and return address.
func (m *sesMessage) names() []string {
	names := append([]string{}, m.Mail.Tags["nd"]...)
	names = append(names, messageIDs(m.Mail.Headers)...)
	return append(names, m.Mail.CommonHeaders.MessageID, bareAddress(m.Mail.Source))
}

// parseSES parses the message in an SNS notification. A message that is not from SES, such as a new topic's greeting,
// has no events.
func parseSES(r *Request) ([]core.ProviderReport, error) {
	var e snsEnvelope
	if err := readJSON(r.Body, &e); err != nil {
		return nil, err
	}
	var m sesMessage
	if e.Type != snsNotification || json.Unmarshal([]byte(e.Message), &m) != nil {
		return nil, nil
	}
	var out []core.ProviderReport
	for _, t := range m.outcomes() {
		key := core.ProviderKey("sns", e.MessageID, strings.ToLower(t.email))
		if p, ok := reportOf(t.outcome, t.email, m.Mail.MessageID, instantOf(t.at), key, m.names()...); ok {
			p.Sender = t.sender
			out = append(out, p)
		}
	}
	return out, nil
}

// QueueID returns the id that Amazon SES assigned to an email, from the reply "Ok 0100018f-…" to the message. By
// default, SES events contain no headers and identify the email only by this id. For all other kinds of providers,
// QueueID returns an empty string.
func QueueID(kind, reply string) string {
	if kind != "ses" {
		return ""
	}
	id, ok := strings.CutPrefix(reply, "Ok ")
	if id = strings.TrimSpace(id); !ok || len(id) < 20 || len(id) > 100 || strings.ContainsAny(id, " <>@") {
		return ""
	}
	return id
}
