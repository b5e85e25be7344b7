// Package people contains the operations that span all stores: export and erasure of a person's data, deletion of
// records, and statistics.
//
//	store.go                             New
//	directory.go sorted.go ruled.go      subscriptions
//	history.go references.go             emails sent to a person, and records found by id or name
//	why.go                               why an address got no email
//	person*.go                           export and erasure of a person
//	votes.go                             answers to polls, which also change the subscription
//	leaving.go undo.go blocking.go       unsubscribing, its undo, and blocks: both sides in one transaction
//	provider_events.go                   reports from mail providers
//	hygiene.go unconfirmed.go            inactive and unconfirmed subscribers
//	housekeeping.go sweeps.go removal.go deletion; affected.go: its extent; restore.go: restoring
//	drift.go                             differences between both sides
//	overview.go fieldcoverage.go invariants.go   statistics and checks
package people
