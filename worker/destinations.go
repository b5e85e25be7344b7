package worker

import (
	"container/heap"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// domainPace bounds messages to one destination. A message that is too early gets its time and waits aside.
type domainPace struct {
	rates   map[string]float64 // messages a second; "*": of every other domain
	buckets map[string]*rate.Limiter
}

const maxDomains = 100_000

func domainOf(email string) string { return email[strings.LastIndexByte(email, '@')+1:] }

func newDomainPace(rates map[string]float64) *domainPace {
	if len(rates) == 0 {
		return nil
	}
	return &domainPace{rates: rates, buckets: map[string]*rate.Limiter{}}
}

// reserve is when a message to an address may go.
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

// maxParked is how many recipients of one job wait aside; then the whole job waits for them.
const maxParked = 8192

type parkedItem struct {
	at time.Time
	it *item
}

// parkedHeap has the one whose time comes first in front.
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
