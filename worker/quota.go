package worker

import (
	"sync/atomic"
	"time"
)

// quota is a limit of messages a day, in UTC: the part that was taken out of the file and is not used up.
type quota struct {
	perDay  int64
	day     int64        // that left is of, in days since 1970
	left    int64        // messages
	wants   bool         // limits is to take more out of the file
	overDay atomic.Int64 // the day of which nothing is left
}

// dayOf returns the number of the day of an instant, in days since 1970.
func dayOf(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

// endOfDay returns when the next day begins.
func endOfDay(day int64) time.Time { return time.Unix((day+1)*int64(24*time.Hour/time.Second), 0) }

// ready returns when the next message may go; not after now, if it may go now.
func (q *quota) ready(now time.Time) time.Time {
	today := dayOf(now)
	if q.day != today {
		q.left, q.day = 0, today
	}
	switch {
	case q.left > 0:
		return now
	case q.overDay.Load() == today:
		return endOfDay(today)
	}
	q.wants = true
	return now.Add(far)
}

// lease returns how many messages are taken out of the file at once. A crash may leave as many unused.
func (q *quota) lease() int64 { return min(max(q.perDay/100, 1), 1000) }
