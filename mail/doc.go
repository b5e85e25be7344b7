// Package mail creates messages from templates and recipients, as bytes for a relay.
//
// Messages:
//
//	message.go           Message, Compose: one transactional email
//	bulk.go append.go    BulkSpec; Bulk, compiled once per job; Bulk.Append, called once per recipient
//	content.go           JobSpec: a stored job as a BulkSpec
//	body.go              layout, footer and preheader
//	beginning.go         the part of an email that an inbox shows
//	header.go encode.go  header fields, quoted-printable, base64
//	ident.go             Ident: Message-ID, bounce and unsubscribe addresses that identify a recipient row
//	attach.go            Attachments: files that all messages of a job share
//	marks.go             header that identifies a message in a provider's events
//	attribute.go         AttributeText: decodes the value of an HTML attribute
//	track.go             tracked links and the pixel
//	poll.go              links that answer polls
//	foreign.go           ForeignTags: merge tags of other newsletter services, with replacements
//	inspect.go inspect_*.go   checks of an email before it is sent, such as links and placeholders without a default
//
// Templates:
//
//	template.go          Template: limits, errors, Append
//	lex.go parse.go expression.go filter.go  source, tokens, a flat list of nodes
//	context.go urlprefix.go  the HTML context of a placeholder, and its escaping
//	texturl.go           whether a placeholder is in a URL of the text part
//	fields.go placeholders.go   the fields and placeholders that a template uses
//	conditions.go        content that only some subscribers get
//	render.go value.go   values of a recipient, conditions, escaping
//	plain.go             HTML to text, keeping placeholders
//
// Related packages: smtp sends, dkim signs, notice renders transactional emails, and report parses bounces and
// provider events.
//
//	campaign ─► JobSpec ─► CompileBulk ─► Bulk ─┐
//	                                            ├─► Bulk.Append ─► dkim.Signer ─► smtp.Sender ─► relay ─► report
//	recipient row ─► Ident ─► Recipient ────────┘
//
// Invariants:
//
//   - A field value of a subscriber or tenant can't end a header, open a tag, or link to a scheme other than http,
//     https, mailto and tel. Values are escaped for their context, or the template is rejected.
//   - Lines end with CRLF, are 7-bit and have at most 76 octets in bodies. No line of a newsletter starts with a dot.
//   - Every newsletter has a one-click List-Unsubscribe (RFC 8058) and shows the unsubscribe link in both parts.
//   - The same input always gives the same output. The time is part of the input.
//   - Only Ident's key can create identifiers that are accepted when they return.
//
// # The template language
//
// The language is a subset of Liquid. Output: {{ path | filter: argument }}. Blocks: {% if %} {% elsif %} {% else %}
// {% endif %}, {% unless %} {% else %} {% endunless %}, {% comment %}, {% raw %}. Conditions: a single path, ==, !=,
// contains; and, or, evaluated from right to left as in Liquid. Missing, null, false, the empty string and the empty
// list count as false. A dash inside the braces trims the white space outside of them.
//
// Names: email, subscriber.id, subscriber.email, preferences.* (also preferences["any name"], preferences.list[0]),
// list.*, tenant.* and job.* (JobSpec sets their fields), unsubscribe_token, unsubscribe_url, view_url,
// preferences_url, poll_url.1.2 (option 2 of poll 1), and confirm_url. confirm_url prints nothing and causes a warning,
// because recipients of a job are already confirmed. Any other first name is an error. Any other field of a record is a
// warning.
//
// Filters: default, escape (has no effect, because all output is escaped), upcase, downcase, capitalize, truncate,
// date, url_encode.
//
// # Norms and their tests
//
//	octets, lines, encodings, boundaries (RFC 5321, 2045–2047)     checkWire, FuzzCompose, TestNoLineOfABulkMail…
//	each field once, none that is not ours (RFC 5322)              parseMail, TestBulkMessage, TestCompose, FuzzCompose
//	alternatives, the text first (RFC 2046)                        TestBulkMessage, TestPlainPart, TestPlainWords
//	header values survive unchanged, and add no fields             TestSubjects, TestBulkRefuses, FuzzCompose
//	third-party parsers                                            TestGoldenMailsParse
//	date, Message-ID, return address, one recipient, ASCII         worker TestMailsAsARelayGetsThem, TestIdent
//	List-Unsubscribe (RFC 8058, 2369), List-Id (2919), Feedback-ID TestBulkMessage, worker TestMailsAsARelayGetsThem
//	visible link and postal address                                TestFooter, TestJobsOwnUnsubscribeURL
//	transactional emails: Auto-Submitted, no List-*                TestCompose
//	DKIM (RFC 6376, 8301, 8463)                                    dkim TestSignedFields, TestSignatures, TestDkimpyVerifies
//	not spam                                                       notice TestSpamAssassin
//	SMTP (RFC 5321, 2920, 3207, 4954), each reply and each fault   smtp TestClient…, worker TestMisbehavingRelays
//	hostile templates                                              TestHostileTemplates, TestTemplateErrors, FuzzTemplate
//	events of providers                                            report TestProvider…, TestSNS…
//	bounces and reports (RFC 3464, 6533, 5965)                     report TestBounces, FuzzBounce
package mail
