package core

import "time"

// OpeningHour is how many people have opened mails of a tenant's last campaigns, for the first time, in an hour of the
// week.
type OpeningHour struct {
	Hour      int64 `db:"hour"` // 0 to 167, from Thursday 00:00 UTC on
	Opened    int64 `db:"opened"`
	Campaigns int64 `db:"campaigns"` // of how many these are the openings
}

// Without so many campaigns and openings it is not known when subscribers open most.
const (
	bestTimeCampaigns = 5
	bestTimeOpenings  = 200
)

// SetBestHour notes the hour of the week in which most have opened, where enough is known.
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

// BestTime returns the beginning of the next hour, after now, in which most subscribers open; 0: too little is known.
func (a *Audience) BestTime(now Instant) Instant {
	const hour, week = int64(time.Hour / time.Millisecond), 168
	if a.bestHour == 0 {
		return 0
	}
	next := int64(now)/hour + 1
	return Instant((next + (a.bestHour-1-next%week+week)%week) * hour)
}
