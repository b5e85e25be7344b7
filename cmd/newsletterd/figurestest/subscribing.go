package figurestest

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// Subscribe requests subscriptions over conns connections for a while. Each request has a new address and queues a
// confirmation email. It returns the requests per second and a description of their cost.
func (f *Figures) Subscribe(conns int) (rate float64, cost string) {
	f.Helper()
	f.subscribed++
	var done, failed atomic.Int64
	ctx, cancel := context.WithTimeout(f.Context(), AtMost(f, 5*time.Second, time.Second/2))
	defer cancel()
	cpu0, _ := daemontest.Usage(f.PID())
	began := time.Now()
	var wg sync.WaitGroup
	for c := range conns {
		client := f.Dial()
		wg.Go(func() {
			defer client.Close()
			for i := 0; ctx.Err() == nil; i++ {
				body := fmt.Sprintf(`{"list_id":%q,"email":"new%d-%d-%d@example.net","preferences":{"first_name":"N"}}`, f.List,
					f.subscribed, c, i)
				status, _, err := client.Do(fmt.Appendf(nil,
					"POST /api/newsletter/subscribe HTTP/1.1\r\nHost: localhost\r\nUser-Agent: figures\r\nContent-Type: "+
						"application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
				if err != nil {
					failed.Add(1)
					return
				}
				if status != http.StatusOK {
					failed.Add(1)
				} else {
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	rate = float64(done.Load()) / time.Since(began).Seconds()
	cpu, peak := daemontest.Usage(f.PID())
	if failed.Load() > 0 {
		f.Errorf("%d requests failed", failed.Load())
	}
	return rate, fmt.Sprintf("µs of CPU a request, its mail included: %d, peak RSS %d MB",
		(cpu-cpu0).Microseconds()/max(done.Load(), 1), peak>>20)
}

// SubscribeDuringSync prints the rate of subscriptions during a full sync, relative to the rate afterwards.
func (f *Figures) SubscribeDuringSync(rounds int) {
	f.Helper()
	const what = "subscribe during a full sync, 16 connections"
	open := func() bool {
		return f.Number("SELECT (SELECT count(*) FROM sync WHERE finished_at = 0) + "+
			"(SELECT count(*) FROM received_sync WHERE removing = 1)") > 0
	}
	var ratios []float64
	for range rounds {
		f.TokenOf("op@acme.example", core.ScopeAdmin)
		f.Serve()
		f.Every(20*time.Millisecond, func() bool { return !open() })
		f.Send("POST", "/api/admin/newsletter-lists/"+f.List+"/full-sync", nil).OK()
		began := time.Now()
		during, cost := f.Subscribe(16)
		still := open()
		f.Every(20*time.Millisecond, func() bool { return !open() })
		took := time.Since(began)
		after, costAfter := f.Subscribe(16)
		f.Stop()
		ratios = append(ratios, during/after)
		f.Line(what, "%.0f/s, %.2f of the %.0f/s afterwards; during: %s; after: %s; the sync ended during it: %v, "+
			"took %v",
			during, during/after, after, cost, costAfter, !still, took.Round(time.Millisecond))
	}
	f.median(ratios, what, "of the rate afterwards")
}

// DropMails removes a killed daemon's queued emails, so that they don't affect the next figures.
func (f *Figures) DropMails() {
	f.Helper()
	f.SQL("DELETE FROM mail")
}

// Leavers unsubscribes one in ten people from the list, most with a reason. One in twenty of them undo it.
func (f *Figures) Leavers() {
	f.Helper()
	const row = "INSERT INTO consent (list_id, subscription_id, at, what, means, generation, reason) SELECT list_id, "
	f.SQL(row+`id, created_at + 1, 'unsubscribed', 'mailed', 1, CASE abs(random()) % 4 WHEN 0 THEN 'too_many'
		WHEN 1 THEN 'content' WHEN 2 THEN 'other: ' || id ELSE '' END FROM subscription WHERE list_id = ?1
		AND abs(random()) % 10 = 0`, f.List)
	f.SQL(`UPDATE consent SET taken_back = 1 WHERE list_id = ?1 AND what = 'unsubscribed' AND abs(random()) % 20 = 0`,
		f.List)
	f.SQL(row+`subscription_id, at + 1, 'resumed', 'mailed', 1, '' FROM consent WHERE list_id = ?1 AND taken_back = 1`,
		f.List)
}

// SQL changes the database. No daemon may be running.
func (f *Figures) SQL(query string, args ...any) {
	f.Helper()
	db, err := sql.Open("sqlite", "file:"+f.Database())
	f.Must(err)
	_, err = db.ExecContext(f.Context(), query, args...)
	f.Must(err)
	f.Must(db.Close())
}
