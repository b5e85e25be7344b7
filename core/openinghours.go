package core

import "time"

// OpeningHour counts the people who first opened an email of a tenant's recent campaigns in one hour of the week.
type OpeningHour struct {
	Hour      int64 `db:"hour"` // 0 to 167, from Thursday 00:00 UTC
	Opened    int64 `db:"opened"`
	Campaigns int64 `db:"campaigns"` // number of campaigns that were counted
}

// A best time needs at least these numbers of campaigns and opens.
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

// BestTime returns the start of the next hour after now in which most subscribers open emails. It returns 0 if that
// hour is unknown.
func (a *Audience) BestTime(now Instant) Instant {
	const hour, week = int64(time.Hour / time.Millisecond), 168
	if a.bestHour == 0 {
		return 0
	}
	next := int64(now)/hour + 1
	return Instant((next + (a.bestHour-1-next%week+week)%week) * hour)
}
