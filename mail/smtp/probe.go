package smtp

import "context"

// Probe connects to the relay like Deliver (greeting, TLS, AUTH) and disconnects without sending an email. An error
// is a *RelayError that names the stage.
func (c *Client) Probe(ctx context.Context) error {
	s := &session{client: c, ctx: ctx, timeouts: c.Timeouts.filled()}
	w, fault := s.connect()
	if fault != nil {
		return fault
	}
	s.wire = w
	s.hangUp()
	return nil
}
