// Package core holds the nouns of newsletterd and the rules about them. It imports the standard library,
// google/uuid and x/net/idna only: no I/O, no context, no SQL, no HTTP. A rule is a method on a value; it is pure and
// takes the time as an argument. store, handlers, workers and the command line all obey the same rules.
//
// # Vocabulary
//
// One term for each concept, for the whole program. People and what they own:
//
//	tenant          a customer of the service; owns lists, clients, relays, templates
//	user            a person with a login; a role makes one an operator or the administrator of a tenant
//	operator        who runs the daemon: a user with that role, or a command line on the machine
//	client          an OAuth client
//	caller          who authenticated this request: a user by a token, or a client
//	family          one sign-in of a user at a client, with all tokens that came of it; revoked as a whole
//	browser         a browser in which a user is signed in here; it holds a session
//	session         the cookie of a browser, and the data stored for it
//	scope           what a token may be used for
//	epoch           a number of a user; raising it ends everything that was issued so far
//	device, agent   a user's machine, and the program on it; a representative device speaks for its owner
//	model           an uploaded file in the library, with a visibility; a share lets one more person see it
//
// The member side, which subscribers deal with:
//
//	list            a newsletter list
//	subscription    an address on a list: pending, active or unsubscribed; its id is derived from both
//	generation      counts the subscriptions of an address to a list, so that old tokens are void
//	proof           how a consent was proved: by mail, by the answer, by import, by an operator, by an undo
//	consent         a line of the ledger: what was agreed to or withdrawn, when, from where and by which proof
//	origin          where a request came from: source, remote address, user agent
//	field           what a list asks its subscribers; preferences: their answers
//	undo            an unsubscribe taken back by a link
//	disabled        an address switched off by its person or an operator, everywhere or for a tenant
//	erased          a person whose data were removed; a keyed hash of the address stays
//
// Between the two sides:
//
//	event           a change of a subscription, on its way to a receiver; one row of the outbox for each receiver
//	receiver        the send service, or an endpoint
//	endpoint        a URL of a tenant that receives events
//	webhook client  another member service that may feed lists here; it signs its requests
//	full sync       a list copied whole in batches, batch_no of batch_total
//	dead letter     an event that is not tried any more until an operator asks for it
//	drift           how the two sides of a list differ
//
// The send side, which mails go out from:
//
//	subscriber      the copy of a subscription on the send side: the member side's status, and a block
//	block           what stands against mailing a subscriber: bounced, complaint or suppressed
//	suppression     an address that must not be mailed by a tenant
//	campaign        content and settings: subject, bodies, template, tracking
//	send job        one sending of a campaign to a list; job for short
//	frozen content  what a job sends, as it was when the job was made
//	window          the delivery window of a job: from when until when it may send
//	recipient       one subscriber of one job: queued, deferred, sent, failed or skipped
//	deferred        refused for the moment; tried again later
//	ambiguous       sent, but the reply was lost; sent once more
//	claim           a recipient that was read to be mailed; claims of a range are read at once
//	attempt         one try to deliver a message or an event, with its outcome
//	outcome         what became of a recipient in one attempt
//	stop rule       when a job is paused because too many of its mails bounce
//	dispatcher      what hands claims to the connections of relays
//	connection      one SMTP connection of the daemon to a relay
//	relay           an SMTP server that takes mails from here; a relay group: those of one tenant
//	pace            how fast messages may go out, for each relay, domain or tenant
//	period          the time over which a rate limit counts; it glides
//	quota           what may go out in a day; it is leased in parts and survives a restart
//	message         what goes over SMTP
//	mail            a transactional mail in the queue: confirmations, passwords, notices
//	engagement      an open or a click, by a person or a machine
//	mail provider   a service that reports what became of mails; a report: one such event
//
// Everywhere:
//
//	record          a row of the database as a value of Go
//	claim, finish, release   take work; record its outcome; give it back
//	seen            ids and nonces that were accepted already
//	token           code, access, refresh, id, confirm, unsubscribe, reset, verify, by kind; …Hash is the stored form
//	secret          a shared HMAC key or client secret; key: a signing key with a kid
//	purpose key     a key that the database derives or keeps for one purpose
//	instant         integer milliseconds since 1970 UTC; 0 means never
//	replica         the database in a bucket; a lease says which machine may write to it
//	drill           a try to restore the database from the replica, which is compared and thrown away
//
// # Files
//
// A file holds a noun with its rules and is named after it: sendjob.go has SendJob.
//
// Tenants and what they own:
//
//	tenant.go brand.go team.go invitation.go roles.go caller.go   tenants, their teams, roles and rights
//	list.go listwithtenant.go field.go counts.go hygiene.go   lists, their fields, counts and inactive subscribers
//	template.go theme.go color.go mailtext.go testgroup.go zone.go   what emails are made of; languages; time zones
//	relay.go mailserver.go relaytest.go pace.go   relays, the server's own, and their limits
//	restore.go                      deleted tenants and lists
//	why.go                          why an address got no email
//	senderdomain.go domainrecords.go dnshost.go dkim.go freemail.go   sender domains, DNS records and keys
//	media.go attachment.go bytesize.go   pictures and attachments, and their sizes
//	provider.go providerevent.go bounces.go failure.go   mail providers, their events, bounces
//	endpoint.go webhookclient.go summaryevent.go   webhook endpoints and webhook sources
//
// Identity and devices:
//
//	user.go signin.go proof.go secondfactor.go passkey.go   users and how they sign in
//	client.go made.go authcode.go token.go signingkey.go   OAuth clients, codes, tokens and keys
//	device.go agent.go model.go share.go   devices and models
//
// The member side, and imports:
//
//	subscription.go confirm.go preferences.go trackingconsent.go   subscriptions and consent
//	event.go outbox.go mail.go sync.go drift.go pendingdisable.go   what is on its way
//	importjob.go importundo.go importleaving.go fieldsbefore.go columnnames.go evidence.go   imports
//	person.go   whose data an export or an erasure means
//
// The send side:
//
//	campaign.go campaignfields.go campaigncheck.go fieldcoverage.go utm.go   campaigns and their checks
//	approval.go digest.go frozen.go correction.go   what an approval covers, what is sent, what is fixed after sending
//	narrowing.go firstfew.go openinghours.go issue.go   recipients that are left out, first recipients, the archive
//	sendjob.go jobkeys.go jobview.go stoprule.go recipient.go   jobs and recipients
//	subscriber.go suppression.go   subscribers and the suppression list
//	tracking.go machine.go figures.go   opens, clicks, automated ones, and figures
//
// Everywhere:
//
//	errors.go id.go instant.go page.go strings.go listed.go jsonscanner.go   errors, ids, times, pages of a list, texts,
//	                                                                         columns, JSON
//	email.go domaintypo.go editdistance.go   addresses and typing errors in them
//	audit.go finding.go drill.go   the audit log, findings of doctor, restore tests
package core
