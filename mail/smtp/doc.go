// Package smtp sends messages to a relay (RFC 5321, with PIPELINING, CHUNKING, STARTTLS and AUTH), or writes them to
// a folder.
//
//	sender.go       Sender, Source, Envelope: the interface between the package and its callers
//	client.go       Client: a relay's settings; Deliver
//	session.go      one run of Deliver: commands, replies, and each envelope's outcome
//	stream.go       messages in chunks: several in one write
//	dial.go sasl.go the handshake: greeting, EHLO, STARTTLS, AUTH
//	wire.go         the connection: buffers, replies, dot-stuffing, deadlines
//	outcome.go      Outcome: what a reply means for the recipient
//	verdict.go      Verdict: what a refusal means for an address
//	relay_error.go  RelayError: what a fault means for the relay
//	try.go          Try: sends one message and returns its outcome
//	probe.go        Probe: only the handshake
//	directory.go    Directory: a file for each message
//
// In a session with pipelining, one write contains the end of a message and the commands of the next:
//
//	Source.Next ─► MAIL RCPT DATA ─► replies ─► Source.Commit ─► content and dot ─► reply ─► Source.Done
//	                                                             MAIL RCPT DATA of the next ─► …
//
// With CHUNKING (RFC 3030), content need not wait for replies to the commands, so a write contains whole messages:
//
//	Source.Next ─► Source.Commit ─► … up to eight of them ─► MAIL RCPT BDAT content, RSET MAIL RCPT BDAT content, … ─►
//	all replies ─► Source.Done of each
//
// Invariants:
//
//   - Each envelope that Next returns gets exactly one outcome, even after any failure.
//   - At most one final dot is unanswered, or as many chunks as were sent in one write. If the connection breaks
//     then, the outcome is Ambiguous. In all other cases it is known whether the server accepted the message.
//   - A reply about the relay itself (greeting, MAIL, 421, AUTH, TLS) never counts against a recipient. After 421 to
//     its own RCPT, DATA or final dot, Outcome.Lost is set.
//   - Credentials are only sent over TLS or to a loopback address.
package smtp
