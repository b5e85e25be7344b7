package worker

import (
	"container/heap"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// destinations holds the state of the domains that a relay group sends to. It is guarded by the dispatcher's lock.
type destinations struct {
	parked     parkedHeap           // items for domains whose rate is used up
	throttled  map[string]*throttle // domains that refuse emails because there are too many
	throttling flag                 // throttled is not empty; read without the lock
	raiseAt    time.Time            // when to check next whether to raise the throttled domains' rates
}

// due counts a message to an address and returns when it may be sent. All groups share the pace common; nil means no
// limit.
func (d *destinations) due(common *domainPace, email string, now time.Time) time.Time {
	at := now
	if common != nil {
		at = common.reserve(email, now)
	}
	if !d.throttling.Load() {
		return at
	}
	if t := d.throttled[domainOf(email)]; t != nil && t.bucket != nil {
		if own := now.Add(t.bucket.ReserveN(now, 1).DelayFrom(now)); own.After(at) {
			at = own
		}
	}
	return at
}

// retime reschedules the parked items of a domain whose rate has changed, and reports whether there are any.
func (d *destinations) retime(common *domainPace, domain string, now time.Time) bool {
	var waiting []*parkedItem
	for i := range d.parked {
		if p := &d.parked[i]; domainOf(p.it.EmailKey) == domain {
			waiting = append(waiting, p)
		}
	}
	slices.SortFunc(waiting, func(a, b *parkedItem) int { return a.at.Compare(b.at) })
	for _, p := range waiting {
		p.at = d.due(common, p.it.EmailKey, now)
	}
	if len(waiting) > 0 {
		heap.Init(&d.parked)
	}
	return len(waiting) > 0
}

// drop removes and returns the parked items for which gone returns true.
func (d *destinations) drop(gone func(*item) bool) (dropped []parkedItem) {
	d.parked = slices.DeleteFunc(d.parked, func(p parkedItem) bool {
		if !gone(p.it) {
			return false
		}
		dropped = append(dropped, p)
		return true
	})
	heap.Init(&d.parked)
	return dropped
}

// domainPace limits the rate of messages to each destination domain. A message that exceeds the rate is parked.
type domainPace struct {
	rates   map[string]float64 // messages per second; "*" applies to all other domains
	buckets map[string]*rate.Limiter
}

// maxDomains is the maximum number of domains kept in memory.
const maxDomains = 100_000

func domainOf(email string) string { return email[strings.LastIndexByte(email, '@')+1:] }

func newDomainPace(rates map[string]float64) *domainPace {
	if len(rates) == 0 {
		return nil
	}
	return &domainPace{rates: rates, buckets: map[string]*rate.Limiter{}}
}

// reserve counts a message to an address and returns when it may be sent.
func (d *domainPace) reserve(email string, now time.Time) time.Time {
	domain := domainOf(email)
	r, ok := d.rates[domain]
	if !ok {
		if r, ok = d.rates["*"]; !ok {
			return now
		}
	}
	b := d.buckets[domain]
	if b == nil {
		if len(d.buckets) >= maxDomains {
			clear(d.buckets)
		}
		b = rate.NewLimiter(rate.Limit(r), max(1, int(r/20)))
		d.buckets[domain] = b
	}
	return now.Add(b.ReserveN(now, 1).DelayFrom(now))
}

// maxParked is the maximum number of parked recipients per job. At the maximum, the whole job waits.
const maxParked = 8192

// parkedItem is an item that is waiting for its destination.
type parkedItem struct {
	at time.Time
	it *item
}

// parkedHeap implements heap.Interface. The item with the earliest time comes first.
type parkedHeap []parkedItem

func (h parkedHeap) Len() int           { return len(h) }
func (h parkedHeap) Less(a, b int) bool { return h[a].at.Before(h[b].at) }
func (h parkedHeap) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *parkedHeap) Push(x any)        { *h = append(*h, x.(parkedItem)) }
func (h *parkedHeap) Pop() any {
	n := len(*h) - 1
	x := (*h)[n]
	(*h)[n] = parkedItem{}
	*h = (*h)[:n]
	return x
}

func (h *parkedHeap) add(at time.Time, it *item) { heap.Push(h, parkedItem{at, it}) }
func (h *parkedHeap) first() *item               { return heap.Pop(h).(parkedItem).it }
