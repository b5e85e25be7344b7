// Package core holds the domain types of newsletterd and their rules. It imports only the standard library,
// google/uuid and x/net/idna, and uses no I/O, contexts, SQL or HTTP. A rule is a method on a value: it is pure and
// gets the time as an argument. store, handlers, workers and the command line all use the same rules.
//
// # Vocabulary
//
// The whole program uses one term for each concept. People and what they own:
//
//	tenant          a customer of the service; owns lists, clients, relays, templates
//	user            a person with a login; roles make a user an operator or a member of a tenant's team
//	operator        a server administrator: a user with that role, or a command on the server
//	client          an OAuth client
//	caller          the authenticated sender of a request: a user with a token, or a client
//	family          one sign-in of a user at a client, with all tokens issued for it; revoked as a whole
//	browser         a browser in which a user is signed in to newsletterd; it holds a session
//	session         the cookie of a browser, and the data stored for it
//	known browser   a browser with the cookie of an earlier sign-in of the user; auth calls it Device
//	scope           what a token permits
//	epoch           a user's counter; incrementing it invalidates everything issued so far
//	device, agent   a user's machine (not a browser), and the program on it; a representative device speaks for its
//	                owner
//	model           an uploaded file in the library, with a visibility; a share lets one more person see it
//
// The member side, which subscribers deal with:
//
//	list            a newsletter list
//	subscription    an address on a list: pending, active or unsubscribed; its id is derived from both
//	generation      counts how often an address subscribed to a list, to invalidate old tokens
//	proof           how consent was proved: by email, by the response, by import, by an operator, by an undo
//	consent         a ledger entry: what was agreed to or withdrawn, when, from where and with which proof
//	origin          where a request came from: source, remote address, user agent
//	field           something a list asks its subscribers for; preferences: their values
//	undo            an unsubscribe that was undone by a link
//	disabled        an address blocked by its owner or an operator, everywhere or for a tenant
//	erased          a person whose data was erased; a keyed hash of the address remains
//
// Between the two sides:
//
//	event           a subscription change that a receiver must get; one outbox row per receiver
//	receiver        the send service, or an endpoint
//	endpoint        a tenant's URL that receives events
//	webhook client  a webhook source: another member service that may feed lists; it signs its requests
//	full sync       a complete copy of a list, in batches (batch_no of batch_total)
//	dead letter     an event that is retried only if an operator requests it
//	drift           the differences between the two sides of a list
//
// The send side, which sends the emails:
//
//	subscriber      the copy of a subscription on the send side: the member side's status, and a block
//	block           why a subscriber must not be emailed: bounced, complaint or suppressed
//	suppression     an address that a tenant must not email
//	segment, rule   a rule about subscribers, saved under a name; its conditions are leaves
//	inlined         a rule in which each reference to a segment is replaced by that segment's rule
//	campaign        content and settings: subject, bodies, template, tracking
//	draft           the state of a campaign before review and approval; campaigns.Draft: a version, compiled
//	version         a campaign as saved; an approval or a send names one
//	poll            a question in a campaign, with options; an answer is the option that a subscriber chose
//	media           an image or a document that a tenant stores for its emails
//	send job        one send of a campaign to a list; job for short
//	frozen copy     the content that an approval or a job has fixed (CampaignCopy); it never changes
//	frozen content  the sender, names, texts and template fixed with it (FrozenContent)
//	window          the delivery window of a job: the time in which it may send
//	recipient       one subscriber of one job: queued, deferred, sent, failed or skipped
//	deferred        temporarily refused, and retried later
//	ambiguous       sent, but the reply was lost; sent again
//	claim           a recipient that a worker has read to email it; a range of recipients is claimed together
//	attempt         one try to deliver a message or an event, with its outcome
//	outcome         the result of an attempt for a recipient
//	stop rule       pauses a job if too many of its emails bounce
//	dispatcher      distributes claims to the connections of relays
//	connection      one SMTP connection of the daemon to a relay
//	relay           an SMTP server that sends the emails; a relay group: the relays of one tenant
//	pace            how fast messages may be sent, for each relay, domain or tenant
//	period          the time over which a rate limit counts; a sliding window
//	quota           how many messages may be sent in a day; it is leased in parts and survives a restart
//	message         what is sent over SMTP
//	mail            a transactional email in the queue: confirmations, passwords, notices
//	engagement      an open or a click, by a person or a machine
//	mail provider   a service that reports delivery events; a report: one such event
//
// Everywhere:
//
//	room            a package with everything for one area: its tables below store, its endpoints below handlers
//	record          a row of the database as a Go value
//	claim, finish, release   take work; record its outcome; give it back
//	seen            ids and nonces that were already accepted
//	token           code, access, refresh, id, confirm, unsubscribe, reset, verify, by kind; …Hash is the stored form
//	secret          a shared HMAC key or client secret; key: a signing key with a kid
//	purpose key     a key that the database derives or stores for one purpose
//	instant         integer milliseconds since 1970 UTC; 0 means never
//	replica         the database in a bucket; a lease says which machine may write to it
//	drill           a restore test: the database is restored from the replica, compared and discarded
//
// # Files
//
// A file holds a type with its rules and is named after it: sendjob.go has SendJob.
//
// Tenants and what they own:
//
//	tenant.go brand.go team.go invitation.go roles.go caller.go   tenants, their teams, roles and rights
//	list.go listwithtenant.go field.go fieldsetby.go   lists and their fields
//	counts.go hygiene.go   counts of lists and inactive subscribers
//	template.go theme.go color.go designcolors.go   parts of emails, and their colors
//	mailtext.go placeholders.go testgroup.go zone.go   email texts; values in texts; test groups; time zones
//	relay.go mailserver.go relaytest.go pace.go   relays, the server's own, and their limits
//	restore.go                      deleted tenants and lists
//	why.go                          why an address got no email
//	senderdomain.go domainrecords.go dnshost.go dkim.go freemail.go   sender domains, DNS records and keys
//	media.go video.go attachment.go bytesize.go   images, linked videos, attachments, sizes
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
//	event.go outbox.go mail.go sync.go drift.go pendingdisable.go   events, emails and syncs in delivery
//	importjob.go importedpost.go importpicture.go importundo.go importleaving.go fieldsbefore.go columnnames.go
//	evidence.go   imports
//	bulk.go   bulk actions
//	person.go   the person of an export or an erasure
//
// The send side:
//
//	campaign.go campaignfields.go campaigncheck.go fieldcoverage.go utm.go   campaigns and their checks
//	approval.go digest.go frozen.go correction.go   approvals, frozen content, corrections
//	narrowing.go firstfew.go openinghours.go issue.go oldpath.go oldsite.go   exclusions, first recipients, best
//	              times, the archive
//	rule.go ruleread.go rulevalue.go rulematch.go ruleearly.go segment.go segmentcount.go   rules, segments, counts
//	tag.go poll.go   tags of people, polls
//	sendjob.go jobkeys.go jobview.go stoprule.go recipient.go   jobs and recipients
//	subscriber.go suppression.go   subscribers and the suppression list
//	tracking.go machine.go figures.go   opens, clicks, automated ones, and figures
//
// Everywhere:
//
//	errors.go id.go instant.go page.go strings.go listed.go jsonscanner.go   errors, ids, times, pages of a list, texts,
//	                                                                         columns, JSON
//	email.go domaintypo.go editdistance.go personname.go   email addresses, typing errors and names
//	audit.go finding.go drill.go   the audit log, findings of doctor, restore tests
package core
