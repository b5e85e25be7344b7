package console

import (
	"cmp"
	"strings"

	"newsletterd/core"
)

// English sentences about who must act after a refusal.
const (
	turnTaken    = "No more emails are sent to this address. If you know the person, ask for their new address."
	turnAllTaken = "No more emails are sent to these addresses. If you know the people, ask for their new addresses."
	turnNone     = "You don't need to do anything."
	turnAgain    = "newsletterd retries automatically."
	turnOver     = "newsletterd stopped trying after two days. These people will still get your next campaign."
	turnWriter   = "Make the email smaller or check its text and links."
	turnSender   = "Check the sender domain in Settings."
	turnOperator = "Contact the server administrator."
	turnReader   = "Ask the recipient to contact their email provider and have your emails allowed."
	turnRetry    = "You can resend the campaign below."
	turnReport   = "You can resend the campaign from its report."
)

// refusal explains a mail server's code and who must act.
type refusal struct{ What, Turn string }

// whyNot is the reason why a person wasn't sent an email. Reply is a mail server's response, or the connection error.
type whyNot struct {
	refusal
	Reply string
}

// refusals maps enhanced status codes to explanations (RFC 3463 and the registry of RFC 5248; codes above 5.7.500 are
// Microsoft's). Without an enhanced code, the key is the reply code (RFC 5321) or newsletterd's own reason. If a code
// has no entry, its class's entry in refusalClasses applies.
var refusals = map[string]refusal{
	"5.1.0":  {"The address was rejected.", turnNone},
	"5.1.1":  {"The mailbox doesn't exist.", turnTaken},
	"5.1.2":  {"The address's domain doesn't exist.", turnTaken},
	"5.1.3":  {"The email address isn't valid.", turnTaken},
	"5.1.4":  {"The address matches several mailboxes.", turnNone},
	"5.1.6":  {"The mailbox has moved, and its new address is unknown.", turnTaken},
	"5.1.7":  {"The sender address was rejected.", turnSender},
	"5.1.8":  {"The sender domain wasn't found.", turnSender},
	"5.1.10": {"The address's domain doesn't accept email.", turnTaken},
	"5.2.0":  {"The mailbox rejected the email.", turnNone},
	"5.2.1":  {"The mailbox is disabled.", turnTaken},
	"4.2.1":  {"The mailbox is temporarily unavailable.", turnAgain},
	"4.2.2":  {"The mailbox is full.", turnAgain},
	"5.2.2":  {"The mailbox is full.", turnAgain},
	"5.2.3":  {"The email is too large for the mailbox.", turnWriter},
	"4.3.0":  {"The receiving server has a technical problem.", turnAgain},
	"4.3.1":  {"The receiving server is out of storage.", turnAgain},
	"4.3.2":  {"The receiving server is temporarily unavailable.", turnAgain},
	"5.3.0":  {"The receiving server has a technical problem.", turnRetry},
	"5.3.2":  {"The receiving server doesn't accept email.", turnNone},
	"5.3.4":  {"The email is too large for the receiving server.", turnWriter},
	"4.4.1":  {"The receiving server isn't responding.", turnAgain},
	"4.4.2":  {"The connection to the receiving server was lost.", turnAgain},
	"4.4.3":  {"The recipient's domain couldn't be found.", turnAgain},
	"5.4.4":  {"No route to the receiving server was found.", turnNone},
	"4.4.5":  {"The receiving server is overloaded.", turnAgain},
	"5.4.6":  {"The email is stuck in a forwarding loop at the provider.", turnNone},
	"5.4.7":  {"Delivery took too long.", turnRetry},
	"5.5.0":  {"The receiving server didn't understand a command.", turnOperator},
	"4.5.3":  {"The receiving server limits how many recipients it accepts at a time.", turnAgain},
	"5.6.0":  {"The receiving server rejected the email's format.", turnOperator},
	"4.7.0": {"The receiving server asked newsletterd to try again later, as a protection against spam " +
		"(greylisting).", turnAgain},
	"4.7.1": {"The receiving server asked newsletterd to try again later, as a protection against spam " +
		"(greylisting).", turnAgain},
	"5.7.0":  {"Rejected because of the provider's policy.", turnReader},
	"5.7.1":  {"Rejected as spam or because of the provider's policy.", turnReader},
	"5.7.8":  {"Your mail server rejected the password.", turnOperator},
	"5.7.20": {"The signature that proves where the email comes from (DKIM) was rejected.", turnSender},
	"5.7.23": {"The sender domain doesn't list your mail server as allowed to send (SPF).", turnSender},
	"5.7.25": {"The receiving server couldn't verify the name of your mail server (its reverse DNS " +
		"record).", turnOperator},
	"5.7.26": {"The receiving server couldn't verify that the email comes from your domain (SPF, DKIM, " +
		"DMARC).", turnSender},
	"4.7.26": {"The receiving server couldn't verify that the email comes from your domain (SPF, DKIM, " +
		"DMARC).", turnSender},
	"4.7.28": {"The email provider is limiting how fast you can send.", turnAgain},
	"5.7.28": {"The email provider is limiting how fast you can send.", turnRetry},
	"5.7.509": {
		"The receiving server couldn't verify that the email comes from your domain (SPF, DKIM, DMARC).", turnSender,
	},
	"5.7.511": {"The email provider has blocked your mail server.", turnOperator},
	"5.7.606": {"The email provider has blocked your mail server.", turnOperator},
	"4.7.650": {"The email provider is limiting how fast you can send.", turnAgain},

	"421": {"The receiving server is temporarily unavailable.", turnAgain},
	"450": {"The mailbox is temporarily unavailable.", turnAgain},
	"451": {"The receiving server has a technical problem.", turnAgain},
	"452": {"The receiving server is out of storage.", turnAgain},
	"535": {"Your mail server rejected the password.", turnOperator},
	"550": {"The mailbox doesn't exist or rejects your email.", turnNone},
	"551": {"The mailbox has moved, and its new address is unknown.", turnNone},
	"552": {"The mailbox is full.", turnNone},
	"553": {"The address was rejected.", turnNone},
	"554": {"The receiving server rejected the email.", turnReader},

	core.ReasonUnsubscribed: {"Unsubscribed before this email was sent.", turnNone},
	core.ReasonNoProof:      {"Never confirmed the subscription.", turnNone},
	core.ReasonDisabled:     {"Blocked for all lists.", turnNone},
	core.ReasonSuppressed:   {"Already bounced, marked as spam or blocked.", turnNone},
	core.ReasonGone:         {"No longer subscribed.", turnNone},
	core.ReasonCancelled:    {"Sending was canceled before this email was sent.", turnRetry},
	core.ReasonWindow:       {"The deadline for sending had passed.", turnRetry},
	core.ReasonRelay:        {"Your mail server was unavailable.", turnRetry},
	core.ReasonTemplate:     {"A template is missing.", turnOperator},
	core.ReasonRender:       {"The email couldn't be created for this recipient.", turnOperator},
	core.ReasonListGone:     {"The list was deleted.", turnNone},
	core.ReasonNoReply:      {"The receiving server never confirmed that it accepted the email.", turnNone},
}

