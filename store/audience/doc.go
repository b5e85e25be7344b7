// Package audience stores segments, which are saved rules about subscribers, and says who matches a rule. How rules are
// evaluated is in campaigns, because send jobs need it as well.
//
//	store.go      New
//	tags.go       tags as records
//	segments.go   segments as records
//	uses.go       campaigns and segments that need a segment
//	question.go   rules as they are asked about
//	counting.go   number of people who match
//	matching.go   people who match, and why one does or doesn't
package audience
