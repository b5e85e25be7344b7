// Package report parses feedback about sent emails: webhooks of email providers, and bounce messages.
//
//	provider.go   Hook verifies a Request, Kind.Reports parses its events; settle
//	kinds.go      Kinds: the table of providers, and code shared by their files
//	mailgun.go mailjet.go postmark.go resend.go sendgrid.go ses.go   one provider each
//	sns.go        Amazon SNS messages: signature, certificate, confirmation
//	bounce.go     ParseBounce: delivery status (RFC 3464), feedback (RFC 5965), unsubscribe requests
//	bouncetext.go nonstandard bounces
//	autoreply.go  automatic replies, and signs of a bounce
//	lmtp.go       BounceServer: the LMTP listener for bounce messages
//
// Both paths result in a core.ProviderReport, whose Names identify the recipient row (mail.Ident.Recipient):
//
//	webhook ─► Hook.Verify ─► Kind.Reports ─┐
//	                                        ├─► core.ProviderReport ─► mail.Ident.Recipient ─► store
//	LMTP ─► BounceServer ─► ParseBounce ────┘
//
// Invariants:
//
//   - No webhook content is used before its signature or secret is verified.
//   - A bounce message is trusted only for identifiers that we created (return address, Message-ID, unsubscribe
//     address), never for the addresses in it.
//   - Two reports of the same event have the same Key.
//   - An unknown event is not an error: providers report more than we use.
//
// A new provider needs a file with a verify and a parse function, a line in kinds, and a file of payloads in
// testdata/providers. If its events don't contain our Message-ID, it also needs a line in mail/marks.go.
package report
