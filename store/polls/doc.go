// Package polls stores the polls of sent campaigns and the answers to them. Before a campaign is sent, its polls are
// part of its fields. Campaigns use this package when they are sent, and segment rules use it to find out who answered.
// People answer in package people, because an answer also changes the subscription.
//
//	polls.go     polls as records
//	answers.go   people's answers
package polls
