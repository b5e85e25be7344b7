// Package store is all that is kept: the database and the SQL of the program, next to the method that runs it. [Store]
// is the engine (store/db) with its rooms. Each keeps the tables of one area:
//
//	store/tenants       tenants, lists, templates, themes, relays, domains, endpoints, the mail queue, the outbox
//	store/files         chunks of files
//	store/identity      users, tokens, passkeys, clients, teams
//	store/devices       devices, agents, models, shares
//
// Campaigns, members, imports and what spans all rooms are still here. A room imports those
// below it alone; cmd/newsletterd/imports_test.go has the rule.
//
// An exported method is one operation, all or nothing. It opens the transaction. A function that takes a [db.Tx] is a
// part of one, so operations compose. An operation reads rows, asks a rule of core, writes rows and adds to the outbox. It
// never calls the network, hashes a password or writes a log line. Time comes in as an argument, in milliseconds.
//
// Records are in core. A type that stays here is what one operation takes or returns and stands next to it (…Request,
// …Input, …Change, …Filter, …Result, figures as in [Overview]), or holds what only the store may touch ([Import],
// [ClaimKey]).
//
// # Files
//
//	store.go            Open: the engine and its rooms
//
// Campaigns, the send side:
//
//	campaign*.go drafts.go frozen.go issues.go corrections.go mendlinks.go   what is written, and what was sent of it
//	approvals.go reviews.go            the second person
//	audience.go joblists.go reach.go   to whom it goes
//	sendjobs.go jobruns.go jobviews.go firstfew.go undo.go testmails.go openjobs.go restored.go   jobs
//	recipient*.go claim*.go outcomes.go failures.go bounces.go   recipients, and what became of each
//	subscribers.go suppressions.go     whom the send side knows, and whom it must not mail
//	engage*.go tracking*.go totals.go  opens and clicks
//	provider*.go                       mail providers and their events
//	attachments.go media.go            pictures and attachments
//
// Members, the member side:
//
//	subscri*.go confirm*.go consents.go unconfirmed.go   subscriptions
//	unsubscribe.go disable*.go manage.go                 leaving
//	sync.go drift.go                                     full syncs to the send side, and what differs
//	import*.go adding.go spool.go                        imports
//
// What spans all rooms:
//
//	directory.go person*.go references.go history.go auditnames.go   one person, one object
//	hygiene.go housekeeping.go sweeps.go removal.go      what is deleted, and when
//	overview.go fieldcoverage.go invariants.go           figures and checks
package store
