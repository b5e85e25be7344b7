package core

import (
	"strings"
	"time"
)

// EvidenceTime returns when a person subscribed in another system by the evidence that an import has kept, such as
// "opted in 2019-05-01T09:58:00Z from 203.0.113.9": the first time in it. 0: it tells none.
func EvidenceTime(evidence string) Instant {
	for part := range strings.SplitSeq(evidence, "; ") {
		for word := range strings.FieldsSeq(part) {
			if at, err := time.Parse(time.RFC3339, word); err == nil {
				return At(at)
			}
			if at, err := time.Parse(time.DateOnly, word); err == nil { // an earlier version kept times as they stood
				return At(at)
			}
		}
	}
	return 0
}
