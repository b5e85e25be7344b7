// Package people is what spans all rooms: one person across all of them, what is deleted and when, and figures of the
// whole.
//
//	store.go                             New
//	directory.go sorted.go history.go references.go   who subscribes, what someone was sent, what an id is of; why.go: why not
//	person*.go                           export and erasure of a person
//	leaving.go undo.go blocking.go       leaving, its undo, and blocks: both sides in one transaction
//	provider_events.go                   what mail providers report
//	hygiene.go unconfirmed.go            people who no longer read, or never confirmed
//	housekeeping.go sweeps.go removal.go what is deleted; affected.go: what goes with it; restore.go: back again
//	drift.go                             what differs between both sides
//	overview.go fieldcoverage.go invariants.go   figures and checks
package people