// refusalClasses maps the first two numbers of an enhanced code, or the first digit of any code, to explanations.
var refusalClasses = map[string]refusal{
	"5.1": {"The address was rejected.", turnNone},
	"5.2": {"The mailbox rejected the email.", turnNone},
	"5.4": {"No route to the receiving server was found.", turnNone},
	"5.5": {"The receiving server didn't understand a command.", turnOperator},
	"5.6": {"The receiving server rejected the email's format.", turnOperator},
	"5.7": {"Rejected as spam or because of the provider's policy.", turnReader},
	"4.7": {"The receiving server asked newsletterd to try again later, as a protection against spam " +
		"(greylisting).", turnAgain},
	"4": {"The receiving server is temporarily unavailable.", turnAgain},
	"5": {"The receiving server rejected the email.", turnNone},
	"":  {"The email wasn't sent.", turnNone},
}

// refusalOf explains a failure. Who must act also depends on whether newsletterd is still retrying.
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

// Refusal returns a label with the meaning of a mail server's code.
func (p *Page) Refusal(code string) string {
	return strings.TrimSuffix(p.T(refusalOf(&core.Failure{Code: code}).What), ".")
}

// whyNotSent explains why an email wasn't sent, for pages without a resend button. The zero value means that it was
// sent or the reason is unknown.
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
