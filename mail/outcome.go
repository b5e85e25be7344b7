package mail

// stage is the place of a reply in a transaction.
type stage uint8

const (
	stageMail stage = iota
	stageRcpt
	stageData
	stageDot
)

// classify turns a reply at RCPT, DATA or the final dot into an outcome. blame is true when the route is
// at fault and not the recipient: 421 anywhere, and demands for credentials (530, 535, 538, 5.7.8).
// Every reply at MAIL that is not 2xx is the route's: the caller doesn't ask here.
func classify(at stage, code int, enhanced, text string) (o Outcome, blame bool) {
	if enhanced != "" && enhanced[0] != byte('0'+code/100) {
		enhanced = "" // the classes differ: the basic code decides
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
		o.Result = permanent(at, code, enhanced)
		o.HardBounce = o.Result == Never && hardBounce(enhanced)
	default:
		return o, true
	}
	return o, false
}

// permanent finds the two 5xx that are worth a later try: a full mailbox, and the bare 552 at RCPT, which
// old servers mean as 452 (RFC 5321 section 4.5.3.1.10).
func permanent(at stage, code int, enhanced string) Result {
	if enhanced == "5.2.2" || code == 552 && enhanced == "" && at == stageRcpt {
		return Later
	}
	return Never
}

// hardBounce holds the codes of RFC 3463 and 7505 that speak of the address itself, and no other: a policy
// refusal (5.7.x) or a code-less 550 says nothing about it.
func hardBounce(enhanced string) bool {
	switch enhanced {
	case "5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1":
		return true
	}
	return false
}

// authDemand finds replies of RFC 4954 section 6 that mean "your credentials".
func authDemand(code int, enhanced string) bool {
	return code == 530 || code == 535 || code == 538 || code == 534 || enhanced == "5.7.8"
}
