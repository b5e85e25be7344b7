package figurestest

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/mail/smtp"
)

// Letter is a body that produces emails of about 7 KB.
var Letter = func() string {
	var b strings.Builder
	b.WriteString("<html><body><p>Dear {{preferences.first_name | default: \"friend\"}},</p>\n")
	for i := range 34 {
		fmt.Fprintf(&b, "<p>Paragraph %d of a letter that has some length, with words and sentences.</p>\n", i)
	}
	b.WriteString("<p>Greetings to {{preferences.city}}</p></body></html>")
	return b.String()
}()

// Campaigns measures jobs over HTTP until the last message arrives at the sink, with CHUNKING and with DATA. Before and
// after each job, it measures the bare client, which uses DATA, because the machine's speed can change.
func (f *Figures) Campaigns(rounds int, windows ...int) {
	chunks := f.Sink
	defer func() { f.Sink = chunks }()
	sinks := map[string]*daemontest.Sink{"CHUNKING": chunks, "DATA": f.StartDataSink()}
	before := f.bareClient(16)
	for _, window := range windows {
		ratios := map[string][]float64{}
		name := func(by string) string { return fmt.Sprintf("campaign, window %d, 16 connections, %s", window, by) }
		for range rounds {
			for by, sink := range sinks {
				f.Sink = sink
				f.Serve(append(daemontest.Relay(sink.Addr),
					fmt.Sprintf("NEWSLETTERD_SEND_MAX_UNRECORDED=%d", window))...)
				r := f.Job(f.N, func() string { return f.Mail(f.List) })
				f.Stop()
				after := f.bareClient(16)
				ratio := 2 * r.Rate / (before + after)
				f.Line(name(by), "%.0f mails/s (%s), %.2f of the bare client, %s", r.Rate, r.Mails, ratio, r.Cost)
				ratios[by], before = append(ratios[by], ratio), after
			}
		}
		for by := range sinks {
			f.median(ratios[by], name(by), "of the bare client")
		}
	}
}

// median prints the median of the ratios from several rounds.
func (f *Figures) median(ratios []float64, name, of string) {
	if n := len(ratios); n > 1 {
		slices.Sort(ratios)
		f.Line(name, "%.3g %s, the median of %d rounds (%.3g to %.3g)", ratios[n/2], of, n, ratios[0], ratios[n-1])
	}
}

// Signed measures jobs whose emails are signed with an RSA key. Before and after each job, it measures the idle
// machine's signing speed, because that can change. It also measures the signatures' share of all CPU time, which
// doesn't depend on the speed.
func (f *Figures) Signed(rounds int) {
	tenant := f.Field("id", "admin", "tenant", "create", "--name", "Signet", "--domain", "acme.example")
	list := f.Field("id", "admin", "list", "create", "--tenant", tenant, "--name", "Monthly")
	f.Run("admin", "dkim", "create", "--tenant", tenant, "--domain", "acme.example")
	n := max(f.N/16, 1000)
	f.Import(list, "signed", n)
	f.Sync(f.Number("SELECT count(*) FROM subscriber") + n)
	before := f.rsaLimit()
	var ratios, shares []float64
	for range rounds {
		f.Serve("NEWSLETTERD_MAIL_FROM=news@acme.example")
		share := make(chan float64, 1)
		r := f.Job(n, func() string {
			defer func() { go func() { share <- f.shareOfCPU("crypto/rsa", time.Second) }() }()
			return f.Mail(list)
		})
		shares = append(shares, <-share)
		f.Stop()
		after := f.rsaLimit()
		limit := (before + after) / 2
		f.Line("campaign, DKIM RSA-2048",
			"%.0f mails/s (%s), %.2f of the %.0f that RSA allows; RSA takes %.3f of all CPU time; %s", r.Rate, r.Mails,
			r.Rate/limit, limit, shares[len(shares)-1], r.Cost)
		ratios, before = append(ratios, r.Rate/limit), after
	}
	f.median(ratios, "campaign, DKIM RSA-2048", "of what RSA allows")
	f.median(shares, "campaign, DKIM RSA-2048", "of all CPU time for RSA")
}

// shareOfCPU returns the share of all CPU time that the daemon spends in a package, over a period that starts in a
// tenth of a second. It is 0 if the daemon finishes before that.
func (f *Figures) shareOfCPU(pkg string, while time.Duration) float64 {
	<-time.After(100 * time.Millisecond)
	res, err := f.HTTP.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", f.metrics, while.Seconds()))
	if err != nil {
		f.Error(err)
		return 0
	}
	defer res.Body.Close()
	file := filepath.Join(f.Dir, "profile")
	b, err := io.ReadAll(res.Body)
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		f.Error(err)
		return 0
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-unit=ms", "-focus="+pkg, file).Output()
	m := regexp.MustCompile(`(?s)Duration: ([\d.]+)(m?s).*accounting for ([\d.]+)(?:ms)?,`).FindSubmatch(out)
	if err != nil || m == nil {
		f.Errorf("%v: %s", err, out)
		return 0
	}
	took, err1 := time.ParseDuration(string(m[1]) + string(m[2]))
	spent, err2 := time.ParseDuration(string(m[3]) + "ms")
	if err := errors.Join(err1, err2); err != nil {
		f.Error(err)
	}
	return spent.Seconds() / took.Seconds() / float64(runtime.NumCPU())
}

