// Package core holds the nouns of newsletterd and the rules about them. It imports the standard library,
// google/uuid and x/net/idna only: no I/O, no context, no SQL, no HTTP. A rule is a method on a value, pure,
// and takes the time as an argument; store, handlers, workers and the command line all obey the same one.
//
// # Vocabulary
//
// One term per concept, for the whole program:
//
//	tenant        a customer of the service
//	list          a newsletter list
//	user          a person with a login
//	client        an OAuth client
//	caller        whoever authenticated this request
//	subscription  member side: e-mail × list; pending, active or unsubscribed
//	subscriber    send side mirror; active, unsubscribed, bounced, complaint or suppressed
//	disabled      member side: an address switched off everywhere
//	suppression   send side: an address that must not be mailed
//	event         member → send change, one row of the outbox
//	full sync     a list copied whole, in batches: batch_no of batch_total
//	job           a send job
//	recipient     one subscriber of one job
//	message       one composed e-mail
//	attempt       one try to deliver a message or an event, with its outcome
//	claim         take work; finish: record its outcome; release: give it back
//	seen          ids and nonces already accepted
//	token         code, access, refresh, id, confirm, unsubscribe, reset, verify: by purpose; …Hash is the stored form
//	secret        a shared HMAC or client secret; key: a signing key with a kid
package core
