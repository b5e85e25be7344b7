package worker

import (
	"sync/atomic"
	"time"
)

// quota limits messages per UTC day. It holds the unused messages leased from the database.
type quota struct {
	perDay  int64
	day     int64        // day of left, in days since 1970
	left    int64        // leased messages
	wants   bool         // limits should lease more from the database
	overDay atomic.Int64 // day with no quota left
}

// dayOf returns the day of a time, in days since 1970.
func dayOf(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

// endOfDay returns the start of the next day.
func endOfDay(day int64) time.Time { return time.Unix((day+1)*int64(24*time.Hour/time.Second), 0) }

// ready returns when the quota permits the next message. A time that is not after now means immediately.
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

// lease returns the number of messages to lease from the database at a time. A crash may waste that many.
func (q *quota) lease() int64 { return min(max(q.perDay/100, 1), 1000) }
