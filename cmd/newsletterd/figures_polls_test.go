package main

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/markup"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// TestFiguresOfPolls measures answers to a poll that NEWSLETTERD_FIGURES people got. NEWSLETTERD_FIGURES_ANSWERS of
// them answer, spread over all, and every tenth of these does so twice. Link scanners open each link first, which
// counts nothing. The second poll also sets a field, so that each answer is an event.
func TestFiguresOfPolls(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench-pages")
	}
	f := figurestest.New(t)
	n := figurestest.AtMost(f, min(figurestest.Number("NEWSLETTERD_FIGURES_ANSWERS", 20_000), f.N), 500)
	f.Env = append(f.Env, "NEWSLETTERD_SERVER_TRUSTED_PROXIES=127.0.0.1", "NEWSLETTERD_SERVER_PUBLIC_URL=http://localhost")
	f.Build()
	var job int64
	var ident *mail.Ident
	f.Prepare(func(s *storetest.Seeder) { job, ident = manyVoters(s, f.N) })
	f.Serve()
	counted := func(poll int) int {
		return f.Number(fmt.Sprintf("SELECT sum(answers) FROM poll_option WHERE poll_no = %d", poll))
	}
	answer := func(method string, poll, seq int, form string) []byte {
		token := ident.Poll(job, int64(seq*(f.N/n)+1), mail.Answer{Poll: poll, Option: 1 + seq%2})
		from := fmt.Sprintf("HTTP/1.1\r\nX-Forwarded-For: 198.%d.%d.%d\r\n", seq>>16&255, seq>>8&255, seq&255)
		return bytes.Replace(daemontest.Request(method, mail.PollPath+token, "", form), []byte("HTTP/1.1\r\n"), []byte(from), 1)
	}
	pollLoad(f, "pages that scanners open", n, func(seq int) []byte { return answer("GET", 1, seq, "") })
	if got := counted(1); got != 0 {
		t.Errorf("scanners gave %d answers", got)
	}
	for poll, name := range map[int]string{1: "answers", 2: "answers that set a field"} {
		rate := pollLoad(f, name, n+n/10, func(seq int) []byte {
			return answer("POST", poll, seq%n, fmt.Sprintf("option=%d", 1+seq%2))
		})
		if got := counted(poll); got != n {
			t.Errorf("%s: %d people, %d answers", name, n, got)
		}
		f.Line(name, "%.0f a minute, %d people counted once", rate*60, n)
	}
	f.Stop()
}

// pollLoad sends n requests over 8 connections, and returns how many a second were answered.
func pollLoad(f *figurestest.Figures, name string, n int, request func(seq int) []byte) float64 {
	f.Helper()
	var next, failed atomic.Int64
	var wg sync.WaitGroup
	began, cpu := time.Now(), daemontest.CPU(f.PID())
	for range 8 {
		c := f.Dial()
		wg.Go(func() {
			defer c.Close()
			for seq := next.Add(1) - 1; seq < int64(n); seq = next.Add(1) - 1 {
				if status, _, err := c.Do(request(int(seq))); err != nil || status != 200 {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	took, cpu := time.Since(began), daemontest.CPU(f.PID())-cpu
	rate := float64(n) / took.Seconds()
	f.Line(name, "%.0f/s, %d failed; µs of CPU a request: %.0f", rate, failed.Load(),
		float64(cpu.Microseconds())/float64(n))
	if failed.Load() > 0 {
		f.Errorf("%s: %d requests failed", name, failed.Load())
	}
	return rate
}

// manyVoters sends a campaign with two polls to n people who have subscriptions.
func manyVoters(s *storetest.Seeder, n int) (job int64, ident *mail.Ident) {
	l := s.NewList(func(in *core.ListInput) {
		in.Fields = &[]core.Field{{Name: "fruit", Label: "Fruit", Type: core.FieldText}}
	})
	s.Readers(l, n)
	s.Must(s.Update(s.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(`INSERT INTO subscription (list_id, id, email, email_key, status, created_at, changed_at, event_at)
			SELECT list_id, id, email, email_key, 'active', created_at, created_at, created_at FROM subscriber`)
		return err
	}))
	c := s.NewCampaign(l, func(f *core.CampaignFields) {
		f.Content.Source = "{{ poll.1 }}\n\n{{ poll.2 }}\n"
		f.Polls = []core.Poll{
			{Question: "Which fruit?", Options: core.Strings{"Apples", "Pears"}},
			{Question: "Which fruit now?", Options: core.Strings{"Apples", "Pears"}, Field: "fruit"},
		}
	})
	d, err := s.Draft(s.Context(), &c, 0, markup.CampaignParts, s.Time())
	s.Must(err)
	j := s.Finish(s.SendDraft(&d))
	key, err := s.PurposeKey(s.Context(), db.PurposeMessageID)
	s.Must(err)
	return j.No, mail.NewIdent(key)
}
