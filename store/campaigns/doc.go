// Package campaigns is the send side: campaigns, whom they go to, and what became of each email. It never reads who
// subscribed: it knows subscribers by the events that it is sent.
//
//	store.go                                   New
//	campaign*.go drafts.go frozen.go issues.go corrections.go mendlinks.go   what is written, and what was sent of it
//	approvals.go reviews.go                    the second person
//	audience.go joblists.go reach.go           to whom it goes
//	sendjobs.go jobruns.go jobviews.go firstfew.go testmails.go openjobs.go restored.go   jobs
//	recipient*.go claim*.go outcomes.go failures.go bounces.go   recipients, and what became of each
//	subscribers.go suppressions.go             whom the send side knows, and whom it must not mail
//	disable_requests.go                        what the member side is to be told
//	engage*.go tracking.go totals.go           opens and clicks
//	providers.go                               mail providers
//	attachments.go media.go                    attachments and pictures
package campaigns
