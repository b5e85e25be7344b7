package core

import (
	"strings"
	"time"
)

// EvidenceTime returns when a person subscribed in another system, according to the evidence stored by an import, such
// as "opted in 2019-05-01T09:58:00Z from 203.0.113.9". It returns the first time in evidence, or 0 if there is none.
func EvidenceTime(evidence string) Instant {
	for part := range strings.SplitSeq(evidence, "; ") {
		for word := range strings.FieldsSeq(part) {
			if len(word) < len(time.DateOnly) || word[4] != '-' { // avoids the cost of creating an error
				continue
			}
			if at, err := time.Parse(time.RFC3339, word); err == nil {
				return At(at)
			}
			if at, err := time.Parse(time.DateOnly, word); err == nil { // an earlier version stored times unchanged
				return At(at)
			}
		}
	}
	return 0
}

// OnlyEvidenceTime reports whether evidence consists of only one event and its time, so that EvidenceTime loses
// nothing.
func OnlyEvidenceTime(evidence string) bool {
	i := strings.LastIndexByte(evidence, ' ')
	return i > 0 && EvidenceTime(evidence[i:]) != 0 && !strings.ContainsAny(evidence[:i], `;"0123456789`)
}
