package exports

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// tool is a newsletter program and the columns by which its files of people are recognized.
type tool struct {
	name   string
	marks  []string // sets of folded column names, separated by spaces; a file has all columns of one set
	spoken bool     // whether its files have a status column, so names of files don't count
}

var tools = []tool{
	{"substack", []string{"email activesubscription expiry", "email emaildisabled createdat"}, true},
	{"mailchimp", []string{
		"memberrating lastchanged", "memberrating leid", "memberrating euid", "memberrating optintime",
		"memberrating confirmtime", "optintime confirmtime", "optintime optinip", "confirmtime confirmip", "leid euid",
		"unsubtime unsubcampaignid", "cleantime cleancampaignid",
	}, false},
	{"ghost", []string{
		"subscribedtoemails complimentaryplan", "email labels tiers", "stripecustomerid deletedat",
	}, true},
	{"buttondown", []string{
		"notes tags creationdate", "subscribertype creationdate", "type creationdate secondaryid",
		"type creationdate metadata",
	}, true},
	{"listmonk", []string{"uuid attributes status", "uuid attribs status"}, true},
	{"kit", []string{"emailaddress state createdat"}, true},
	{"beehiiv", []string{
		"email status utmsource utmmedium", "email subscriptiontier", "email subscriptionstatus",
	}, true},
	{"mailerlite", []string{
		"subscriber sent opens clicks", "email subscribed optinip", "subscriber subscribed location",
	}, false},
	{"brevo", []string{"email addedtime modifiedtime", "contactid email", "email emailblacklisted"}, false},
	{"sendy", []string{"email joined lastactivity", "email lastactivity status"}, false},
}

// eventColumns are columns of files in which a person has several rows, one for each email or event.
var eventColumns = []string{
	"postid", "campaignid", "broadcastid", "newsletterid", "automationid", "messageid", "event", "eventtype",
	"timestamp", "openedat", "clickedat",
}

// fold reduces the name of a column to its letters and digits, in lower case.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

func folded(header []string) []string {
	names := make([]string, len(header))
	for i, name := range header {
		names[i] = fold(name)
	}
	return names
}

// hasAll reports whether a header has all columns of a set.
func hasAll(header []string, set string) bool {
	for name := range strings.FieldsSeq(set) {
		if !slices.Contains(header, name) {
			return false
		}
	}
	return true
}

// toolOf returns the program whose files of people have these columns, or the zero tool.
func toolOf(header []string) tool {
	for _, t := range tools {
		if slices.ContainsFunc(t.marks, func(set string) bool { return hasAll(header, set) }) {
			return t
		}
	}
	return tool{}
}

// statusNames lists statuses with the words that stand for them in names of files, the strictest status first.
var statusNames = []struct{ status, words string }{
	{"complained", "complained complaint complaints spam spamreports"},
	{"suppressed", `suppressed suppression suppressions suppressionlist blocked blocklist blocklisted blacklist
		blacklisted donotcontact donotemail`},
	{"bounced", "cleaned bounced bounce bounces hardbounced hardbounce hardbounces undeliverable"},
	{"unsubscribed", `unsubscribed unsubscribes unsubscribe unsubscribers unsubs optout optouts optedout inactive
		deactivated deleted removed cancelled canceled archived abgemeldet desabonnes bajas`},
	{"nonsubscribed", "nonsubscribed notsubscribed transactional"},
	{"unconfirmed", "unconfirmed notconfirmed pending unactivated"},
	{"subscribed", "subscribed confirmed active"},
}

// statusOfName returns the status that a file's name shows for all people in the file, or an empty string.
func statusOfName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.TrimSuffix(name, path.Ext(name))
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	for i := range len(words) { // "opted_out" is "optedout"
		if i+1 < len(words) {
			words = append(words, words[i]+words[i+1])
		}
	}
	for _, s := range statusNames {
		for word := range strings.FieldsSeq(s.words) {
			if slices.Contains(words, word) {
				return s.status
			}
		}
	}
	return ""
}
