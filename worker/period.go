package worker

import (
	"time"

	"newsletterd/core"
)

// periodParts is the number of parts into which a sliding period is divided. Because whole parts expire, a message may
// wait up to one part longer than necessary.
const periodParts = 60

// period counts the messages in a sliding period by parts. The count in the database is never lower, because messages
// are leased there before they are sent.
type period struct {
	limit   int
	width   time.Duration // width of a part, in whole milliseconds
	parts   [periodParts + 1]int
	last    int64 // part of the latest message; part 0 started in 1970
	total   int
	granted int  // messages that the database counts for the last part
	read    bool // the database has been read
	wants   bool // limits should ask the database
}

func newPeriod(l core.SendLimits) *period {
	part := time.Duration(l.PeriodSeconds) * time.Second / periodParts
	return &period{limit: l.PerPeriod, width: (part + time.Millisecond - 1).Truncate(time.Millisecond)}
}

// part returns the number of the part that contains a time.
func (p *period) part(t time.Time) int64 { return t.UnixNano() / int64(p.width) }

// at returns a pointer to a recent part's count.
func (p *period) at(part int64) *int { return &p.parts[part%int64(len(p.parts))] }

// glide moves the period to now by dropping the parts that are too old.
func (p *period) glide(now time.Time) {
	part := p.part(now)
	if part > p.last {
		p.granted = 0
	}
	for ; p.last < part && p.total > 0; p.last++ {
		oldest := p.at(p.last + 1)
		p.total -= *oldest
		*oldest = 0
	}
	p.last = max(p.last, part)
}

// ready returns when the next message may be sent. A time that is not after now means immediately.
func (p *period) ready(now time.Time) time.Time {
	p.glide(now)
	if p.read && p.total >= p.limit {
		for k := int64(1); ; k++ { // find the oldest part with a message
			if *p.at(p.last + k) > 0 {
				return time.Unix(0, (p.last+k)*int64(p.width))
			}
		}
	}
	if p.read && *p.at(p.last) < p.granted {
		return now
	}
	p.wants = true
	return now.Add(far)
}

// take counts a message sent at now.
func (p *period) take(now time.Time) {
	p.glide(now)
	*p.at(p.last)++
	p.total++
}

// recall adds the counts that the database holds, whose parts may have a different width.
func (p *period) recall(known core.PacePeriod, now time.Time) {
	p.glide(now)
	p.read = true
	for part, n := range known.Parts {
		end := time.Unix(0, (part+1)*int64(known.Width)-1)
		if end.After(now) {
			end = now
		}
		if at := p.part(end); at > p.last-int64(len(p.parts)) && n > 0 && known.Width > 0 {
			*p.at(at) += n
			p.total += n
		}
	}
}

// lease returns the number of messages to lease from the database at a time. A crash may waste that many.
func (p *period) lease() int { return max(min(p.limit/(4*periodParts), p.limit-p.total), 1) }

// counted returns the counts to store, with n more messages in the last part.
func (p *period) counted(n int) core.PacePeriod {
	k := core.PacePeriod{Width: p.width, Parts: map[int64]int{}}
	for part := p.last - int64(len(p.parts)) + 1; part <= p.last; part++ {
		if was := *p.at(part); was > 0 {
			k.Parts[part] = was
		}
	}
	if n > 0 {
		k.Parts[p.last] += n
	}
	return k
}
