// Package campaigns is the send side: campaigns, their recipients and the outcome of each email. It never reads the
// subscriptions of the member side. It learns about subscribers only from the events that it receives.
//
//	store.go                                   New
//	campaign*.go drafts.go frozen.go corrections.go mendlinks.go   content of campaigns, and what was sent
//	issues.go importedissues.go                issues of archives
//	approvals.go reviews.go                    approval by a second person
//	audience*.go joblists.go reach.go          audiences
//	segment*.go mailings.go                    segment rules, and which subscribers match them (segmentstreams.go
//	                                           reads many rows as one string; segmentsets.go skips people;
//	                                           segmenttags.go has tags and answers)
//	sendjobs.go jobruns.go jobwatch.go jobviews.go firstfew.go testmails.go restored.go   send jobs
//	recipient*.go claim*.go outcomes.go failures.go bouncefigures.go   recipients and their outcomes
//	subscribers.go suppressions.go             the send side's subscribers, and the suppression list
//	bounces.go                                 the effects of bounces and complaints on subscribers
//	pendingdisable.go                          requests to the member service
//	engage*.go tracking.go totals.go           opens and clicks
//	attachments.go media.go                    attachments and images
package campaigns
