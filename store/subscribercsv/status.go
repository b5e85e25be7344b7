package subscribercsv

import (
	"errors"
	"fmt"
	"strings"

	"newsletterd/core"
)

// ErrLeft is returned for the line of a subscriber who has left.
var ErrLeft = errors.New("has left")

// ErrPending is returned for the line of a subscriber who never confirmed.
var ErrPending = errors.New("never confirmed")

// statusColumn is a column that says in any file whether a subscriber takes part.
type statusColumn struct {
	index int
	name  string
	mean  meaning
	dated bool // a cell with a time is a yes: when the subscriber has joined
}

// meaning returns the status of a cell by foldWord: one of core.SubscriptionActive and so on. Empty: the cell is not
// understood, which is never taken for consent.
type meaning func(cell string) string

// statusColumns has the meaning of the cells of each column, by foldWord.
var statusColumns = map[string]meaning{}

// statusWords has the status of each word, by foldWord.
var statusWords = map[string]string{
	"active": core.SubscriptionActive, "subscribed": core.SubscriptionActive, "confirmed": core.SubscriptionActive,
	"enabled": core.SubscriptionActive, "pending": core.SubscriptionPending, "unconfirmed": core.SubscriptionPending,
}

func init() {
	for _, w := range []string{
		"unsubscribed", "cleaned", "bounced", "complained", "complaint", "spam", "blocklisted", "blacklisted",
		"blocked",
		"disabled",
		"inactive", "suppressed", "archived", "removed", "deleted", "optedout", "nonsubscribed", "neversubscribed",
		"notsubscribed",
		"transactional",
	} {
		statusWords[w] = core.SubscriptionUnsubscribed
	}
	for _, kind := range []struct {
		mean  meaning
		names []string
	}{
		{byWord, []string{
			"status", "subscriptionstatus", "subscriberstatus", "memberstatus", "emailstatus", "marketingstatus",
			"emailmarketingstatus",
		}},
		// Substack, Salesforce and common names
		{byAnswer(core.SubscriptionUnsubscribed, core.SubscriptionActive), []string{
			"unsubscribed", "isunsubscribed", "unsubscribe", "optout", "optedout", "emailoptout", "emailoptedout",
			"hasoptedoutofemail",
			"donotemail", "donotmail", "donotcontact", "emaildisabled", "disabled", "blocklisted", "blacklisted",
			"emailblocklisted",
			"emailblacklisted", "blocked", "suppressed", "bounced", "complained", "cleaned", "deleted",
		}},
		// Ghost and Shopify
		{byAnswer(core.SubscriptionActive, core.SubscriptionUnsubscribed), []string{
			"subscribed", "issubscribed", "subscribedtoemails", "optin", "optedin", "emailoptin", "acceptsmarketing",
			"acceptsemailmarketing",
			"active", "isactive",
		}},
		{byAnswer(core.SubscriptionActive, core.SubscriptionPending), []string{"confirmed", "isconfirmed"}},
		// Mailchimp and Ghost
		{byTime, []string{
			"unsubtime", "unsubscribedat", "unsubscribedon", "unsubscribetime", "unsubscribedate", "unsubscribeddate",
			"optedoutat",
			"optouttime", "optoutdate", "cleantime", "cleanedat", "bouncedat", "complainedat", "deletedat",
		}},
	} {
		for _, name := range kind.names {
			statusColumns[name] = kind.mean
		}
	}
}

// byWord reads a status.
func byWord(cell string) string { return statusWords[cell] }

// byAnswer reads yes or no. Where yes means unsubscribed, an empty cell is a no: exports of check boxes have such.
func byAnswer(yes, no string) meaning {
	return func(cell string) string {
		switch cell {
		case "true", "t", "yes", "y", "1", "x", "on":
			return yes
		case "false", "f", "no", "n", "0", "off":
			return no
		case "":
			if yes == core.SubscriptionUnsubscribed {
				return no
			}
			return ""
		}
		return statusWords[cell]
	}
}

// byTime reads the time at which a subscriber left. What databases write for never means active.
func byTime(cell string) string {
	switch cell {
	case "", "0", "null", `\n`, "false", "no", "never":
		return core.SubscriptionActive
	}
	if strings.HasPrefix(cell, "00000000") { // foldWord has taken the - of a date
		return core.SubscriptionActive
	}
	return core.SubscriptionUnsubscribed
}

// foldWord returns a word in a form that is the same for "Subscription Status" and subscription_status.
func foldWord(s string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "", "?", "").Replace(s))
}

// takesPart returns ErrLeft if a column of status says that the subscriber has left, whatever the others say, then a
// LineError if one is not understood, then ErrPending.
func (c *Reader) takesPart(line int, record []string) (err error) {
	var fault error
	for _, col := range c.status {
		if _, ok := evidenceTime(record[col.index], DayMonth); ok && col.dated {
			continue
		}
		switch col.mean(foldWord(record[col.index])) {
		case "":
			if fault == nil {
				fault = LineError{line, fmt.Sprintf("unknown %s %q", col.name, record[col.index])}
			}
		case core.SubscriptionUnsubscribed:
			return ErrLeft
		case core.SubscriptionPending:
			if !c.AskAgain {
				err = ErrPending
			}
		}
	}
	if fault != nil {
		return fault
	}
	return err
}
