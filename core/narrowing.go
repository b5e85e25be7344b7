package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxExclusions is the maximum number of lists that a campaign can exclude. The same limit applies to excluded
// campaigns and segments.
const MaxExclusions = 20

// The values of FollowUp.Who: which recipients of another campaign a follow-up goes to.
const (
	FollowSame     = "same"     // those it was sent to
	FollowJoined   = "joined"   // those it was not sent to because they joined later
	FollowUnopened = "unopened" // those it was sent to, without a known open or click
)

// FollowUps lists the values of FollowUp.Who.
var FollowUps = []string{FollowSame, FollowJoined, FollowUnopened}

// FollowUp limits a campaign to some of its lists' subscribers, depending on their activity in another campaign.
type FollowUp struct {
	Of  string `json:"of" about:"ID of the other campaign"`
	Who string `json:"who" enum:"same|joined|unopened" about:"same: its recipients; joined: people who joined since; unopened: recipients without an open or click"`
}

// Narrowing describes which subscribers on a campaign's lists don't get the campaign. The zero value excludes no one.
type Narrowing struct {
	ExcludeListIDs     []string `json:"exclude_list_ids,omitempty"`     // excludes subscribers of these lists
	ExcludeCampaignIDs []string `json:"exclude_campaign_ids,omitempty"` // excludes recipients of these campaigns

	SegmentID         string   `json:"segment_id,omitempty"`          // excludes everyone outside this segment
	ExcludeSegmentIDs []string `json:"exclude_segment_ids,omitempty"` // excludes everyone in these segments
	// of a job or an approved campaign: the rule of its segments, with all references inlined
	Rule RuleText `json:"rule,omitempty"`

	Audience *FollowUp `json:"audience,omitempty"` // excludes everyone else; nil: no one
}

// ParseNarrowing parses the result of Column.
func ParseNarrowing(column string) (n Narrowing, err error) {
	if column != "" {
		err = json.Unmarshal([]byte(column), &n)
	}
	return n, err
}

// Column returns n in the form that a job stores, which is empty if n excludes no one.
func (n *Narrowing) Column() string {
	text, err := json.Marshal(n)
	if err != nil {
		panic(fmt.Sprint("narrowing: ", err)) // strings always encode, and so does a rule that was parsed
	}
	if string(text) == "{}" {
		return ""
	}
	return string(text)
}

// Searches returns the number of lists and campaigns in which each subscriber must be looked up, except those in
// segment rules.
func (n *Narrowing) Searches() int {
	searches := len(n.ExcludeListIDs) + len(n.ExcludeCampaignIDs)
	if n.Audience != nil {
		searches++
	}
	return searches
}

// Segmented reports whether segments restrict the recipients.
func (n *Narrowing) Segmented() bool {
	return n.SegmentID != "" || len(n.ExcludeSegmentIDs) > 0 || n.Rule != ""
}

// check validates n without the database. lists holds the ids of the campaign's lists.
func (n *Narrowing) check(lists []string) error {
	for _, ids := range []struct {
		field string
		ids   []string
	}{
		{"exclude_list_ids", n.ExcludeListIDs},
		{"exclude_campaign_ids", n.ExcludeCampaignIDs},
		{"exclude_segment_ids", n.ExcludeSegmentIDs},
	} {
		switch {
		case len(ids.ids) > MaxExclusions:
			return Invalidf(ids.field, "%s must have at most %d entries.", ids.field, MaxExclusions)
		case repeats(ids.ids):
			return Invalidf(ids.field, "%s contains duplicates. Remove them.", ids.field)
		}
	}
	if n.SegmentID != "" && slices.Contains(n.ExcludeSegmentIDs, n.SegmentID) {
		return Invalidf("exclude_segment_ids",
			"exclude_segment_ids: the segment %s is also the segment_id. Remove it from one of the two.", n.SegmentID)
	}
	if a := n.Audience; a != nil && !slices.Contains(FollowUps, a.Who) {
		return Invalidf("audience.who", "audience.who must be one of %s.", strings.Join(FollowUps, ", "))
	}
	for _, id := range n.ExcludeListIDs {
		if slices.Contains(lists, id) {
			return Invalidf("exclude_list_ids",
				"exclude_list_ids: the list %s is also in list_ids. Remove it from one of the two.",
				id)
		}
	}
	return nil
}

