// Package admin has the commands for records in the database: admin with its subcommands, publish, render and why. They
// use the same store operations as HTTP requests.
//
//	admin.go        the command admin, with its groups
//	records.go      tenants and lists; lists.go: their deletion, forms and reasons; hygiene.go: inactive subscribers;
//	                sync.go: the send side's copy
//	campaigns.go campaign_links.go polls.go check.go   campaigns: their steps; corrected links; errors and warnings
//	templates.go themes.go media.go           the parts of campaigns
//	jobs.go recipients.go watch.go preview.go send jobs: creation and end; who got them; progress; previews and tests
//	subscribers.go subscriptions.go persons.go history.go   subscribers; their subscriptions; export and erasure; why
//	segments.go tags.go bulk.go               segments, tags, bulk actions
//	imports.go importsurvey.go suppressionimport.go importposts.go   file imports; questions to ask before; posts in
//	                exports
//	suppressions.go suppressionexport.go outbox.go   blocked addresses; their export; queued events
//	domains.go dkim.go mails.go providers.go  sender domains, DKIM keys, mail servers and transactional emails,
//	                providers
//	users.go invitations.go setuplink.go clients.go access.go audit.go   accounts, OAuth clients, webhook clients and
//	                tokens, the audit log
//	endpoints.go    webhook endpoints
//	devices.go      devices, agents and models
//	publish*.go     publish: a campaign from a file; render.go: render
package admin