// rsaLimit returns how many signatures per second all CPUs create with a 2048-bit RSA key.
func (f *Figures) rsaLimit() float64 {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	f.Must(err)
	long := AtMost(f, 2*time.Second, time.Second/4)
	var signed atomic.Int64
	began := time.Now()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for sum := make([]byte, 32); time.Since(began) < long; signed.Add(1) {
				if _, err := key.Sign(rand.Reader, sum, crypto.SHA256); err != nil {
					f.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return float64(signed.Load()) / time.Since(began).Seconds()
}

// Run is the cost of one job.
type Run struct {
	Rate        float64 // emails per second
	Mails, Cost string  // for display
}

// Job starts a job for n people, and waits until its last message has reached the sink and the job has ended.
func (f *Figures) Job(n int, start func() (job string)) Run {
	pid := f.PID()
	before := f.Sink.Stats()
	cpu0, _ := daemontest.Usage(pid)
	began := time.Now()
	job := start()
	// The interval is long because polling slows down sending.
	f.Every(100*time.Millisecond, func() bool { return f.Sink.Stats().Count-before.Count >= int64(n) })
	took := time.Unix(0, f.Sink.Stats().Last).Sub(began)
	f.Every(5*time.Millisecond, func() bool { return f.JobField(job, "status") == "completed" })
	cpu, peak := daemontest.Usage(pid)
	after := f.Sink.Stats()
	count := after.Count - before.Count
	return Run{
		Rate:  float64(n) / took.Seconds(),
		Mails: fmt.Sprintf("%d mails of %.1f KB", count, float64(after.Bytes-before.Bytes)/float64(count)/1000),
		Cost:  fmt.Sprintf("%.3f CPU s/1000, peak RSS %d MB", (cpu-cpu0).Seconds()*1000/float64(n), peak>>20),
	}
}

// Mail creates a job and returns its ID.
func (f *Figures) Mail(list string, more ...map[string]any) string {
	job := map[string]any{"list_id": list, "subject": "News for {{preferences.first_name}}", "body_html": Letter}
	for _, m := range more {
		maps.Copy(job, m)
	}
	return f.Send("POST", "/api/send-jobs", job).OK().Field("send_job_id")
}

// JobField returns one field of a job from the daemon's response.
func (f *Figures) JobField(job, name string) string {
	return f.Get("/api/send-jobs/" + job).OK().Field(name)
}

// Cancel cancels jobs, so the next daemon does not continue them.
func (f *Figures) Cancel(jobs ...string) {
	for _, job := range jobs {
		f.Send("POST", "/api/send-jobs/"+job+"/cancel", nil).OK()
	}
}

// TwoTenants measures how a large job shares the connections with another tenant's small job.
func (f *Figures) TwoTenants(other string) {
	f.Serve()
	large := f.Mail(f.List)
	sent := func(job string) float64 {
		n, err := strconv.ParseFloat(f.Get("/api/send-jobs/"+job+"/stats").OK().Field("sent"), 64)
		f.Must(err)
		return n
	}
	f.Every(time.Millisecond, func() bool { return sent(large) > 0 })
	small := f.Mail(other)
	f.Every(time.Millisecond, func() bool { return sent(small) > 0 })
	began, small0, large0 := time.Now(), sent(small), sent(large)
	f.Every(20*time.Millisecond, func() bool { return sent(small) > float64(f.N)/4*0.8 })
	ofSmall, ofLarge := sent(small)-small0, sent(large)-large0
	f.Line("two tenants at once", "%.0f mails/s in all, the later and smaller job sends %.2f of what the other does",
		(ofSmall+ofLarge)/time.Since(began).Seconds(), ofSmall/ofLarge)
	f.Cancel(large, small)
	f.Stop()
}

// FarAway measures emails per second and connection through a relay whose replies take 20 ms.
func (f *Figures) FarAway(list string) {
	const delay, lanes = 20 * time.Millisecond, 16
	span := AtMost(f, 5*time.Second, time.Second/4)
	sink := f.StartSink(delay)
	f.Serve(daemontest.Relay(sink.Addr)...)
	job := f.Mail(list)
	f.Every(time.Millisecond, func() bool { return sink.Stats().Count >= lanes })
	began, before := time.Now(), sink.Stats().Count
	<-time.After(span)
	rate := float64(sink.Stats().Count-before) / time.Since(began).Seconds()
	f.Line(fmt.Sprintf("replies after %v, %d connections", delay, lanes), "%.1f mails/s a connection", rate/lanes)
	f.Cancel(job)
	f.Stop()
}

// bareClient measures the SMTP client alone: the emails have the same size, but there is no database and no rendering.
func (f *Figures) bareClient(lanes int) float64 {
	data := []byte("Subject: x\r\n\r\n" +
		strings.Repeat("A line of a Letter with seventy-eight characters in it, as lines have.\r\n", 97))
	var left atomic.Int64
	left.Store(int64(f.N))
	client := &smtp.Client{Addr: f.Sink.Addr, NoChunking: true}
	began := time.Now()
	var wg sync.WaitGroup
	for range lanes {
		wg.Go(func() {
			err := client.Deliver(f.Context(), &smtp.Source{
				Next: func(context.Context, bool) (*smtp.Envelope, bool) {
					return &smtp.Envelope{From: "a@example.org", To: "b@example.org", Data: data}, left.Add(-1) >= 0
				},
				Commit: func(*smtp.Envelope, bool) bool { return true },
				Done:   func(*smtp.Envelope, smtp.Outcome) {},
			})
			if err != nil {
				f.Error(err)
			}
		})
	}
	wg.Wait()
	rate := float64(f.N) / time.Since(began).Seconds()
	f.Line(fmt.Sprintf("bare deep-pipelining client, %d connections", lanes), "%.0f mails/s", rate)
	return rate
}
