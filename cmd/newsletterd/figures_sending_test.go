package main

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"maps"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
)

// TestFiguresOfSending prints the figures of the send path. NEWSLETTERD_FIGURES_WINDOW measures one campaign alone, with that
// window.
func TestFiguresOfSending(t *testing.T) {
	if os.Getenv(figuresEnv) == "" {
		t.Skip("make bench")
	}
	f := newFigures(t)
	f.serve()
	f.stop()
	f.records()
	f.forgetful(askedBeside / 2)
	f.importing(f.list, "reader", f.n)
	f.syncing(f.n)
	window, err := strconv.Atoi(os.Getenv("NEWSLETTERD_FIGURES_WINDOW"))
	if err == nil {
		f.campaign(window, f.bareClient(16))
		return
	}
	for _, window := range []int{64, 16, 256} {
		f.campaign(window, f.bareClient(16)) // beside each other: the machine may have other work
	}
	f.besideACampaign()
	f.tracked()
	f.signed()
	other := f.otherTenant()
	f.twoTenants(other)
	f.farAway(other)
}

// letter is a body that makes mails of about 7 KB.
var letter = func() string {
	var b strings.Builder
	b.WriteString("<html><body><p>Dear {{preferences.first_name | default: \"friend\"}},</p>\n")
	for i := range 34 {
		fmt.Fprintf(&b, "<p>Paragraph %d of a letter that has some length, with words and sentences.</p>\n", i)
	}
	b.WriteString("<p>Greetings to {{preferences.city}}</p></body></html>")
	return b.String()
}()

// campaign measures one job over HTTP to the last message at the sink.
func (f *figures) campaign(window int, bare float64) {
	f.serve(fmt.Sprintf("NEWSLETTERD_SEND_MAX_UNRECORDED=%d", window))
	r := f.job(f.n, func() string { return f.mailing(f.list) })
	f.line(fmt.Sprintf("campaign, window %d, 16 connections", window), "%.0f mails/s (%s), %.2f of the bare client, %s", r.rate, r.mails, r.rate/bare, r.cost)
	f.stop()
}

// tracked measures a job of which opens and clicks are tracked, in a letter with ten links.
func (f *figures) tracked() {
	f.serve()
	body := letter
	for i := range 10 {
		body = strings.Replace(body, "that has some length", fmt.Sprintf(`<a href="https://shop.example/articles/%d">that has some</a> length`, i), 1)
	}
	r := f.job(f.n, func() string {
		return f.mailing(f.list, map[string]any{"body_html": body, "tracking": map[string]bool{"open": true, "click": true}})
	})
	f.line("campaign, opens and 10 links tracked", "%.0f mails/s (%s), %s", r.rate, r.mails, r.cost)
	f.stop()
}

// signed measures a job that is signed with an RSA key, beside what this machine signs with nothing else to do.
func (f *figures) signed() {
	tenant := f.command("id", "admin", "tenant", "create", "--name", "Signet", "--domain", "acme.example")
	list := f.command("id", "admin", "list", "create", "--tenant", tenant, "--name", "Monthly")
	f.command("", "admin", "dkim", "create", "--tenant", tenant, "--domain", "acme.example")
	n := max(f.n/8, 1000)
	f.importing(list, "signed", n)
	f.syncing(f.count("SELECT count(*) FROM subscriber") + n)
	limit, each := f.rsaLimit()
	f.serve("NEWSLETTERD_MAIL_FROM=news@acme.example")
	r := f.job(n, func() string { return f.mailing(list) })
	f.line("campaign, DKIM RSA-2048", "%.0f mails/s (%s), %.2f of the %.0f that RSA allows, which is %.2f of the CPU; %s", r.rate, r.mails,
		r.rate/limit, limit, each.Seconds()/r.cpu.Seconds(), r.cost)
	f.stop()
}

// rsaLimit is how many signatures a second all CPUs make with an RSA key of 2048 bits, and the CPU that each takes.
func (f *figures) rsaLimit() (rate float64, each time.Duration) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	f.must(err)
	var signed atomic.Int64
	cpu0, _ := usage(os.Getpid())
	began := time.Now()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for sum := make([]byte, 32); time.Since(began) < 2*time.Second; signed.Add(1) {
				if _, err := key.Sign(rand.Reader, sum, crypto.SHA256); err != nil {
					f.Error(err)
				}
			}
		})
	}
	wg.Wait()
	cpu, _ := usage(os.Getpid())
	return float64(signed.Load()) / time.Since(began).Seconds(), (cpu - cpu0) / time.Duration(signed.Load())
}

// run is what one job took.
type run struct {
	rate        float64       // mails a second
	cpu         time.Duration // of the daemon for a mail
	mails, cost string
}

