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

// BestTime returns the beginning of the next hour, after now, in which most have opened; 0: too little is known.
func BestTime(hours []OpeningHour, now Instant) Instant {
	const hour, week = int64(time.Hour / time.Millisecond), 168
	var all int64
	best := OpeningHour{}
	for _, h := range hours {
		all += h.Opened
		if h.Opened > best.Opened {
			best = h
		}
	}
	if best.Campaigns < bestTimeCampaigns || all < bestTimeOpenings {
		return 0
	}
	next := int64(now)/hour + 1
	return Instant((next + (best.Hour-next%week+week)%week) * hour)
}
