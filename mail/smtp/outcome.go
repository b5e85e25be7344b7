package smtp

import "fmt"

// Result is the result of sending an envelope.
type Result uint8

// The values of Result. The zero value is Untouched.
const (
	Untouched Result = iota // the message was not accepted, and the attempt does not count
	Sent                    // the final dot got a 2xx reply
	Later                   // temporarily refused: retry this recipient later
	Never                   // permanently refused for this message or, with Outcome.HardBounce, for this address
	Ambiguous               // the connection broke after the final dot, before its reply: resend once, same Message-ID
)

var resultNames = [...]string{"untouched", "sent", "later", "never", "ambiguous"}

// String returns the name of r in lower case.
func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return fmt.Sprintf("result %d", uint8(r))
}

// Outcome is the result of one envelope, with the server's reply.
type Outcome struct {
	Result Result
	// Code is the reply code (RFC 5321 section 4.2); 0: no reply.
	Code int
	// Enhanced is the enhanced status code (RFC 3463); empty: none, or its class contradicts Code.
	Enhanced string
	// Text is the text of the reply without its codes, on one line, with at most 500 bytes.
	Text string
	// HardBounce means that the address does not exist or is permanently disabled.
	HardBounce bool
	// Doubtful means that the address probably does not exist; a second such refusal, for another email, confirms it.
	Doubtful bool
	// Lost is set for the Result Untouched if the connection broke during this envelope's own transaction, or if the
	// server answered 421 to its RCPT, DATA or final dot. The message was not accepted. If that happens repeatedly, the
	// message may be the cause.
	Lost bool
}

// MailboxFull reports whether the reply says that the mailbox is full or gets too many emails.
func (o Outcome) MailboxFull() bool {
	return o.Enhanced == "4.2.2" || o.Enhanced == "5.2.2" || o.Enhanced == "5.2.1" && o.Result == Later
}

// stage is the step of an SMTP transaction that a reply belongs to.
type stage uint8

const (
	stageMail stage = iota
	stageRcpt
	stageData
	stageDot
)

// classify returns the outcome for a reply at RCPT, DATA or the final dot. blame reports whether the relay is at fault
// rather than the recipient, as for 421 and demands for credentials. At MAIL, the relay is at fault for every refusal.
func classify(at stage, code int, enhanced, text string) (o Outcome, blame bool) {
	if enhanced != "" && enhanced[0] != byte('0'+code/100) {
		enhanced = "" // the classes differ, so the basic code decides
	}
	o = Outcome{Code: code, Enhanced: enhanced, Text: text}
	switch {
	case code == 421 || authDemand(code, enhanced):
		return o, true
	case code/100 == 2:
		o.Result = Sent
	case code/100 == 4:
		o.Result = Later
	case code/100 == 5:
		o.Result = permanent(at, code, enhanced, text)
		verdict := VerdictOf(enhanced, text)
		o.HardBounce = o.Result == Never && verdict == VerdictGone
		o.Doubtful = o.Result == Never && verdict == VerdictDoubtful && at == stageRcpt
	default:
		return o, true
	}
	return o, false
}

// permanent returns the result of a 5xx reply: usually Never. It returns Later for a mailbox that is full or gets too
// many emails, and for a plain 552 at RCPT, which old servers use like 452 (RFC 5321 section 4.5.3.1.10).
func permanent(at stage, code int, enhanced, text string) Result {
	if enhanced == "5.2.2" || enhanced == "5.2.1" && tooOften.MatchString(text) || code == 552 && enhanced == "" && at == stageRcpt {
		return Later
	}
	return Never
}

// IsHardBounce reports whether an enhanced status code (RFC 3463, RFC 7505) means that the address does not exist or is
// disabled. The code can come from a reply or a delivery status. A policy refusal (5.7.x) or a 550 without a code is
// not a hard bounce.
func IsHardBounce(enhanced string) bool {
	switch enhanced {
	case "5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1":
		return true
	}
	return false
}

// authDemand reports whether a reply asks for credentials or refuses them (RFC 4954 section 6).
func authDemand(code int, enhanced string) bool {
	return code == 530 || code == 535 || code == 538 || code == 534 || enhanced == "5.7.8"
}
