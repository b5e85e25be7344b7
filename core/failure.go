package core

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Failures lists the reasons why a job's emails failed or were deferred.
type Failures struct {
	Failures []Failure `json:"failures" about:"Reasons, most frequent first"`
	Partial  bool      `json:"partial" about:"Whether only a part of the recipients was counted, because there are too many"`
}

// FailureSample is the maximum number of failed recipients, and of deferred ones, whose reasons are read.
const FailureSample = 2000

// Failure is one reason for failed or deferred emails, with the number of recipients.
type Failure struct {
	Status     string  `json:"status" enum:"deferred|failed|skipped" about:"What happened to these recipients"`
	Code       string  `json:"code,omitempty" about:"Status code such as 5.1.1, or reply code such as 550; absent: none"`
	Reason     string  `json:"reason" about:"Text of the first response, without addresses"`
	Recipients int64   `json:"recipients" about:"Number of recipients with this reason"`
	NextTryAt  Instant `json:"next_try_at,omitzero" about:"Earliest next attempt, if deferred"`
}

var (
	basicCode    = regexp.MustCompile(`^[2-5]\d\d$`)
	enhancedCode = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}$`)
)

// FailureCode returns the code in a recipient's reason: the relay's enhanced status code (RFC 3463) or, without one,
// the reply code (RFC 5321). If the reason is not a reply, it returns "".
func FailureCode(reason string) string {
	first, rest, _ := strings.Cut(reason, " ")
	second, _, _ := strings.Cut(rest, " ")
	switch {
	case !basicCode.MatchString(first):
		return ""
	case enhancedCode.MatchString(second):
		return second
	}
	return first
}

// Add counts a failed or deferred recipient under the reason.
func (f *Failures) Add(r *Recipient) {
	status, code := RecipientStates[r.State], FailureCode(r.Reason)
	for i := range f.Failures {
		known := &f.Failures[i]
		if known.Status != status || known.Code != code || code == "" && known.Reason != MaskAddresses(r.Reason) {
			continue
		}
		known.Recipients++
		if r.DueAt != 0 && (known.NextTryAt == 0 || r.DueAt < known.NextTryAt) {
			known.NextTryAt = r.DueAt
		}
		return
	}
	n := Failure{Status: status, Code: code, Reason: MaskAddresses(r.Reason), Recipients: 1}
	if r.State == RecipientDeferred {
		n.NextTryAt = r.DueAt
	}
	f.Failures = append(f.Failures, n)
}

// Sort puts the most frequent failures first.
func (f *Failures) Sort() {
	slices.SortStableFunc(f.Failures, func(a, b Failure) int { return cmp.Compare(b.Recipients, a.Recipients) })
}
