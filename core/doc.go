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
package core
