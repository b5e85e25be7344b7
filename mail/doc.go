// Package mail turns a job's content and a recipient into a message, and the message into a delivery.
//
// # Rooms
//
//	sender.go    Sender, Source, Envelope, Outcome, RouteError: the contract with the workers
//	outcome.go   what a reply means for the recipient and for the route
//	capture.go   Directory: a .eml file a message
//	message.go   Message, Compose: one mail to one person
//	header.go    header fields: folding, encoded words, addresses
//	encode.go    quoted-printable and base64
//	ident.go     Ident: Message-ID, bounce and unsubscribe addresses that name a recipient row
//
// # Decisions
//
// 2026-11-21: Source is a struct of functions, so Sender stays the one interface. A worker fills in three closures.
//
// 2026-11-21: Deadlines of sockets need the clock, so smtp.go asks time.Now; nothing else here but the names of
// captured files does. A message's date is given.
//
// 2026-11-21: The directory transport keeps a resend beside the first copy instead of replacing it. The folder
// then shows what a mailbox would show; the hash of the Message-ID at the end of the name finds the pairs.
//
// 2026-11-21: Blanks at the end of each encoded piece and dots at a line's start are always encoded in
// quoted-printable, so pieces can be joined in any order and the wire seldom has to stuff a dot.
package mail
