package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/store"
)

// askedDuringCampaign is how often duringACampaign asks for a mail at most.
const askedDuringCampaign = 400

// duringACampaign measures how long mails to one person take, alone and while a campaign goes out as fast as it can. It
// needs forgetful users.
func (f *figures) duringACampaign() {
	f.serve()
	alone, n := f.mailsToOne("alone", func(asked int) bool { return asked == askedDuringCampaign/10 })
	f.line("mail to one person, alone", "median %v, slowest %v (%d of them)", alone[0], alone[1], n)

	before := f.sink.stats().Count
	job := f.mailing(f.list)
	f.every(time.Millisecond, func() bool { return f.sink.stats().Count > before })
	during, n := f.mailsToOne("beside", func(asked int) bool {
		return asked == askedDuringCampaign || f.sink.stats().Count-before >= int64(f.n) ||
			f.get("/api/send-jobs/"+job, "status") != string(core.JobRunning)
	})
	f.line("mail to one person, beside the campaign", "median %v, slowest %v (%d of them)", during[0], during[1], n)
	f.every(5*time.Millisecond, func() bool { return f.get("/api/send-jobs/"+job, "status") == string(core.JobCompleted) })
	f.stop()
}

// forgetful adds n users who forget their passwords, before this process asks the daemon's file anything.
func (f *figures) forgetful(n int) {
	f.Helper()
	s, err := store.Open(f.Context(), store.Options{Path: f.dir + "/newsletterd.db"})
	f.must(err)
	defer func() { f.must(s.Close()) }()
	for i := range n {
		f.must(s.AddUser(f.Context(), core.NewUser(core.Email(forgetful(i)), now()), "", now()))
	}
}

func forgetful(i int) string { return fmt.Sprintf("forgetful%d%s", i, sinkWatch) }

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
			to, path = fmt.Sprintf("%s%d%s", name, i, sinkWatch), "/api/newsletter/subscribe"
			body["list_id"] = f.list
		}
		body["email"] = to
		began[to] = time.Now()
		b, err := json.Marshal(body)
		f.must(err)
		res, err := f.httpClient.Post(f.url+path, "application/json", bytes.NewReader(b))
		f.must(err)
		res.Body.Close()
		if res.StatusCode >= 300 {
			f.Fatalf("%s: %s", path, res.Status)
		}
	}
	var all []time.Duration
	f.every(20*time.Millisecond, func() bool {
		all = all[:0]
		for _, r := range f.sink.records() {
			if at, ok := began[r.Rcpt]; ok && r.At.After(at) { // who asks now may have asked in another measurement
				all = append(all, r.At.Sub(at))
			}
		}
		return len(all) >= len(began)
	})
	slices.Sort(all)
	return [2]time.Duration{all[len(all)/2].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond)}, len(all)
}

// records are the mails to those whom it watches.
func (s *sinkProcess) records() (out []mailtest.Record) {
	fmt.Fprintln(s.in, "records")
	line, _ := s.out.ReadBytes('\n')
	_ = json.Unmarshal(line, &out)
	return out
}
