package mail

import "context"

// Probe connects to the relay as a delivery does: greeting, TLS as demanded, AUTH; and says goodbye. It mails nothing.
// The error is a *RouteError that names the stage.
func (s *SMTP) Probe(ctx context.Context) error {
	l := &lane{smtp: s, ctx: ctx, timeouts: s.Timeouts.filled()}
	c, fault := l.connect()
	if fault != nil {
		return fault
	}
	l.c = c
	l.hangUp()
	return nil
}
