// Package report reads what comes back after a mail was sent: the webhooks of mail providers, and mails that come back.
//
//	provider.go   Hook checks a Request, Kind.Reports reads its events; settle
//	kinds.go      Kinds: the table of providers, and what their files share
//	mailgun.go mailjet.go postmark.go resend.go sendgrid.go ses.go   one provider each
//	sns.go        messages of Amazon SNS: signature, certificate, confirmation
//	bounce.go     ParseBounce: delivery status (RFC 3464), feedback (RFC 5965), requests to unsubscribe
//	bouncetext.go bounces of no standard form
//	autoreply.go  automatic replies, and the signs of a bounce
//	lmtp.go       BounceServer: the LMTP listener for mails that come back
//
// Both ways end in a core.ProviderReport, whose Names lead to the recipient row (mail.Ident.Recipient):
//
//	webhook ─► Hook.Verify ─► Kind.Reports ─┐
//	                                        ├─► core.ProviderReport ─► mail.Ident.Recipient ─► store
//	LMTP ─► BounceServer ─► ParseBounce ────┘
//
// Invariants:
//
//   - Nothing of a webhook is read before its signature or secret is checked.
//   - A mail that comes back is believed for names that only we can make (return address, Message-ID, unsubscribe
//     address), never for the addresses in it.
//   - The same event reported twice has the same Key.
//   - An unknown event is no error: providers report more than we use.
//
// A new provider is a file with a verify and a parse function, a line in kinds, a file of payloads in
// testdata/providers, and a line in mail/marks.go if its events don't carry our Message-ID.
package report
