package worker

import (
	"time"

	"newsletterd/core"
)

// periodParts is how many parts a gliding period has. At most limit messages go in any period; a message may wait one
// part longer than it must.
const periodParts = 60

// period counts the messages of the last period by its parts. The file never counts fewer: a few more messages are
// written into it before they go.
type period struct {
	limit   int
	width   time.Duration // of a part, in whole milliseconds
	parts   [periodParts + 1]int
	last    int64 // the part of the latest message; part 0 began in 1970
	total   int
	granted int  // messages of the last part that the file knows of
	read    bool // the file was read
	wants   bool // limits is to ask the file
}

func newPeriod(l core.SendLimits) *period {
	part := time.Duration(l.PeriodSeconds) * time.Second / periodParts
	return &period{limit: l.PerPeriod, width: (part + time.Millisecond - 1).Truncate(time.Millisecond)}
}

// part returns the number of the part that an instant is in.
func (p *period) part(t time.Time) int64 { return t.UnixNano() / int64(p.width) }

// at returns the count of a part among the last ones.
func (p *period) at(part int64) *int { return &p.parts[part%int64(len(p.parts))] }

// glide forgets the parts that are older than a period.
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

// ready returns when the next message may go; not after now, if it may go now.
func (p *period) ready(now time.Time) time.Time {
	p.glide(now)
	if p.read && p.total >= p.limit {
		for k := int64(1); ; k++ { // the oldest part that holds any
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

// take counts a message that goes now.
func (p *period) take(now time.Time) {
	p.glide(now)
	*p.at(p.last)++
	p.total++
}

// recall adds what the file knows, which may have been counted by parts of another width.
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

// lease returns how many messages the file is asked for at once. A crash may leave as many unused.
func (p *period) lease() int { return max(min(p.limit/(4*periodParts), p.limit-p.total), 1) }

// counted returns what to keep in the file, with n messages more in the last part.
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
