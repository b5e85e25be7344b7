package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxExclusions is how many lists, and how many campaigns, a campaign may leave out the readers of.
const MaxExclusions = 20

// To which readers of another campaign one goes.
const (
	FollowSame     = "same"     // to whom it was sent
	FollowJoined   = "joined"   // who were no recipients of it, for they have joined since
	FollowUnopened = "unopened" // to whom it was sent, and of whom no opening and no click is known
)

// FollowUps are the words of FollowUp.Who.
var FollowUps = []string{FollowSame, FollowJoined, FollowUnopened}

// FollowUp makes a campaign go only to some readers of its lists, by what became of another campaign.
type FollowUp struct {
	Of  string `json:"of"` // id of that one
	Who string `json:"who" enum:"same|joined|unopened"`
}

// Narrowing says which readers of its lists a campaign leaves out. The zero value leaves out no one.
type Narrowing struct {
	ExcludeListIDs     []string `json:"exclude_list_ids,omitempty"`     // who is on one of them
	ExcludeCampaignIDs []string `json:"exclude_campaign_ids,omitempty"` // whom one of them was sent to

	Audience *FollowUp `json:"audience,omitempty"` // who is none of these; nil: no one
}

// ParseNarrowing reads what Column returns.
func ParseNarrowing(column string) (n Narrowing, err error) {
	if column != "" {
		err = json.Unmarshal([]byte(column), &n)
	}
	return n, err
}

// Column returns the form in which a job keeps it: empty where no one is left out.
func (n *Narrowing) Column() string {
	text, err := json.Marshal(n)
	if err != nil || string(text) == "{}" { // texts always encode
		return ""
	}
	return string(text)
}

// Searches returns for how many lists and campaigns each reader is looked for.
func (n *Narrowing) Searches() int {
	searches := len(n.ExcludeListIDs) + len(n.ExcludeCampaignIDs)
	if n.Audience != nil {
		searches++
	}
	return searches
}

// check judges it without the database; lists are those that the campaign goes to.
func (n *Narrowing) check(lists []string) error {
	for _, ids := range []struct {
		field string
		ids   []string
	}{{"exclude_list_ids", n.ExcludeListIDs}, {"exclude_campaign_ids", n.ExcludeCampaignIDs}} {
		switch {
		case len(ids.ids) > MaxExclusions:
			return Invalidf(ids.field, "%s must have at most %d entries.", ids.field, MaxExclusions)
		case repeats(ids.ids):
			return Invalidf(ids.field, "%s must not contain duplicates.", ids.field)
		}
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

// Audience is the sum of those to whom a campaign goes.
type Audience struct {
	Active     int64 `json:"active"` // subscribers of its lists; who is on two of them counts twice
	Bounced    int64 `json:"bounced"`
	Complaint  int64 `json:"complaint"`
	Suppressed int64 `json:"suppressed"`
	Duplicates int64 `json:"duplicates"` // who is on an earlier list, too
	Excluded   int64 `json:"excluded"`   // by exclude_list_ids, exclude_campaign_ids and audience
	Recipients int64 `json:"recipients"` // the rest: they get the mail
	Usual      int64 `json:"usual"`      // recipients of the last mailings to the first list; 0: there were too few
	// the time was over before all readers were looked at: the counts are of those that were
	AtLeast bool `json:"at_least,omitempty"`

	bestHour int64 // of the week, from 1 on, in which the tenant's subscribers open most; 0: not known
}

// AudienceBudget is how long an answer waits for the sum of an audience.
const AudienceBudget = 3 * time.Second

// Expected returns how many recipients a job is told to expect; 0: they were not counted to the end.
func (a *Audience) Expected() int64 {
	if a.AtLeast {
		return 0
	}
	return a.Recipients
}

// Unfinished says that not all readers were counted; empty: they were.
func (a *Audience) Unfinished() string {
	if !a.AtLeast {
		return ""
	}
	return fmt.Sprintf("The campaign goes to at least %d readers: counting all would take too long. They are counted when "+
		"it goes out.", a.Recipients)
}

// Sum says how the number of recipients comes about, as "12,480 - 96 bounced - 14 suppressed"; empty where all get it.
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

// Figures of the warning about an audience.
const (
	usualOf   = 3   // mailings, of the last five, without which there is no usual number of recipients
	usualFrom = 100 // recipients; fewer are never too many
)

// SetUsual notes the usual number of recipients, by those of the last mailings.
func (a *Audience) SetUsual(last []int64) {
	if len(last) >= usualOf {
		last = slices.Sorted(slices.Values(last))
		a.Usual = last[len(last)/2]
	}
}

// Warning says that there are more than twice as many recipients as usual; empty: there are not.
func (a *Audience) Warning() string {
	if a.Usual == 0 || a.Recipients < usualFrom || a.Recipients <= 2*a.Usual {
		return ""
	}
	return fmt.Sprintf("The campaign goes to %d readers: more than twice the usual %d.", a.Recipients, a.Usual)
}
