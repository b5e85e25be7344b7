package page

import (
	"net/url"

	"newsletterd/core"
)

// Paths of the account page and the sign-out page, and root paths of the console's pages: for tenants, for server
// administrators, and for every user.
const (
	AccountPath  = "/account"
	LogoutPath   = "/logout"
	ConsolePath  = "/console"
	OperatorPath = "/operator"
	OwnPath      = "/own"
)

// ArchivePath returns the path of a list's archive, with a trailing slash. If the tenant has its own host and no other
// archive, the archive is the host's start page. origin is the URL of this server.
func ArchivePath(list *core.ListWithTenant, origin string) string {
	if list.OnlyArchive && core.OriginHost(list.Tenant.PublicURL) != core.OriginHost(origin) {
		return "/"
	}
	return list.ArchivePath()
}

// ArchiveURL returns the URL of a list's archive, with a trailing slash.
func ArchiveURL(list *core.ListWithTenant, origin string) string {
	return list.Tenant.Origin(origin) + ArchivePath(list, origin)
}

// FeedName is the name of the Atom feed in an archive. It can't clash with an issue, since slugs contain no dot.
const FeedName = "feed.xml"

// LoginPath returns the path of the sign-in page. to is the path on this server to open after signing in.
func LoginPath(to string) string { return "/login?" + url.Values{"continue": {to}}.Encode() }

// PreferencesPath returns the path of the page where a subscriber can request a link to the preference page.
func PreferencesPath(listID string) string { return "/preferences?list=" + listID }

// ReviewPath is the path of the page for approving a campaign or requesting changes.
const ReviewPath = "/review"

// ReviewLink holds the query of ReviewPath.
type ReviewLink struct {
	Campaign string `query:"campaign" about:"ID of the campaign"`
	Mend     string `query:"mend" about:"Any value: open the campaign's report instead"`
	Open     string `query:"open" about:"Any value: open the campaign instead"`
}

// Path returns the path of the page with its query. At most one of Mend and Open is set.
func (l *ReviewLink) Path() string {
	to := ReviewPath + "?" + url.Values{"campaign": {l.Campaign}}.Encode()
	switch {
	case l.Mend != "":
		return to + "&mend=1"
	case l.Open != "":
		return to + "&open=1"
	}
	return to
}

// ReviewOf returns the path of a campaign's review page.
func ReviewOf(campaignID string) string { return (&ReviewLink{Campaign: campaignID}).Path() }

// SubscribePath returns the path of the page with a list's signup form.
func SubscribePath(listID string) string { return "/l/" + listID }
