package core

import "time"

// PacePeriod holds the number of messages sent in each part of a sliding window.
type PacePeriod struct {
	Width time.Duration // duration of a part, in whole milliseconds
	Parts map[int64]int // number of messages by part, counted from 1970
}
