package console

import (
	"cmp"
	"strings"

	"newsletterd/core"
)

// Whose turn it is after a refusal, in English: texts of the console.
const (
	turnTaken    = "They get nothing more. Your turn, if you know them: ask for the right address."
	turnNone     = "No one's turn: there is nothing to do."
	turnAgain    = "Our turn: it is tried again by itself."
	turnOver     = "No one's turn: it was tried for two days, and they get the next one."
	turnWriter   = "Your turn: make the newsletter smaller, or look at its text and links."
	turnSender   = "Your turn: see whether the sender's domain is set up, in the settings."
	turnOperator = "The turn of whoever looks after this installation."
	turnReader   = "The reader's turn: their provider can let you through."
	turnRetry    = "Your turn: send it to them once more, below."
	turnReport   = "Your turn: send it to them once more, from the report."
)

// refusal says what a code of a mail server means, and whose turn it is.
type refusal struct{ What, Turn string }

// whyNot is why a mail was not sent to a person. Reply is what a mail server has answered, or broke off with.
type whyNot struct {
	refusal
	Reply string
}

// refusals are by the enhanced status code (RFC 3463 and the registry of RFC 5248; codes above 5.7.500 are those of
// Microsoft), by the reply code (RFC 5321) where there is no other, or by our own reason. What has no row has that of
// its class.
var refusals = map[string]refusal{
	"5.1.0":  {"The address was not accepted.", turnNone},
	"5.1.1":  {"There is no such mailbox.", turnTaken},
	"5.1.2":  {"The domain of the address does not exist.", turnTaken},
	"5.1.3":  {"The address is not written as addresses are.", turnTaken},
	"5.1.4":  {"The address stands for several mailboxes.", turnNone},
	"5.1.6":  {"The mailbox has moved, and no one knows where to.", turnTaken},
	"5.1.7":  {"The sender's address was not accepted.", turnSender},
	"5.1.8":  {"The sender's domain was not found.", turnSender},
	"5.1.10": {"The domain of the address takes no mail at all.", turnTaken},
	"5.2.0":  {"The mailbox did not take it.", turnNone},
	"5.2.1":  {"The mailbox is closed.", turnTaken},
	"4.2.1":  {"The mailbox takes nothing just now.", turnAgain},
	"4.2.2":  {"The mailbox is full.", turnAgain},
	"5.2.2":  {"The mailbox is full.", turnAgain},
	"5.2.3":  {"The mail is too big for the mailbox.", turnWriter},
	"4.3.0":  {"Their mail server has trouble of its own.", turnAgain},
	"4.3.1":  {"Their mail server has no room just now.", turnAgain},
	"4.3.2":  {"Their mail server takes nothing just now.", turnAgain},
	"5.3.0":  {"Their mail server has trouble of its own.", turnRetry},
	"5.3.2":  {"Their mail server takes no mail.", turnNone},
	"5.3.4":  {"The mail is too big for their server.", turnWriter},
	"4.4.1":  {"Their mail server does not answer.", turnAgain},
	"4.4.2":  {"The line to their mail server broke.", turnAgain},
	"4.4.3":  {"Their domain could not be looked up.", turnAgain},
	"5.4.4":  {"No way to their mail server was found.", turnNone},
	"4.4.5":  {"Their mail server has too much to do.", turnAgain},
	"5.4.6":  {"The mail would go round in a circle at their provider.", turnNone},
	"5.4.7":  {"It was on its way for too long.", turnRetry},
	"5.5.0":  {"Their mail server did not understand ours.", turnOperator},
	"4.5.3":  {"Their mail server takes fewer readers at once.", turnAgain},
	"5.6.0":  {"Their mail server does not like how the mail is made.", turnOperator},
	"4.7.0":  {"Their mail server wants to see first whether we come back.", turnAgain},
	"4.7.1":  {"Their mail server wants to see first whether we come back.", turnAgain},
	"5.7.0":  {"Refused by a rule of their provider.", turnReader},
	"5.7.1":  {"Refused as spam, or by a rule of their provider.", turnReader},
	"5.7.8":  {"The relay does not accept our password.", turnOperator},
	"5.7.20": {"The signature of the mail was not accepted (DKIM).", turnSender},
	"5.7.23": {"The sender's domain does not name our server (SPF).", turnSender},
	"5.7.25": {"The name of our server could not be looked up.", turnOperator},
	"5.7.26": {"The sender could not be proved (SPF, DKIM, DMARC).", turnSender},
	"4.7.26": {"The sender could not be proved (SPF, DKIM, DMARC).", turnSender},
	"4.7.28": {"Their provider finds that too many mails come at once.", turnAgain},
	"5.7.28": {"Their provider finds that too many mails come at once.", turnRetry},
	"5.7.509": {
		"The sender could not be proved (SPF, DKIM, DMARC).", turnSender,
	},
	"5.7.511": {"Their provider has blocked our server.", turnOperator},
	"5.7.606": {"Their provider has blocked our server.", turnOperator},
	"4.7.650": {"Their provider finds that too many mails come at once.", turnAgain},

	"421": {"Their mail server takes nothing just now.", turnAgain},
	"450": {"The mailbox takes nothing just now.", turnAgain},
	"451": {"Their mail server has trouble of its own.", turnAgain},
	"452": {"Their mail server has no room just now.", turnAgain},
	"535": {"The relay does not accept our password.", turnOperator},
	"550": {"The mailbox is not there, or does not want it.", turnNone},
	"551": {"The mailbox has moved, and no one knows where to.", turnNone},
	"552": {"The mailbox is full.", turnNone},
	"553": {"The address was not accepted.", turnNone},
	"554": {"Their mail server did not want it.", turnReader},

	core.ReasonUnsubscribed: {"They have left before it came to them.", turnNone},
	core.ReasonNoProof:      {"They have never confirmed that they want it.", turnNone},
	core.ReasonDisabled:     {"They were switched off everywhere.", turnNone},
	core.ReasonSuppressed:   {"They could not be reached before, or have complained.", turnNone},
	core.ReasonGone:         {"They are no readers any more.", turnNone},
	core.ReasonCancelled:    {"The mailing was stopped before it came to them.", turnRetry},
	core.ReasonWindow:       {"The time in which it may go out was over.", turnRetry},
	core.ReasonRelay:        {"Our way out to the mail servers was closed.", turnRetry},
	core.ReasonTemplate:     {"A template is missing.", turnOperator},
	core.ReasonRender:       {"The mail could not be made for them.", turnOperator},
	core.ReasonListGone:     {"The list is no longer there.", turnNone},
	core.ReasonNoReply:      {"Their mail server never said whether it took it.", turnNone},
}

