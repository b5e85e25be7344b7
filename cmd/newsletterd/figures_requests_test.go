package main

import (
	"fmt"
	"slices"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
)

func forgetful(i int) string { return fmt.Sprintf("forgetful%d%s", i, daemontest.Watched) }

// mailsToOne asks for a mail every 50 ms until done, and returns the median and the slowest time until it was there.
func (f *figures) mailsToOne(name string, done func(asked int) bool) (took [2]time.Duration, n int) {
	f.Helper()
	began := map[string]time.Time{}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ; !done(len(began)); <-tick.C {
		i := len(began)
		to, path, body := forgetful(i/2), "/api/auth/password/forgot", map[string]string{}
		if i%2 == 0 {
			to, path = fmt.Sprintf("%s%d%s", name, i, daemontest.Watched), "/api/newsletter/subscribe"
			body["list_id"] = f.List
		}
		body["email"] = to
		began[to] = time.Now()
		f.Send("POST", path, body).OK()
	}
	var all []time.Duration
	f.Every(20*time.Millisecond, func() bool {
		all = all[:0]
		for _, r := range f.sink.Records() {
			if at, ok := began[r.Rcpt]; ok && r.At.After(at) { // who asks now may have asked in another measurement
				all = append(all, r.At.Sub(at))
			}
		}
		return len(all) >= len(began)
	})
	slices.Sort(all)
	return [2]time.Duration{all[len(all)/2].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond)}, len(all)
}
