package core

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Failures say why mails of a job did not arrive, or have not yet.
type Failures struct {
	Failures []Failure `json:"failures"` // the most frequent first
	Partial  bool      `json:"partial"`  // only the first FailureSample recipients of an outcome were counted
}

// FailureSample is how many recipients of each outcome are looked at for the sum.
const FailureSample = 2000

// Failure is one reason for it.
type Failure struct {
	Status     string  `json:"status" enum:"deferred|failed|skipped"`
	Code       string  `json:"code,omitempty"` // of the reply: an enhanced status code as 5.1.1, else the reply code
	Reason     string  `json:"reason"`         // the words of the first one, with masked addresses
	Recipients int64   `json:"recipients"`
	NextTryAt  Instant `json:"next_try_at,omitzero"` // of deferred ones: the earliest
}

var (
	basicCode    = regexp.MustCompile(`^[2-5]\d\d$`)
	enhancedCode = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}$`)
)

// FailureCode returns the code of a reply that a recipient's reason holds: the enhanced status code (RFC 3463) where it
// has one, else the reply code (RFC 5321). Empty: the reason is none of a relay's.
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

// Add counts a recipient.
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

// Sort puts the most frequent first.
func (f *Failures) Sort() {
	slices.SortStableFunc(f.Failures, func(a, b Failure) int { return cmp.Compare(b.Recipients, a.Recipients) })
}
