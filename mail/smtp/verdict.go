package smtp

import (
	"regexp"
	"strings"
)

// Verdict is what a refusal means for the recipient's address.
type Verdict uint8

// The values of Verdict. The zero value is VerdictUnclear.
const (
	VerdictUnclear  Verdict = iota
	VerdictSender           // not about the address: the sender, the message or a policy
	VerdictPassing          // temporary: the mailbox is full, or gets too many emails
	VerdictDoubtful         // probably doesn't exist; certain after a second email
	VerdictGone             // doesn't exist, or is disabled
)

var (
	// codeInText matches an enhanced status code (RFC 3463) that is not part of an IP address or version.
	codeInText = regexp.MustCompile(`(?:^|[^\d.])([245]\.\d{1,3}\.\d{1,3})(?:$|[^\d.]|\.(?:$|[^\d]))`)
	basicFirst = regexp.MustCompile(`^\s*([245])\d\d(?:[ -]|$)`)
	tooOften   = regexp.MustCompile(`(?i)\bat a rate\b|too (?:quickly|many|much|fast)|rate.?limit|exceeded .*\brate\b`)
	policy     = regexp.MustCompile(`(?i)spam|\bblock(?:ed|ing|.?list)|black.?list|\bpolic(?:y|ies)\b|\bspf\b|\bdkim\b|\bdmarc\b|` +
		`reputation|authenticat|sender|mail from|virus|malware|\bbanned\b|\bcontent\b|relay|grey.?list|\brbl\b|unsolicited`)
	// relayTable matches a phrase of Postfix about the list of known recipients. A reply with this phrase does not
	// refuse to relay.
	relayTable = regexp.MustCompile(`(?i)in relay recipient table`)
	// noSuchUser matches phrases for unknown mailboxes in replies from real servers, in several languages.
	noSuchUser = regexp.MustCompile(`(?i)(?:unknown|no such|invalid|non-?existent|bad|inactive|disabled|closed) ` +
		`(?:virtual |local |destination |e-?mail )?(?:user|recipient|mailbox|account|address|person)|` +
		`(?:user|recipient|mailbox|account|address|alias)(?: name)?(?: is| was| has been)? (?:unknown|invalid|` +
		`not (?:found|known|exist)|does ?n[o']t exist|disabled|deactivated|inactive|no longer)|` +
		`(?:user|recipient|mailbox|account|address)\b.{0,120}\b(?:does not exist|doesn't exist|not found|is unknown)|` +
		`no (?:such )?(?:mailbox|user|account|recipient)\b.{0,20}\b(?:here|by that name|with that name)|` +
		`doesn't have an? .{1,40} account|not a (?:valid|known) (?:user|recipient|mailbox)|un(?:routeable|deliverable) address|` +
		`(?:empf.{1,3}nger|benutzer|postfach|adresse)\b.{0,60}\b(?:unbekannt|existiert nicht)|unbekannte[rs]? (?:empf|benutzer)|` +
		`(?:utilisateur|destinataire|adresse)\b.{0,60}\b(?:inconnue?|n'existe pas)|` +
		`(?:usuario|destinatario|utente|buz.n)\b.{0,60}\b(?:desconocido|no existe|sconosciuto|inesistente)`)
	isFull        = regexp.MustCompile(`(?i)quota|(?:mailbox|inbox|postfach)\b.{0,30}\b(?:full|voll)\b|out of storage`)
	fromMicrosoft = regexp.MustCompile(`(?i)recipient address rejected|access denied`)
)

// VerdictOf returns what a 5xx reply means for the address. enhanced is the reply's enhanced status code (RFC 3463),
// which may be empty.
func VerdictOf(enhanced, text string) Verdict {
	if unspecific(enhanced) {
		if code := CodeIn(text); code != "" {
			enhanced = code
		}
	}
	return verdictOf(enhanced, text)
}

// VerdictOfStatus returns what a delivery status (RFC 3464) means for the address, from Status and Diagnostic-Code. The
// server's own reply is more precise than a status X.0.0. But a policy refusal (X.7.x) stays a policy refusal, and a
// temporary failure stays temporary.
func VerdictOfStatus(status, diagnostic string) Verdict {
	kind, text, typed := strings.Cut(diagnostic, ";")
	if !typed {
		kind, text = "smtp", diagnostic
	}
	if strings.EqualFold(strings.TrimSpace(kind), "smtp") {
		code := CodeIn(text)
		if code != "" && (unspecific(status) || strings.HasPrefix(code, "5.7.") || code[0] == '4') {
			status = code
		}
		if basic := basicFirst.FindStringSubmatch(text); basic != nil && basic[1] == "4" && unspecific(status) {
			return VerdictPassing
		}
	}
	return verdictOf(status, text)
}

// CodeIn returns the first enhanced status code in text, or an empty string.
func CodeIn(text string) string {
	if found := codeInText.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// unspecific reports whether an enhanced status code contains only a class, such as 5.0.0 (RFC 3463 section 3.1).
func unspecific(status string) bool { return len(status) < 2 || status[1:] == ".0.0" }

func verdictOf(enhanced, text string) Verdict {
	switch {
	case strings.HasPrefix(enhanced, "4."):
		return VerdictPassing
	case strings.HasPrefix(enhanced, "5.7."):
		return VerdictSender
	case enhanced == "5.2.1" && tooOften.MatchString(text):
		return VerdictPassing
	case IsHardBounce(enhanced):
		return VerdictGone
	case enhanced == "5.2.2":
		return VerdictPassing
	case enhanced == "5.4.1" && fromMicrosoft.MatchString(text), enhanced == "5.1.351", enhanced == "5.4.4":
		return VerdictDoubtful // Exchange Online's reply for an unknown mailbox, or a domain without a host
	case policy.MatchString(relayTable.ReplaceAllString(text, "")):
		return VerdictSender
	case isFull.MatchString(text), tooOften.MatchString(text):
		return VerdictPassing
	case noSuchUser.MatchString(text), enhanced == "5.1.0" && strings.Contains(strings.ToLower(text), "address rejected"),
		enhanced == "5.5.0" && strings.Contains(strings.ToLower(text), "mailbox unavailable"): // Outlook.com
		return VerdictDoubtful
	}
	return VerdictUnclear
}
