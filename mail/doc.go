// Package mail turns a job's content and a recipient into a message, and the message into a delivery.
//
// # Rooms
//
// Messages:
//
//	message.go     Message, Compose: one mail to one person
//	bulk.go        BulkSpec → Bulk, compiled once a job; Bulk.Append, once a recipient
//	content.go     JobSpec: a stored job as a BulkSpec
//	body.go        layout, footer and preheader
//	header.go encode.go  header fields, quoted-printable, base64
//	ident.go       Ident: Message-ID, bounce and unsubscribe addresses that name a recipient row
//
// Templates:
//
//	template.go    Template: limits, errors, Append
//	lex.go parse.go expression.go filter.go  source → tokens → a flat list of nodes
//	context.go     where in the HTML a placeholder stands, and how it is escaped there
//	render.go value.go  values of a recipient, conditions, escaping
//	plain.go       HTML → text, keeping placeholders
//
// Tracking:
//
//	track.go       links and pixel, put into the tokens between lexing and compiling (bodyTokens)
//
// # The template language
//
// A subset of Liquid. Output: {{ path | filter: argument }}. Blocks: {% if %} {% elsif %} {% else %} {% endif %},
// {% unless %} {% else %} {% endunless %}, {% comment %}, {% raw %}. Conditions: a path alone, ==, !=, contains; and, or, read from
// right to left as Liquid does. Missing, null, false, the empty text and the empty list count as false. A dash inside the braces
// trims the white space beside them.
//
// Names: email, subscriber.id, subscriber.email, preferences.* (also preferences["any name"], preferences.list[0]), list.id,
// list.name, tenant.id, tenant.name, tenant.postal_address, job.id, job.name, job.subject, unsubscribe_token, unsubscribe_url,
// view_url, preferences_url, and confirm_url, which prints as nothing and is a warning: whoever gets a job's mail is confirmed.
// Any other first name is an error; any other field of a record a warning.
//
// Filters: default, escape (changes nothing: all output is escaped), upcase, downcase, capitalize, truncate, date, url_encode.
//
// # Norms and the tests that hold mails against them
//
//	octets, lines, encodings, charset, boundaries (RFC 5321, 2045–2047)   checkWire, FuzzCompose, TestNoLineOfABulkMailBeginsWithADot
//	each field once, none that is not ours (RFC 5322)                      parseMail, TestBulkMessage, TestCompose, FuzzCompose
//	alternatives, the text first; the text of the HTML (RFC 2046)          TestBulkMessage, TestPlainPart, TestPlainWords
//	what goes into headers comes out of them, and nothing else             TestSubjects, TestBulkRefuses, FuzzCompose
//	parsers of others                                                      TestGoldenMailsParse
//	date, Message-ID, return address, one recipient, ASCII alone           worker TestMailsAsARelayGetsThem, TestIdent
//	List-Unsubscribe (RFC 8058, 2369), List-Id (2919), Feedback-ID         TestBulkMessage, worker TestMailsAsARelayGetsThem
//	the post to the one-click address                                      handlers, testdata/api/newsletter
//	visible link and postal address                                        TestFooter, TestJobsOwnUnsubscribeURL
//	mails to one: Auto-Submitted, no List-*                                TestCompose
//	DKIM (RFC 6376, 8301, 8463): what is signed, and by two verifiers      mail/dkim TestSignedFields, TestSignatures, TestDkimpyVerifies
//	not spam                                                               mail/notice TestSpamAssassin
//	SMTP (RFC 5321, 2920, 3207, 4954), each reply and each fault           mail/smtp TestClient…, worker TestMisbehavingRelays, TestRelaysThatLetNobodyIn
//	hostile templates                                                      TestHostileTemplates, TestTemplateErrors, FuzzTemplate
//	events of providers, as their table says                               mail/report TestProviderPayloads, TestProviderSignatures, TestSNS…
//	bounces and reports (RFC 3464, 6533, 5965)                             mail/report TestBounces, FuzzBounce
//
// # Decisions
//
// 2026-11-21: Notices are made of words (texts/words, one file a language) and one template, so that a language is one file
// and a tenant's own wording takes the place of a text; the link is never the wording's to leave out. Those to subscribers have
// their list's language, those about an account that of the tenant on whose behalf they go out, else the browser's.
//
// 2026-11-21: Source is a struct of functions, so Sender stays the one interface. A worker fills in three closures.
//
// 2026-11-21: Deadlines of sockets need the clock, so the client asks time.Now; nothing else here but the names of
// captured files does. A message's date is given.
//
// 2026-11-21: A refusal of Commit cuts the connection: in DATA the protocol knows no other way not to send. It is rare
// enough (a recipient who leaves within one round trip).
//
// 2026-11-21: A 421 or a cut connection on the first command after an idle time is no fault of the route: servers hang up
// on the idle. The lane connects again, once, without a word.
//
// 2026-11-21: 5.2.2 (mailbox full), and a bare 552 at RCPT, count as Later: RFC 5321 section 4.5.3.1.10 asks for it.
//
// 2026-11-21: The directory transport keeps a resend beside the first copy instead of replacing it. The folder
// then shows what a mailbox would show; the hash of the Message-ID at the end of the name finds the pairs.
//
// 2026-11-21: Blanks at the end of each encoded piece and dots at a line's start are always encoded in
// quoted-printable, so pieces can be joined in any order and the wire seldom has to stuff a dot. Each static piece begins
// a line of its own behind a value: that costs three octets a placeholder and makes encoding beforehand possible.
//
// 2026-11-21: Own HTML-to-text instead of k3a/html2text: the text must be a template again, and placeholders and blocks must
// keep their order, which a walk over the tokens gives.
//
// 2026-11-21: The boundary is made of the Message-ID's token, which nobody can guess (its MAC), and of "=_", which no encoded
// text contains.
//
// 2026-11-21: Feedback-ID carries the last 12 characters of each id: whole UUIDs would make a line of 140 octets that can't
// be folded.
//
// 2026-11-21: Where several tenants use one make of provider, each has a provider of its own name: it is the credential of
// mail.md's second path segment. An event without tenant (a provider of all) is of the mail that it names, or of the newest mail
// to the address within 30 days, or of the only tenant that knows the address; else nobody's.
//
// 2026-11-21: What a provider sends twice is known by the provider's own id, in 16 octets of SHA-256. SNS and SendGrid may be an
// hour late and Mailgun twelve, for they keep their time when they try again; that an event counts once makes a replay harmless.
//
// 2026-11-21: An event's body has 256 KiB at most, as one event needs; SendGrid and Mailjet send batches, which have 1 MiB.
//
// 2026-11-21: A mail that came back is believed for the names in it that only we can make (return address, Message-ID,
// unsubscribe address), never for the addresses it names; whom it is about stands in our own books. A status is a hard bounce by
// the same codes as a reply of a relay. A bounce of no form counts as soft.
//
// 2026-11-21: The LMTP listener takes every recipient and every mail: to refuse a bounce would bounce it to nobody.
//
// 2026-11-21: What providers call an unsubscribe ends the subscription that the mail was sent for. A machine's open or click is
// counted as one, and apart.
//
// 2026-11-21: Every route fault up to and including MAIL leaves the recipient untouched, 5xx at MAIL too: it speaks of the
// sender, whom all recipients of the job share.
package mail
