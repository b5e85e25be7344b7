package smtp

import "context"

// Sender sends messages. A Client sends them through SMTP; a Directory writes them to a folder.
type Sender interface {
	// Deliver sends the envelopes of src over one connection at a time. It opens the connection for the first
	// envelope, and replaces it when it is old. It returns nil when src is done or ctx is canceled, after finishing
	// the messages in flight. If the relay fails, it returns a *RelayError. It may be called concurrently.
	Deliver(ctx context.Context, src *Source) error
}

// Envelope is a message that is ready to send. After Source.Done, the caller may reuse the Envelope and its Data.
type Envelope struct {
	// From is the address of MAIL FROM; empty: the null sender.
	From string
	// To is the address of RCPT TO.
	To string
	// Data is the message: lines end with CRLF, without dot stuffing and final dot.
	Data []byte
	// Tail follows Data and may be shared by many messages. It consists of whole lines that don't start with a dot.
	// Unless it is empty, Data ends with CRLF. Deliver does not modify it.
	Tail []byte
	// Dotless means that no line in Data starts with a dot, as in mail.Bulk.Append's result, so Deliver needn't look
	// for such lines.
	Dotless bool
	// Alone makes Deliver send the message with DATA, never in a chunk. Set it if the connection broke during an
	// earlier attempt: if that happens again, fewer outcomes are uncertain with DATA.
	Alone bool
	// Tag is for the caller's use.
	Tag any
}

// Source provides the envelopes for one connection. All its functions are called by the goroutine that runs Deliver.
type Source struct {
	// Next returns the next envelope just before its MAIL is written, so the last check of the recipient belongs here.
	// If wait is false, it must not block, and returns false if none is ready (used for pipelining). If wait is true,
	// it blocks until there is an envelope, the source is done, or ctx ends. If ctx ended only because the connection
	// was idle too long, Next is called again. The envelope belongs to Deliver until Done.
	Next func(ctx context.Context, wait bool) (*Envelope, bool)
	// Commit is called before the content of e is written. If wait is true, it may block, and nothing on the connection
	// is unanswered meanwhile. If it returns false, e is dropped with the outcome Untouched. If wait is false, other
	// messages are about to be written before e. Commit must not block in this case, and false means that e waits for
	// their replies, after which Commit is called again.
	Commit func(e *Envelope, wait bool) bool
	// Ahead, if not nil, is called while a reply is pending, to prepare the next result of Next. It must not block.
	Ahead func(ctx context.Context)
	// Done is called exactly once for each envelope that Next returned.
	Done func(e *Envelope, o Outcome)
}
