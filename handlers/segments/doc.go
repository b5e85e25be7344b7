// Package segments serves the segments and tags of tenants: the records, their counts, and the people who belong to
// them. Records of tenants in which the caller has no role are reported as missing.
//
//	segments.go   Room: dependencies of the endpoints; records of segments, their uses, and fields for their rules
//	counts.go     counts of segments and of unsaved rules
//	tags.go       tags of tenants
//	people.go     people in a segment, and why a person is or isn't in it
//	bulk.go       bulk actions: the same change for people who match a rule, or for chosen people
//
// Counting or listing people reads whole lists, so at most two such requests run at a time. Counts of a campaign's
// audience don't wait for a turn, because they stop after core.AudienceBudget. Callers without people.read get coarse
// counts.
package segments
