package report

import "newsletterd/core"

// mailjetEvent is one Mailjet event.
type mailjetEvent struct {
	Event      string    `json:"event"`
	Time       looseText `json:"time"`
	MessageID  looseText `json:"MessageID"`
	Email      string    `json:"email"`
	HardBounce bool      `json:"hard_bounce"`
	Error      string    `json:"error"`
	Related    string    `json:"error_related_to"`
	CustomID   string    `json:"CustomID"`
	Payload    string    `json:"Payload"`
}

// sender reports whether the failure is the fault of the sender, the email or Mailjet rather than the recipient. If
// Mailjet no longer sends to the address (preblocked), that counts as the recipient's fault.
func (e *mailjetEvent) sender() bool {
	switch e.Error {
	case "preblocked":
		return false
	case "sender blocked", "content blocked", "policy issue", "spam blocked", "spam preblocked", "duplicate in campaign":
		return true
	}
	switch e.Related {
	case "mailjet", "content", "policy", "spam":
		return true
	}
	return false
}

// outcome returns the event's outcome.
func (e *mailjetEvent) outcome() core.ProviderEvent {
	switch e.Event {
	case "bounce":
		if e.HardBounce && !e.sender() {
			return hardBounced
		}
		return softBounced
	case "blocked":
		if e.Error == "preblocked" {
			return suppressed
		}
		return softBounced
	case "spam":
		return complained
	case "sent":
		return delivered
	case "open":
		return opened
	case "click":
		return clicked
	case "unsub":
		return unsubscribed
	}
	return nothing
}

// parseMailjet parses one event or a batch.
func parseMailjet(r *Request) ([]core.ProviderReport, error) {
	events, err := readBatch[mailjetEvent](r)
	var out []core.ProviderReport
	for i := range events {
		e := &events[i]
		id := e.MessageID.String()
		key := core.ProviderKey("mailjet", id, e.Event, e.Time.String(), e.Email)
		if p, ok := reportOf(e.outcome(), e.Email, id, unixOf(e.Time), key, e.CustomID, e.Payload); ok {
			p.Sender = p.Event.Type == softBounced.Type && e.sender()
			out = append(out, p)
		}
	}
	return out, err
}
