// Package audience stores segments, which are saved rules about subscribers, and finds the people who match a rule.
// Package campaigns contains the evaluation of rules, because send jobs need it too.
//
//	store.go      New
//	tags.go       records of tags
//	segments.go   records of segments
//	uses.go       campaigns and segments that use a segment
//	question.go   questions about the subscribers of lists
//	counting.go   number of people who match
//	matching.go   people who match, and why a person does or doesn't match
package audience
