// Package bulk performs bulk actions: the same change for many subscribers of a list, in steps that a worker takes. The
// position is saved in the commit of the changes, so after a crash no one is changed twice and no one is left out. Each
// person is changed by the operation for a single person.
//
//	store.go    New
//	actions.go  bulk actions as records: start, cancel, undo
//	steps.go    the next step of an action
//	changes.go  the change of one person
//	tags.go     the same for a tag
//	undoing.go  the undo, step by step
package bulk
