package page

import "newsletterd/core"

// ArchiveURL returns the URL of a list's archive, with a trailing slash.
func ArchiveURL(list *core.ListWithTenant, origin string) string {
	return list.Tenant.Origin(origin) + list.ArchivePath()
}

// FeedName is the name of the Atom feed in an archive. It can't clash with an issue, since slugs contain no dot.
const FeedName = "feed.xml"

// PreferencesPath returns the path of the page where a subscriber can request a link to the preference page.
func PreferencesPath(listID string) string { return "/preferences?list=" + listID }

// ReviewPath is the path of the page for approving a campaign or requesting changes. The page fits a phone.
const ReviewPath = "/review"

// SubscribePath returns the path of the page with a list's signup form.
func SubscribePath(listID string) string { return "/l/" + listID }
