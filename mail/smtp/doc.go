// Package smtp sends messages to a relay (RFC 5321, with PIPELINING, CHUNKING, STARTTLS and AUTH), or writes them to a
// folder.
//
//	sender.go       Sender, Source, Envelope: what the package and its caller expect of each other
//	client.go       Client: the settings of a relay; Deliver
//	session.go      one run of Deliver: commands, replies, and which envelope gets which outcome
//	stream.go       messages in chunks: several in one write
//	dial.go sasl.go the handshake: greeting, EHLO, STARTTLS, AUTH
//	wire.go         the connection: buffers, replies, dot-stuffing, deadlines
//	outcome.go      Outcome: what a reply means for the recipient
//	verdict.go      Verdict: what a refusal says of an address
//	relay_error.go  RelayError: what a fault means for the relay
//	try.go          Try: one message, and what became of it
//	probe.go        Probe: the handshake alone
//	directory.go    Directory: a file for each message
//
// A session with pipelining, where one write carries the end of a message and the commands of the next:
//
//	Source.Next ─► MAIL RCPT DATA ─► replies ─► Source.Commit ─► content and dot ─► reply ─► Source.Done
//	                                                             MAIL RCPT DATA of the next ─► …
//
// With CHUNKING (RFC 3030) content need not wait for a reply to the commands, so a write carries whole messages:
//
//	Source.Next ─► Source.Commit ─► … up to eight of them ─► MAIL RCPT BDAT content, RSET MAIL RCPT BDAT content, … ─►
//	all replies ─► Source.Done of each
//
// Invariants:
//
//   - Each envelope that Next returned gets exactly one outcome, whatever breaks.
//   - At most one final dot is unanswered, or as many chunks as went out in one write. If the connection breaks then, the
//     outcome is Ambiguous; in all other cases it is known whether the server took the message.
//   - What a relay says about itself (greeting, MAIL, 421, AUTH, TLS) never counts against a recipient.
//   - Credentials leave over TLS or to a loopback address only.
package smtp
