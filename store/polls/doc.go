// Package polls stores the polls of sent campaigns and the answers to them. Before a campaign is sent, its polls are
// part of its fields. Campaigns call this package when they are sent, and rules of segments when they ask who answered.
// People answer in package people, because an answer also changes the subscription.
//
//	polls.go     polls as records
//	answers.go   answers of people
package polls
