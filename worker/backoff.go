package worker

import (
	"math/rand/v2"
	"time"
)

// Retry delays, indexed by the number of failed tries. The last delay repeats.
var (
	// eventDelays applies to events and full sync batches.
	eventDelays = []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 30 * time.Second,
		5 * time.Minute, 30 * time.Minute, 2 * time.Hour,
	}
	// mailDelays applies to temporarily refused emails.
	mailDelays = []time.Duration{
		5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	}
	// probeDelays applies to probes of a receiver that is down.
	probeDelays = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}
)

const mailLife = 48 * time.Hour // age at which an undelivered email fails

// lookEvery is the maximum pause between probes of a receiver or relay that is down while new events or emails arrive.
// A receiver may ask for a longer pause with Retry-After.
const lookEvery = time.Minute

// backoff returns the delay before the next try, given the number of failed tries so far.
func backoff(delays []time.Duration, failed int) time.Duration {
	return delays[min(max(failed, 1), len(delays))-1]
}

// jitter changes a delay randomly by up to ±20%, so that tries that failed at the same time aren't repeated at the same
// time.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + rand.N(2*d/5+1)
}
