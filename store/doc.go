// Package store is all that is kept: the database and the SQL of the program, next to the method that runs it. [Store]
// is the engine (store/db) with its rooms, each of which keeps the tables of one area:
//
//	store/tenants       tenants, lists, templates, themes, relays, domains, endpoints, the mail queue, the outbox
//	store/files         chunks of files
//	store/identity      users, tokens, passkeys, clients, teams
//	store/devices       devices, agents, models, shares
//	store/campaigns     the send side: campaigns, jobs, recipients, subscribers
//	store/members       the member side: subscriptions and consents
//	store/imports       subscriptions from files
//	store/people        what spans all of these
//
// A room imports those below it alone, and campaigns and members never each other; cmd/newsletterd/imports_test.go has
// the rule. store.go opens the file.
//
// An exported method is one operation, all or nothing. It opens the transaction. A function that takes a [db.Tx] is a
// part of one, so operations compose. An operation reads rows, asks a rule of core, writes rows and adds to the outbox.
// It never calls the network, hashes a password or writes a log line. Time comes in as an argument, in milliseconds.
//
// Records are in core. A type that is in a room is what one operation takes or returns and stands next to it (…Request,
// …Input, …Change, …Filter, …Result, figures as in [people.Overview]), or holds what only the store may touch
// ([imports.Import], [campaigns.ClaimKey]).
package store
