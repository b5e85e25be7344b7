package daemontest

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"newsletterd/core"
)

// Visitors simulates people who subscribe one after another, each as soon as the previous response has arrived.
type Visitors struct {
	Took  []time.Duration // time until each response
	Acked []core.Email    // addresses whose subscription was acknowledged
	Other []string        // responses other than 200
	Lost  int             // requests without a response

	mu  sync.Mutex // guards the above until Stop
	end context.CancelFunc
	wg  sync.WaitGroup
}

// Visitors starts n visitors on the daemon's list.
func (p *Process) Visitors(n int) *Visitors {
	ctx, end := context.WithCancel(p.Context())
	l := &Visitors{end: end}
	for v := range n {
		l.wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				email := core.Email(fmt.Sprintf("visitor%d-%d@example.net", v, i))
				began := time.Now()
				r, err := p.Try("POST", "/api/newsletter/subscribe", map[string]any{"list_id": p.List, "email": email})
				l.mu.Lock()
				switch {
				case r.Response == nil: // refused or no response: the daemon may have died
					l.Lost++
				case r.StatusCode != http.StatusOK || err != nil:
					l.Other = append(l.Other, fmt.Sprint(r.StatusCode, " ", r.Text, err))
				default:
					l.Acked = append(l.Acked, email)
				}
				l.Took = append(l.Took, time.Since(began))
				l.mu.Unlock()
			}
		})
	}
	return l
}

// Acknowledged returns how many subscriptions were acknowledged so far.
func (l *Visitors) Acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.Acked)
}

// Stop ends the visitors and waits for their last responses.
func (l *Visitors) Stop() {
	l.end()
	l.wg.Wait()
}
