package smtp

import "context"

// Try sends one message with DATA and returns its outcome. If the relay is at fault rather than the recipient, it
// returns a *RelayError.
func Try(ctx context.Context, s Sender, e *Envelope) (o Outcome, err error) {
	alone := *e
	alone.Alone = true // with chunks, a relay that doesn't support them would need a second try
	next := &alone
	err = s.Deliver(ctx, &Source{
		Next: func(context.Context, bool) (*Envelope, bool) {
			one := next
			next = nil
			return one, one != nil
		},
		Commit: func(*Envelope, bool) bool { return true },
		Done:   func(_ *Envelope, became Outcome) { o = became },
	})
	return o, err
}