// job makes a job to n people and waits for its last message at the sink, and for its end.
func (f *figures) job(n int, start func() (job string)) run {
	pid := f.daemon.Process.Pid
	before := f.sink.stats()
	cpu0, _ := usage(pid)
	began := time.Now()
	job := start()
	f.every(10*time.Millisecond, func() bool { return f.sink.stats().Count-before.Count >= int64(n) })
	took := time.Since(began)
	f.every(5*time.Millisecond, func() bool { return f.get("/api/send-jobs/"+job, "status") == string(core.JobCompleted) })
	cpu, peak := usage(pid)
	after := f.sink.stats()
	count := after.Count - before.Count
	return run{
		rate:  float64(n) / took.Seconds(),
		cpu:   (cpu - cpu0) / time.Duration(n),
		mails: fmt.Sprintf("%d mails of %.1f KB", count, float64(after.Bytes-before.Bytes)/float64(count)/1000),
		cost:  fmt.Sprintf("%.3f CPU s/1000, peak RSS %d MB", (cpu-cpu0).Seconds()*1000/float64(n), peak>>20),
	}
}

// mailing makes a job and returns its id.
func (f *figures) mailing(list string, more ...map[string]any) string {
	job := map[string]any{"list_id": list, "subject": "News for {{preferences.first_name}}", "body_html": letter}
	for _, m := range more {
		maps.Copy(job, m)
	}
	return f.post("/api/send-jobs", job, "send_job_id")
}

// cancel ends jobs, so that the next daemon does not go on with them.
func (f *figures) cancel(jobs ...string) {
	for _, job := range jobs {
		f.post("/api/send-jobs/"+job+"/cancel", nil, "")
	}
}

// otherTenant makes a second tenant with a list of a quarter of the people.
func (f *figures) otherTenant() (list string) {
	tenant := f.command("id", "admin", "tenant", "create", "--name", "Bolt")
	list = f.command("id", "admin", "list", "create", "--tenant", tenant, "--name", "Monthly")
	f.importing(list, "other", f.n/4)
	f.syncing(f.count("SELECT count(*) FROM subscriber") + f.n/4)
	return list
}

// twoTenants measures how a large job and a small one of another tenant share the connections while both run.
func (f *figures) twoTenants(other string) {
	f.serve()
	large := f.mailing(f.list)
	sent := func(job string) float64 {
		n, err := strconv.ParseFloat(f.get("/api/send-jobs/"+job+"/stats", "sent"), 64)
		f.must(err)
		return n
	}
	f.every(time.Millisecond, func() bool { return sent(large) > 0 })
	small := f.mailing(other)
	f.every(time.Millisecond, func() bool { return sent(small) > 0 })
	began, small0, large0 := time.Now(), sent(small), sent(large)
	f.every(20*time.Millisecond, func() bool { return sent(small) > float64(f.n)/4*0.8 })
	ofSmall, ofLarge := sent(small)-small0, sent(large)-large0
	f.line("two tenants at once", "%.0f mails/s in all, the later and smaller job sends %.2f of what the other does",
		(ofSmall+ofLarge)/time.Since(began).Seconds(), ofSmall/ofLarge)
	f.cancel(large, small)
	f.stop()
}

// farAway measures mails a second and connection over a relay whose replies take 20 ms.
func (f *figures) farAway(list string) {
	const delay, lanes, span = 20 * time.Millisecond, 16, 5 * time.Second
	sink := f.startSink(delay)
	_, port, _ := strings.Cut(sink.addr, ":")
	f.serve("NEWSLETTERD_MAIL_SMTP_PORT=" + port)
	job := f.mailing(list)
	f.every(time.Millisecond, func() bool { return sink.stats().Count >= lanes })
	began, before := time.Now(), sink.stats().Count
	<-time.After(span)
	rate := float64(sink.stats().Count-before) / time.Since(began).Seconds()
	f.line(fmt.Sprintf("replies after %v, %d connections", delay, lanes), "%.1f mails/s a connection", rate/lanes)
	f.cancel(job)
	f.stop()
}

// bareClient is the same SMTP client with nothing behind it: mails of the same size, no database, no rendering.
func (f *figures) bareClient(lanes int) float64 {
	data := []byte("Subject: x\r\n\r\n" + strings.Repeat("A line of a letter with seventy-eight characters in it, as lines have.\r\n", 97))
	var left atomic.Int64
	left.Store(int64(f.n))
	smtp := &mail.SMTP{Addr: f.sink.addr}
	began := time.Now()
	var wg sync.WaitGroup
	for range lanes {
		wg.Go(func() {
			err := smtp.Deliver(f.Context(), &mail.Source{
				Next: func(context.Context, bool) (*mail.Envelope, bool) {
					return &mail.Envelope{From: "a@example.org", To: "b@example.org", Data: data}, left.Add(-1) >= 0
				},
				Commit: func(*mail.Envelope) bool { return true },
				Done:   func(*mail.Envelope, mail.Outcome) {},
			})
			if err != nil {
				f.Error(err)
			}
		})
	}
	wg.Wait()
	rate := float64(f.n) / time.Since(began).Seconds()
	f.line(fmt.Sprintf("bare deep-pipelining client, %d connections", lanes), "%.0f mails/s", rate)
	return rate
}