// Audience holds the number of subscribers that a campaign goes to, and of those that it skips.
type Audience struct {
	Active     int64 `json:"active" about:"Subscribers of the lists, once for each list"`
	Bounced    int64 `json:"bounced" about:"Part of active: not emailed because of a bounce"`
	Complaint  int64 `json:"complaint" about:"Part of active: not emailed because they marked an email as spam"`
	Suppressed int64 `json:"suppressed" about:"Part of active: not emailed because they are on the suppression list"`
	Duplicates int64 `json:"duplicates" about:"Also on an earlier list"`
	Excluded   int64 `json:"excluded" about:"By exclude_list_ids, exclude_campaign_ids and audience"`
	Outside    int64 `json:"outside" about:"By segment_id and exclude_segment_ids"`
	Recipients int64 `json:"recipients" about:"The rest, who get the email"`
	Usual      int64 `json:"usual" about:"Usual number of recipients of the first list; 0: unknown"`
	AtLeast    bool  `json:"at_least,omitempty" about:"Counting took too long, so the counts are lower limits"`
	About      bool  `json:"about,omitempty" about:"Counts are estimated from a sample"`

	bestHour int64 // hour of the week, from 1, in which most of the tenant's subscribers open emails; 0: unknown
}

// AudienceBudget is how long an HTTP response waits until an audience is counted.
const AudienceBudget = 3 * time.Second

// AudienceEstimate is passed in place of AudienceBudget to estimate the audience of long lists instead of counting it.
const AudienceEstimate time.Duration = -1

// Expected returns the number of recipients for SendJob.Expected. It returns 0 if not all recipients were counted.
func (a *Audience) Expected() int64 {
	if a.AtLeast || a.About {
		return 0
	}
	return a.Recipients
}

// Unfinished returns a message if there was no time to count all subscribers, otherwise "".
func (a *Audience) Unfinished() string {
	if !a.AtLeast {
		return ""
	}
	return fmt.Sprintf("The campaign goes to at least %d subscribers. The rest are counted when sending starts, "+
		"because counting now would take too long.", a.Recipients)
}

// Sum returns the calculation of the number of recipients, for example "12480 - 96 bounced - 14 suppressed". If
// everyone gets the email, it returns "".
func (a *Audience) Sum() string {
	var b strings.Builder
	for _, part := range []struct {
		n    int64
		word string
	}{
		{a.Bounced, "bounced"},
		{a.Complaint, "complaint"},
		{a.Suppressed, "suppressed"},
		{a.Duplicates, "on two of the lists"},
		{a.Excluded, "excluded"},
		{a.Outside, "not in the segment"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, " - %d %s", part.n, part.word)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprint(a.Active) + b.String()
}

// Limits for the warning about an unusually large audience.
const (
	usualOf   = 3   // minimum number of sends, out of the last five, that define what is usual
	usualFrom = 100 // minimum number of recipients for a warning
)

// SetUsual sets the usual number of recipients to the median of last, the numbers of recipients of the last sends. If
// there are too few, it does nothing.
func (a *Audience) SetUsual(last []int64) {
	if len(last) >= usualOf {
		last = slices.Sorted(slices.Values(last))
		a.Usual = last[len(last)/2]
	}
}

// Warning returns a message if there are more than twice as many recipients as usual, otherwise "".
func (a *Audience) Warning() string {
	if a.Usual == 0 || a.Recipients < usualFrom || a.Recipients <= 2*a.Usual {
		return ""
	}
	return fmt.Sprintf("The campaign goes to %d subscribers, more than twice the usual %d.", a.Recipients, a.Usual)
}
