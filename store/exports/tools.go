package exports

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"
)

// tool describes a newsletter program and the columns that identify its files of people.
type tool struct {
	name   string
	marks  []string // sets of folded column names, separated by spaces; a file has all columns of one set
	spoken bool     // whether its files have a status column, so file names don't count
}

var tools = []tool{
	{"substack", []string{"email emaildisabled expiry", "email emaildisabled createdat"}, true},
	{"mailchimp", []string{
		"memberrating lastchanged", "memberrating leid", "memberrating euid", "memberrating optintime",
		"memberrating confirmtime", "optintime confirmtime", "optintime optinip", "confirmtime confirmip", "leid euid",
		"unsubtime unsubcampaignid", "cleantime cleancampaignid",
	}, false},
	{"ghost", []string{"subscribedtoemails complimentaryplan", "subscribedtoemails tiers"}, true},
	{"buttondown", []string{
		"subscribertype creationdate", "type creationdate secondaryid", "type creationdate metadata",
	}, true},
	{"kit", []string{"emailaddress state createdat"}, true},
	{"beehiiv", []string{"email status utmsource utmmedium", "email subscriptionstatus"}, true},
	// In listmonk, people who unsubscribed from a list keep the status enabled. Only file names can show this.
	{"listmonk", []string{"uuid attributes status", "uuid attribs status"}, false},
	{"mailerlite", []string{
		"subscriber sent opens clicks", "email subscribed optinip", "subscriber subscribed location",
	}, false},
	{"brevo", []string{"email addedtime modifiedtime", "contactid email", "email emailblacklisted"}, false},
	{"sendy", []string{"email joined lastactivity", "email lastactivity status"}, false},
	{"substack", []string{"email activesubscription expiry"}, false},
	{"ghost", []string{"email labels tiers", "stripecustomerid deletedat"}, false},
	{"buttondown", []string{"notes tags creationdate"}, false},
	{"beehiiv", []string{"email subscriptiontier"}, false},
}

// eventColumns are columns of files with several rows per person, one for each email or event.
var eventColumns = []string{
	"postid", "campaignid", "broadcastid", "newsletterid", "automationid", "messageid", "event", "eventtype",
	"timestamp", "openedat", "clickedat",
}

// eventWords are words in the names of files with events other than unsubscribes.
var eventWords = strings.Fields(`open opens opened click clicks clicked deliver delivers delivered delivery deliveries
	send sends sent view views read reads`)

// isEvents reports whether a file with a folded header may have several rows for a person.
func isEvents(header []string) bool {
	return slices.ContainsFunc(header, func(name string) bool { return slices.Contains(eventColumns, name) })
}

// isEventName reports whether the name of a file shows events other than unsubscribes.
func isEventName(name string) bool {
	return slices.ContainsFunc(wordsOf(name), func(word string) bool { return slices.Contains(eventWords, word) })
}

// leaves reports whether people with a status must not get email. A bounce doesn't count here, because event files also
// list temporary bounces.
func leaves(status string) bool {
	return status == "unsubscribed" || status == "complained" || status == "suppressed"
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

// statusNames lists statuses with the words for them in file names, the strictest status first.
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

// statusOfName returns the status of all people in a file of an archive, as shown by the file's name or, if that shows
// none, by its folder's name. If neither shows one, it returns an empty string.
func statusOfName(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	base := path.Base(name)
	return cmp.Or(statusIn(strings.TrimSuffix(base, path.Ext(base))), statusIn(path.Base(path.Dir(name))))
}

func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
}

// statusIn returns the status that a word in a name indicates, or an empty string.
func statusIn(name string) string {
	words := wordsOf(name)
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
