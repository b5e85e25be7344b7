package core

import "time"

// OpeningHour is the number of people who first opened a tenant's recent emails in a given hour of the week.
type OpeningHour struct {
	Hour      int64 `db:"hour"` // 0 to 167, from Thursday 00:00 UTC
	Opened    int64 `db:"opened"`
	Campaigns int64 `db:"campaigns"` // number of campaigns that were counted
}

// The minimum numbers of campaigns and opens needed to determine the best time.
const (
	bestTimeCampaigns = 5
	bestTimeOpenings  = 200
)

// SetBestHour sets the hour of the week with the most opens, if there are enough campaigns and opens.
func (a *Audience) SetBestHour(hours []OpeningHour) {
	var all int64
	var best OpeningHour
	for _, h := range hours {
		all += h.Opened
		if h.Opened > best.Opened {
			best = h
		}
	}
	if best.Campaigns >= bestTimeCampaigns && all >= bestTimeOpenings {
		a.bestHour = best.Hour + 1
	}
}

// BestTime returns the next start, after now, of the hour of the week in which most subscribers open emails, or 0 if it
// is unknown.
func (a *Audience) BestTime(now Instant) Instant {
	const hour, week = int64(time.Hour / time.Millisecond), 168
	if a.bestHour == 0 {
		return 0
	}
	next := int64(now)/hour + 1
	return Instant((next + (a.bestHour-1-next%week+week)%week) * hour)
}
