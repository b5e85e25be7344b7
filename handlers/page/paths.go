package page

import "newsletterd/core"

// ArchiveURL returns the address of the archive of a list, with a slash at its end.
func ArchiveURL(list *core.ListWithTenant, origin string) string {
	return list.Tenant.Origin(origin) + list.ArchivePath()
}

// FeedName is the name of the Atom feed in an archive. No issue has it: slugs have no dot.
const FeedName = "feed.xml"

// PreferencesPath is the page where a reader without a link asks for one.
func PreferencesPath(listID string) string { return "/preferences?list=" + listID }

// ReviewPath is the page on which a campaign is approved or sent back, which fits a phone.
const ReviewPath = "/review"

// SubscribePath is the page with the subscribe form of a list.
func SubscribePath(listID string) string { return "/l/" + listID }
