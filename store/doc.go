// Package store contains everything that newsletterd stores: the database and the program's SQL. Each SQL statement is
// next to the method that runs it. [Store] is the database engine (store/db) with its rooms. A room is a package that
// owns the tables of one area:
//
//	store/tenants       tenants, lists, templates, themes, relays, domains, endpoints, the mail queue, the outbox
//	store/files         chunks of files
//	store/identity      users, tokens, passkeys, clients, teams
//	store/devices       devices, agents, models, shares
//	store/mailed        recipients of ended jobs, in pages
//	store/campaigns     the send side: campaigns, jobs, recipients, subscribers
//	store/members       the member side: subscriptions and consents
//	store/audience      segments, and the people who match rules
//	store/imports       subscriptions from files
//	store/people        operations that span the rooms above
//	store/bulk          bulk actions: the same change for many subscribers of a list
//
// A room imports only rooms above it in this list, and campaigns and members never import each other.
// cmd/newsletterd/imports_test.go enforces this. store.go opens the file.
//
// An exported method is one operation and takes effect completely or not at all. The method opens the transaction. A
// function that takes a [db.Tx] is part of an operation, so operations can be composed. An operation reads rows,
// applies the rules of core, writes rows and adds events to the outbox. It never calls the network, hashes a password
// or writes a log line. The caller passes the current time as an argument, in milliseconds.
//
// Records are types in core. A type in a room belongs to one operation and is declared next to it. It is the
// operation's input or result (…Request, …Input, …Change, …Filter, …Result, or figures such as [people.Overview]). Some
// types hold values that only the store uses ([imports.Import], [campaigns.ClaimKey]).
package store
