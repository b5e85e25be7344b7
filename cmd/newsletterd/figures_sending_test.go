package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
	"newsletterd/store/storetest"
)

// askedDuringCampaign limits how many transactional emails are requested during a campaign.
const askedDuringCampaign = 400

// TestFiguresOfSending prints the figures of the send path. NEWSLETTERD_FIGURES_WINDOW only measures campaigns with
// that window, or signed ones for "dkim". NEWSLETTERD_FIGURES_ROUNDS is their number.
func TestFiguresOfSending(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	f := figurestest.New(t)
	f.Build()
	f.Serve()
	f.Stop()
	f.Records()
	f.Prepare(func(s *storetest.Seeder) { // before this process opens the daemon's file
		for i := range askedDuringCampaign / 2 {
			s.NewUser(core.Email(figurestest.Forgetful(i)), "", func(u *core.User) { u.EmailVerified = false })
		}
	})
	f.Import(f.List, "reader", f.N)
	f.Sync(f.N)
	only := os.Getenv("NEWSLETTERD_FIGURES_WINDOW")
	rounds, _ := strconv.Atoi(os.Getenv("NEWSLETTERD_FIGURES_ROUNDS"))
	rounds = max(rounds, 1)
	if only == "dkim" {
		f.Signed(rounds)
		return
	}
	if window, err := strconv.Atoi(only); err == nil {
		f.Campaigns(rounds, window)
		return
	}
	f.Campaigns(rounds, 64, 16, 256)

	// Measure transactional emails, alone and during a campaign at full speed.
	f.Serve()
	alone, n := f.MailsToOne("alone", func(asked int) bool { return asked == askedDuringCampaign/10 })
	f.Line("mail to one person, alone", "median %v, slowest %v (%d of them)", alone[0], alone[1], n)
	before := f.Sink.Stats().Count
	job := f.Mail(f.List)
	f.Every(time.Millisecond, func() bool { return f.Sink.Stats().Count > before })
	during, n := f.MailsToOne("beside", func(asked int) bool {
		return asked == askedDuringCampaign || f.Sink.Stats().Count-before >= int64(f.N) ||
			f.JobField(job, "status") != "running"
	})
	f.Line("mail to one person, beside the campaign", "median %v, slowest %v (%d of them)", during[0], during[1], n)
	f.Every(5*time.Millisecond, func() bool { return f.JobField(job, "status") == "completed" })
	f.Stop()

	// Track opens and clicks in a letter with ten links.
	f.Serve()
	body := figurestest.Letter
	for i := range 10 {
		body = strings.Replace(body, "that has some length",
			fmt.Sprintf(`<a href="https://shop.example/articles/%d">that has some</a> length`, i), 1)
	}
	r := f.Job(f.N, func() string {
		return f.Mail(f.List, map[string]any{
			"body_html": body,
			"tracking":  map[string]bool{"open": true, "click": true},
		})
	})
	f.Line("campaign, opens and 10 links tracked", "%.0f mails/s (%s), %s", r.Rate, r.Mails, r.Cost)
	f.Stop()

	f.Signed(max(rounds, figurestest.AtMost(f, 3, 1)))

	// Add a second tenant whose list has a quarter of the people.
	tenant := f.Field("id", "admin", "tenant", "create", "--name", "Bolt")
	other := f.Field("id", "admin", "list", "create", "--tenant", tenant, "--name", "Monthly")
	f.Import(other, "other", f.N/4)
	f.Sync(f.Number("SELECT count(*) FROM subscriber") + f.N/4)
	f.TwoTenants(other)
	f.FarAway(other)
}
