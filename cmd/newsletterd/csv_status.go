package main

import (
	"errors"
	"fmt"
	"strings"

	"newsletterd/core"
)

// errLeft says that a line is about somebody who isn't to be imported.
var errLeft = errors.New("has left")

// errPending says that a line is about somebody who never confirmed.
var errPending = errors.New("never confirmed")

// statusColumn is a column that says in any file whether somebody takes part.
type statusColumn struct {
	index int
	name  string
	mean  meaning
}

// meaning tells what a cell, by foldWord, says: a core.Subscription… status; empty: nothing that is understood. What is not
// understood is never taken for consent.
type meaning func(cell string) string

// statusColumns is the columns by foldWord, with how to read them.
var statusColumns = map[string]meaning{}

// statusWords is what the words of a status mean, by foldWord.
var statusWords = map[string]string{
	"active": core.SubscriptionActive, "subscribed": core.SubscriptionActive, "confirmed": core.SubscriptionActive,
	"enabled": core.SubscriptionActive, "pending": core.SubscriptionPending, "unconfirmed": core.SubscriptionPending,
}

func init() {
	for _, w := range []string{
		"unsubscribed", "cleaned", "bounced", "complained", "complaint", "spam", "blocklisted", "blacklisted", "blocked", "disabled",
		"inactive", "suppressed", "archived", "removed", "deleted", "optedout", "nonsubscribed", "neversubscribed", "notsubscribed",
		"transactional",
	} {
		statusWords[w] = core.SubscriptionUnsubscribed
	}
	for _, kind := range []struct {
		mean  meaning
		names []string
	}{
		{byWord, []string{
			"status", "subscriptionstatus", "subscriberstatus", "memberstatus", "emailstatus", "marketingstatus", "emailmarketingstatus",
		}},
		// of Substack and Salesforce, and what people name it in tables of their own
		{byAnswer(core.SubscriptionUnsubscribed, core.SubscriptionActive), []string{
			"unsubscribed", "isunsubscribed", "unsubscribe", "optout", "optedout", "emailoptout", "emailoptedout", "hasoptedoutofemail",
			"donotemail", "donotmail", "donotcontact", "emaildisabled", "disabled", "blocklisted", "blacklisted", "emailblocklisted",
			"emailblacklisted", "blocked", "suppressed", "bounced", "complained", "cleaned", "deleted",
		}},
		// of Ghost and Shopify
		{byAnswer(core.SubscriptionActive, core.SubscriptionUnsubscribed), []string{
			"subscribed", "issubscribed", "subscribedtoemails", "optin", "optedin", "emailoptin", "acceptsmarketing", "acceptsemailmarketing",
			"active", "isactive",
		}},
		{byAnswer(core.SubscriptionActive, core.SubscriptionPending), []string{"confirmed", "isconfirmed"}},
		// of Mailchimp and Ghost
		{byTime, []string{
			"unsubtime", "unsubscribedat", "unsubscribedon", "unsubscribetime", "unsubscribedate", "unsubscribeddate", "optedoutat",
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

// byAnswer reads yes or no. An empty cell is a no where yes is the end: so exports of check boxes have it.
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

// byTime reads when somebody left; what databases write for never is never.
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

// foldWord makes "Subscription Status" and subscription_status one word.
func foldWord(s string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "", "?", "").Replace(s))
}

// takesPart looks at the columns of status. Who has left in one of them has left, whatever the others say; what is not understood
// comes before errPending.
func (c *csvReader) takesPart(line int, record []string) (err error) {
	var fault error
	for _, col := range c.status {
		switch col.mean(foldWord(record[col.index])) {
		case "":
			if fault == nil {
				fault = errLine{line, fmt.Sprintf("unknown %s %q", col.name, record[col.index])}
			}
		case core.SubscriptionUnsubscribed:
			return errLeft
		case core.SubscriptionPending:
			if !c.askAgain {
				err = errPending
			}
		}
	}
	if fault != nil {
		return fault
	}
	return err
}
