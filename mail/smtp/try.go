package smtp

import "context"

// Try sends one message, by DATA, and returns what became of it. An error is a *RelayError: the relay, and no recipient,
// is at fault.
func Try(ctx context.Context, s Sender, e *Envelope) (o Outcome, err error) {
	alone := *e
	alone.Alone = true // a relay that takes no chunks is found out by a message that then needs a second try
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
