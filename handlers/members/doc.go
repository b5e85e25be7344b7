// Package members serves the member side: subscriptions and their pages, subscribers, imports, and the suppression
// list. Objects of other tenants are reported as missing.
//
//	room.go              Room: dependencies of the endpoints and pages; Options
//	newsletter.go        /api/newsletter: signing up, confirming, unsubscribing, preferences
//	disable.go           blocking an address through the API
//	newsletter_pages.go  the pages that emails to subscribers lead to
//	subscribe_page.go preferences_page.go   the signup page of a list; the preference page
//	tracking_consent.go  consent to individual tracking
//	lists.go hygiene.go  counts, forms and syncs of lists; their inactive subscribers
//	subscribers.go       subscribers and their tags; subscribers_export.go: exports, search by a rule
//	suppressions.go suppressions_export.go   blocked addresses, and why an address got no email; their export
//	imports.go importexports.go importfaults.go importquestions.go   imports of subscribers from files
//	importedissues.go    issues of lists that were published with another tool
//
// No response to an anonymous request reveals who is subscribed.
package members
