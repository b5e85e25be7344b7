// Package bulk performs bulk actions: the same change for many subscribers of a list, in steps that a worker performs.
// The commit of the changes also saves the position, so after a crash no one is changed twice or left out. Each change
// is the same operation as a change to a single person.
//
//	store.go    New
//	actions.go  records of bulk actions: start, cancel, undo
//	steps.go    the next step of an action
//	changes.go  the change to one person
//	tags.go     adding and removing a tag
//	undoing.go  the steps of an undo
package bulk