// refusalClasses are by the first two numbers of an enhanced code, or the first of any.
var refusalClasses = map[string]refusal{
	"5.1": {"The address was not accepted.", turnNone},
	"5.2": {"The mailbox did not take it.", turnNone},
	"5.4": {"No way to their mail server was found.", turnNone},
	"5.5": {"Their mail server did not understand ours.", turnOperator},
	"5.6": {"Their mail server does not like how the mail is made.", turnOperator},
	"5.7": {"Refused as spam, or by a rule of their provider.", turnReader},
	"4.7": {"Their mail server wants to see first whether we come back.", turnAgain},
	"4":   {"Their mail server takes nothing just now.", turnAgain},
	"5":   {"Their mail server did not want it.", turnNone},
	"":    {"It was not sent to them.", turnNone},
}

// refusalOf returns what a failure means. One that was tried to the end is not tried again, whatever its code.
func refusalOf(f *core.Failure) refusal {
	r, ok := refusals[cmp.Or(f.Code, f.Reason)]
	for class := f.Code; !ok; {
		if i := strings.LastIndexByte(class, '.'); i >= 0 {
			class = class[:i]
		} else {
			class = class[:min(1, len(class))]
		}
		if r, ok = refusalClasses[class]; !ok && len(class) <= 1 {
			r, ok = refusalClasses[""], true
		}
	}
	if r.Turn == turnAgain && f.Status == core.RecipientStates[core.RecipientFailed] {
		r.Turn = turnOver
	}
	if r.Turn != turnAgain && f.Status == core.RecipientStates[core.RecipientDeferred] {
		r.Turn = turnAgain
	}
	return r
}

// whyNotSent returns why a mail was not sent, of pages without the button that sends it again. The zero value: it was, or
// nothing is known.
func whyNotSent(status, reason string) (why whyNot) {
	if reason == "" || status == core.RecipientStates[core.RecipientSent] {
		return why
	}
	f := core.Failure{Status: status, Code: core.FailureCode(reason), Reason: reason}
	if why.refusal = refusalOf(&f); why.Turn == turnRetry {
		why.Turn = turnReport
	}
	if _, ours := refusals[reason]; !ours {
		why.Reply = reason
	}
	return why
}
