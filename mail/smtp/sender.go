package smtp

import "context"

// Sender sends messages: Client over SMTP, Directory into a folder.
type Sender interface {
	// Deliver sends the envelopes of src over one connection at a time, which is made for the first envelope and
	// replaced when it is old. It returns nil when src is done or ctx is cancelled, after finishing what is in flight,
	// and a *RelayError when the relay fails. It may be called concurrently.
	Deliver(ctx context.Context, src *Source) error
}

// Envelope is one message ready to be sent. The caller may use it and its Data again after Source.Done.
type Envelope struct {
	// From is the address of MAIL FROM; empty is the null sender.
	From string
	// To is the address of RCPT TO.
	To string
	// Data is the message: lines end CRLF, not dot-stuffed, without the final dot.
	Data []byte
	// Tail follows Data, and is shared by many messages: whole lines, none of which begins with a dot. With one, Data ends
	// with CRLF. It is not changed.
	Tail []byte
	// Dotless means that no line of Data begins with a dot, as in what mail.Bulk.Append makes: none is looked for.
	Dotless bool
	// Alone means that the message goes by DATA, never in a chunk with others, for example because the connection broke
	// when it was sent before: with DATA less is uncertain where that happens again.
	Alone bool
	// Tag is the caller's own.
	Tag any
}

// Source feeds one connection. All its functions are called by the goroutine that runs Deliver.
type Source struct {
	// Next returns the next envelope, just before its MAIL is written, so the last check of the recipient belongs here.
	// If wait is false it must return at once, and false means that none is ready (pipelining asks so). If wait is
	// true it blocks until there is an envelope, the source is done, or ctx ends; a ctx that ends may only mean that
	// the connection was idle too long, and Next is then called again. The envelope belongs to Deliver until Done.
	Next func(ctx context.Context, wait bool) (*Envelope, bool)
	// Commit is called before the content of e is written. With wait it may block; nothing unanswered is open on the
	// connection meanwhile. If it returns false then, e is given up, with the outcome Untouched. Without wait others are
	// about to be written in front of e: it must return at once, and false means that e has to wait for their replies.
	// Commit is then called for e again.
	Commit func(e *Envelope, wait bool) bool
	// Ahead, if not nil, is called while a reply is on its way: time to make what Next will return. It must not block.
	Ahead func(ctx context.Context)
	// Done is called exactly once for each envelope that Next returned.
	Done func(e *Envelope, o Outcome)
}
