// Package mail makes messages: templates and a recipient in, octets for a relay out.
//
// Messages:
//
//	message.go           Message, Compose: one mail to one person
//	bulk.go append.go    BulkSpec; Bulk, compiled once a job; Bulk.Append, once a recipient
//	content.go           JobSpec: a stored job as a BulkSpec
//	body.go              layout, footer and preheader
//	beginning.go         what an inbox shows of a mail
//	header.go encode.go  header fields, quoted-printable, base64
//	ident.go             Ident: Message-ID, bounce and unsubscribe addresses that name a recipient row
//	attach.go            Attachments: files that all mails of a job share
//	marks.go             the header by which a provider's events name a mail
//	attribute.go         AttributeText: what the value of an HTML attribute means
//	track.go             tracked links and the pixel
//	foreign.go           ForeignTags: merge tags of other programs, with what to write instead
//	inspect.go inspect_*.go   checks of an email before it is sent: links, placeholders without a default
//
// Templates:
//
//	template.go          Template: limits, errors, Append
//	lex.go parse.go expression.go filter.go  source, tokens, a flat list of nodes
//	context.go urlprefix.go  where in the HTML a placeholder is, and how it is escaped there
//	texturl.go           whether it stands in an address of the text part
//	fields.go placeholders.go   the fields and placeholders that a template uses
//	conditions.go        what only some readers get
//	render.go value.go   values of a recipient, conditions, escaping
//	plain.go             HTML to text, keeping placeholders
//
// The packages below do the rest: smtp sends, dkim signs, notice renders transactional mails, report reads what comes
// back.
//
//	campaign ─► JobSpec ─► CompileBulk ─► Bulk ─┐
//	                                            ├─► Bulk.Append ─► dkim.Signer ─► smtp.Sender ─► relay ─► report
//	recipient row ─► Ident ─► Recipient ────────┘
//
// Invariants:
//
//   - Whatever a subscriber or a tenant puts into a field, it ends no header, opens no tag and leads to no scheme but
//     http, https, mailto and tel: values are escaped for where they are, or the template is refused.
//   - Lines end CRLF, are 7-bit and at most 76 octets in bodies, and none in a newsletter begins with a dot.
//   - Every newsletter has List-Unsubscribe with one click (RFC 8058) and shows the unsubscribe link in both parts.
//   - The same input gives the same octets; the time is an input.
//   - Only the key of Ident makes names that are believed when they come back.
//
// # The template language
//
// A subset of Liquid. Output: {{ path | filter: argument }}. Blocks: {% if %} {% elsif %} {% else %} {% endif %}, {%
// unless %} {% else %} {% endunless %}, {% comment %}, {% raw %}. Conditions: a path alone, ==, !=, contains; and,
// or, read from right to left as Liquid does. Missing, null, false, the empty text and the empty list count as false.
// A dash inside the braces trims the white space outside of them.
//
// Names: email, subscriber.id, subscriber.email, preferences.* (also preferences["any name"], preferences.list[0]),
// list.id, list.name, tenant.id, tenant.name, tenant.postal_address, job.id, job.name, job.subject,
// unsubscribe_token, unsubscribe_url, view_url, preferences_url, and confirm_url, which prints as nothing and is a
// warning: recipients of a job are confirmed. Any other first name is an error; any other field of a record a
// warning.
//
// Filters: default, escape (changes nothing: all output is escaped), upcase, downcase, capitalize, truncate, date,
// url_encode.
//
// # Norms and their tests
//
//	octets, lines, encodings, boundaries (RFC 5321, 2045–2047)     checkWire, FuzzCompose, TestNoLineOfABulkMail…
//	each field once, none that is not ours (RFC 5322)              parseMail, TestBulkMessage, TestCompose, FuzzCompose
//	alternatives, the text first (RFC 2046)                        TestBulkMessage, TestPlainPart, TestPlainWords
//	what goes into headers comes out of them, and nothing else     TestSubjects, TestBulkRefuses, FuzzCompose
//	parsers of others                                              TestGoldenMailsParse
//	date, Message-ID, return address, one recipient, ASCII         worker TestMailsAsARelayGetsThem, TestIdent
//	List-Unsubscribe (RFC 8058, 2369), List-Id (2919), Feedback-ID TestBulkMessage, worker TestMailsAsARelayGetsThem
//	visible link and postal address                                TestFooter, TestJobsOwnUnsubscribeURL
//	mails to one: Auto-Submitted, no List-*                        TestCompose
//	DKIM (RFC 6376, 8301, 8463)                                    dkim TestSignedFields, TestSignatures, TestDkimpyVerifies
//	not spam                                                       notice TestSpamAssassin
//	SMTP (RFC 5321, 2920, 3207, 4954), each reply and each fault   smtp TestClient…, worker TestMisbehavingRelays
//	hostile templates                                              TestHostileTemplates, TestTemplateErrors, FuzzTemplate
//	events of providers                                            report TestProvider…, TestSNS…
//	bounces and reports (RFC 3464, 6533, 5965)                     report TestBounces, FuzzBounce
package mail
