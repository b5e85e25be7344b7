// Package campaigns serves the send side: campaigns and their approval, send jobs, images, the targets of links in
// emails, the public archive, and reports of member services and mail providers. Objects of other tenants are reported
// as missing.
//
//	room.go              Room: dependencies of the endpoints and pages
//	campaigns.go         campaign records
//	look.go              checks, previews, audience and tests of campaigns
//	send.go              reviews, approval, sending
//	tag.go               the ETag of a campaign, which an approval names
//	versions.go          versions of a campaign, and the fields of a new one
//	links.go correct.go  fixed links and corrections of sent campaigns
//	reviews.go reviews_facts.go   the approval page
//	sendjobs.go          send jobs and their counts
//	sendjobs_*.go        links, failures and history; recipients and their export; preview and test
//	tracked.go           tracking pixel, tracked links, emails in the browser
//	polls.go votes.go    results of polls, and the page that answers one
//	archive.go           the public archive: the list of issues
//	archive_issue.go archive_data.go   an issue, and its data for search engines
//	archive_search.go    search in an archive
//	archive_moved.go     old URLs of issues, at other tools or at the root of a host
//	feed.go              the Atom feed of an archive
//	mailcache.go         compiled emails for pages
//	media.go media_turns.go   images, attachments, and the memory for decoding them
//	memberevents.go      signed events and full-sync batches from member services
//	providerevents.go    events from mail providers
package campaigns
