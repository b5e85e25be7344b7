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

// askedDuringCampaign is how often mails to one person are asked for during a campaign, at most.
const askedDuringCampaign = 400

// TestFiguresOfSending prints the figures of the send path. NEWSLETTERD_FIGURES_WINDOW measures campaigns alone, with
// that window, and as "dkim" signed ones; NEWSLETTERD_FIGURES_ROUNDS says how many.
func TestFiguresOfSending(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	f := figurestest.New(t)
	f.Build()
	f.Serve()
	f.Stop()
	f.Records()
	f.Prepare(func(s *storetest.Seeder) { // before this process asks the daemon's file anything
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

	// how long mails to one person take, alone and while a campaign goes out as fast as it can
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

	// opens and clicks are tracked, in a letter with ten links
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

	// a second tenant with a list of a quarter of the people
	tenant := f.Field("id", "admin", "tenant", "create", "--name", "Bolt")
	other := f.Field("id", "admin", "list", "create", "--tenant", tenant, "--name", "Monthly")
	f.Import(other, "other", f.N/4)
	f.Sync(f.Number("SELECT count(*) FROM subscriber") + f.N/4)
	f.TwoTenants(other)
	f.FarAway(other)
}
