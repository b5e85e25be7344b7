package report

import (
	"io"
	"regexp"
	"strings"

	"github.com/emersion/go-message"

	"newsletterd/mail/smtp"
)

// maxBounceText is the maximum number of bytes of a bounce's text to read.
const maxBounceText = 16 << 10

var (
	// originalBegins matches the lines before the returned message, as in bounces from 1&1 and GMX, Exim, qmail and
	// others.
	originalBegins = regexp.MustCompile(`(?im)^[ >]*(?:-{2,} ?(?:the header of the original message|this is a copy of|` +
		`below this line is a copy|original message|undelivered message|returned message|message headers? follow|` +
		`unsent message|forwarded message)|(?:the )?original message (?:header|follows)|(?:received|return-path|message-id): )`)
	// onlyDelayed matches warnings about a delay: the email is still on its way.
	onlyDelayed = regexp.MustCompile(`(?i)warning message only|still (?:being )?(?:retried|undelivered)|will (?:continue|keep)(?: to)? try|` +
		`has been delayed|delivery (?:is |was )?delayed|no action is required|do not need to resend|could not send message for past`)
	isExpired   = regexp.MustCompile(`(?i)retry time|timeout exceeded|delivery expired|queue too long|too long in (?:the )?queue`)
	returnedIn  = regexp.MustCompile(`(?im)^[ >]*message-id:\s*(<[^\s<>]{1,900}>)`)
	permanently = regexp.MustCompile(`\b5[05]\d\b`)
)

// maxBounceDepth is the maximum depth of nested parts to search for text.
const maxBounceDepth = 3

// textOf returns the start of a part's first text. It searches nested parts up to depth.
func textOf(e *message.Entity, depth int) string {
	kind, _, _ := e.Header.ContentType()
	if parts := e.MultipartReader(); parts != nil && depth > 0 {
		p, err := parts.NextPart()
		if p == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			return ""
		}
		return textOf(p, depth-1)
	}
	if kind != "" && !strings.HasPrefix(kind, "text/") {
		return ""
	}
	body, _ := io.ReadAll(io.LimitReader(e.Body, maxBounceText))
	return strings.ToValidUTF8(string(body), "\ufffd")
}

// told adds a report according to the free text of a bounce. It ignores warnings about a delay.
func (b *bounce) told(subject, text string) {
	for _, id := range returnedIn.FindAllStringSubmatch(text, 4) {
		b.names = append(b.names, id[1])
	}
	if at := originalBegins.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	if onlyDelayed.MatchString(subject) || onlyDelayed.MatchString(text) {
		return
	}
	b.fail(verdictOfText(text), someBounce)
}

// verdictOfText returns the verdict on the address from the lines of a bounce. A policy refusal takes precedence, then
// a missing or disabled address, then a temporary failure, then a doubtful address.
func verdictOfText(text string) smtp.Verdict {
	seen := map[smtp.Verdict]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || len(line) > 2000 {
			continue
		}
		switch v := smtp.VerdictOf("", line); {
		case v == smtp.VerdictSender && !permanently.MatchString(line): // "returned to sender" is not a policy refusal
		case isExpired.MatchString(line):
			seen[smtp.VerdictPassing] = true
		default:
			seen[v] = true
		}
	}
	for _, v := range []smtp.Verdict{
		smtp.VerdictSender, smtp.VerdictGone, smtp.VerdictPassing, smtp.VerdictDoubtful,
	} {
		if seen[v] {
			return v
		}
	}
	return smtp.VerdictUnclear
}
