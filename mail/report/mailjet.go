package report

import "newsletterd/core"

// mailjetEvent is one event of Mailjet.
type mailjetEvent struct {
	Event      string    `json:"event"`
	Time       looseText `json:"time"`
	MessageID  looseText `json:"MessageID"`
	Email      string    `json:"email"`
	HardBounce bool      `json:"hard_bounce"`
	Error      string    `json:"error"`
	CustomID   string    `json:"CustomID"`
	Payload    string    `json:"Payload"`
}

// outcome returns what the event says.
func (e *mailjetEvent) outcome() core.ProviderEvent {
	switch e.Event {
	case "bounce":
		if e.HardBounce {
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

// parseMailjet reads one event or a batch.
func parseMailjet(r *Request) ([]core.ProviderReport, error) {
	events, err := readBatch[mailjetEvent](r)
	var out []core.ProviderReport
	for i := range events {
		e := &events[i]
		id := e.MessageID.String()
		key := core.ProviderKey("mailjet", id, e.Event, e.Time.String(), e.Email)
		if p, ok := reportOf(e.outcome(), e.Email, id, unixOf(e.Time), key, e.CustomID, e.Payload); ok {
			out = append(out, p)
		}
	}
	return out, err
}
