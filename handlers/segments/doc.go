// Package segments serves the segments and tags of tenants: the records, their counts, and the people who belong to
// them. Those of tenants that the caller has no role in are reported as missing.
//
//	segments.go   Room: dependencies of the endpoints; segments as records, their uses, fields for their rules
//	counts.go     counts of segments and of unsaved rules
//	tags.go       tags of tenants
//	people.go     people in a segment, and why a person is in it or not
//	bulk.go       bulk actions: the same change for people who match a rule, or for chosen people
//
// Counting or listing people reads whole lists, so at most two such requests run at a time. The audience of a campaign
// takes no turn; it stops after core.AudienceBudget. Callers without people.read get coarse counts.
package segments
