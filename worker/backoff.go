package worker

import (
	"math/rand/v2"
	"time"
)

// The schedules of retries, by the number of tries so far; the last delay repeats.
var (
	// eventDelays is for events and batches of full syncs.
	eventDelays = []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 30 * time.Second,
		5 * time.Minute, 30 * time.Minute, 2 * time.Hour,
	}
	// mailDelays is for mails that were refused for now.
	mailDelays = []time.Duration{
		5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	}
	// probeDelays is between tries at a receiver that is down.
	probeDelays = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}
)

const mailLife = 48 * time.Hour // after that a mail has failed

// lookEvery bounds the pause of a receiver or relay that is down where something new comes for it, unless it asked for
// more.
const lookEvery = time.Minute

// backoff returns the delay after a number of failed tries (1: the first).
func backoff(delays []time.Duration, failed int) time.Duration {
	return delays[min(max(failed, 1), len(delays))-1]
}

// jitter returns a delay that is spread by ±20 %, so that what failed together does not come back together.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + rand.N(2*d/5+1)
}
