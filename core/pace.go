package core

import "time"

// PacePeriod is what went out in the parts of a gliding period.
type PacePeriod struct {
	Width time.Duration // of a part, in whole milliseconds
	Parts map[int64]int // messages by the part, counted from 1970
}
