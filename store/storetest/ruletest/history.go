package ruletest

import (
	"fmt"

	"newsletterd/core"
	"newsletterd/store/db/dbtest"
)

// sendings are the campaigns that a crowd receives: days ago, tracking, and the lists in order.
var sendings = []struct {
	ago      int
	tracking string
	lists    []int
}{
	{200, core.TrackingPersons, []int{0}},
	{120, core.TrackingPersons, []int{1, 0}},
	{61, core.TrackingTotals, []int{0}},
	{40, core.TrackingPersons, []int{1}},
	{31, core.TrackingOff, []int{0, 1}},
	{14, core.TrackingPersons, []int{0, 1}},
	{7, core.TrackingTotals, []int{1}},
	{3, core.TrackingPersons, []int{0}},
	{1, core.TrackingPersons, []int{0}},
}

// choices are the marks of recipients: opened or clicked, by people and by programs.
var choices = []core.Marks{
	0, 0, core.MarkDelivered, core.MarkOpened | core.MarkReadByPerson, core.MarkOpened | core.MarkReadUnclear,
	core.MarkOpened | core.MarkReadByScanner, core.MarkOpened | core.MarkMachineOpened, core.MarkOpened,
	core.MarkClicked, core.MarkClicked | core.MarkMachineClicked,
	core.MarkClicked | core.MarkOpened | core.MarkReadUnclear,
}

// send sends the campaigns and lets some people open them and click.
func (c *Crowd) send() {
	for i := range sendings {
		s := &sendings[i]
		at := c.At(c.Time() - core.Instant(s.ago)*day - core.Instant(c.Random.Int64N(int64(day/2))))
		made := at.NewCampaign(c.Lists[0], func(f *core.CampaignFields) {
			f.ListIDs, f.Tracking, f.Polls = nil, s.tracking, []core.Poll{{Question: "?", Options: options}}
			for _, l := range s.lists {
				f.ListIDs = append(f.ListIDs, c.Lists[l].ID)
			}
		})
		made, err := c.Campaign(c.Context(), made.ID)
		c.Must(err)
		d, err := at.Draft(c.Context(), &made, 0, plainParts, at.Time())
		c.Must(err)
		j := at.Start(at.SendDraft(&d))
		if s.tracking == core.TrackingTotals {
			c.Must(c.CountTotals(c.Context(), j.No, false))
		} else if s.tracking == core.TrackingPersons && c.asks {
			c.Must(c.CountTotals(c.Context(), j.No, true))
		}
		c.read(j, s.tracking)
		c.Campaigns = append(c.Campaigns, j.CampaignID)
	}
}

// options are the options of each campaign's poll.
var options = core.Strings{"Äpfel", "7", "pears"}

// answer lets some recipients answer the polls of the campaigns.
func (c *Crowd) answer() {
	for _, campaign := range c.Campaigns {
		var rows []any
		var seqs []int64
		c.Must(c.All(c.Context(), &seqs, `SELECT r.seq FROM send_job AS j JOIN recipient AS r ON r.job_no = j.no
			WHERE j.campaign_id = ? ORDER BY r.email_key`, campaign))
		for _, seq := range seqs {
			if c.Random.IntN(3) == 0 {
				rows = append(rows, []any{seq, 1 + c.Random.IntN(len(options))})
			}
		}
		c.sql(fmt.Sprintf(`INSERT INTO poll_answer (poll_no, list_id, subscriber_id, option, at)
			SELECT p.no, s.list_id, s.id, v.value ->> 1, 1 FROM json_each(?) AS v JOIN send_job AS j
			ON j.campaign_id = '%[1]s' JOIN recipient AS r ON r.job_no = j.no AND r.seq = v.value ->> 0
			JOIN subscriber AS s ON s.id = r.subscriber_id JOIN poll AS p ON p.campaign_id = '%[1]s'`, campaign), rows)
	}
}

func plainParts(f *core.CampaignFields, _ *core.Theme, _ *core.List, _ *core.Tenant) (html, text string, err error) {
	return "", f.Content.Source, nil
}

// read decides what happened to a job's emails.
func (c *Crowd) read(j core.SendJob, tracking string) {
	var rows, clicks []any
	var seqs []int64 // in the order of addresses, because ids differ between runs
	c.Must(c.All(c.Context(), &seqs, "SELECT seq FROM recipient WHERE job_no = ? ORDER BY email_key", j.No))
	for _, seq := range seqs {
		state, ambiguous := 2, 0
		if c.Random.IntN(5) == 0 {
			state, ambiguous = 3+c.Random.IntN(2), c.Random.IntN(2)
		}
		rows = append(rows, []any{seq, state, ambiguous, int(choices[c.Random.IntN(len(choices))])})
		for link := 1; link <= 2; link++ {
			if c.Random.IntN(4) == 0 {
				clicks = append(clicks, []any{seq, link, c.Random.IntN(4)})
			}
		}
	}
	dbtest.SQL(c.DB, "UPDATE send_job SET status = 'completed', finished_at = started_at + 1, clicked = 9, "+
		"sent = recipients "+
		"WHERE no = ?", j.No)
	c.sql(fmt.Sprintf(`WITH v AS MATERIALIZED (SELECT value ->> 0 AS seq, value ->> 1 AS state, value ->> 2
		AS ambiguous, value ->> 3 AS marks FROM json_each(?)) UPDATE recipient SET state = v.state,
		ambiguous = v.ambiguous, marks = v.marks FROM v WHERE job_no = %d AND recipient.seq = v.seq`, j.No), rows)
	if tracking != core.TrackingPersons {
		return
	}
	for no := 1; no <= 2; no++ {
		dbtest.SQL(c.DB, "INSERT INTO link (job_no, no, url) VALUES (?, ?, 'https://acme.example/')", j.No, no)
		c.Links = append(c.Links, core.RuleLink{Campaign: j.CampaignID, Link: int64(no)})
	}
	c.sql(fmt.Sprintf(`INSERT INTO engagement (job_no, seq, link_no, first_at, last_at, times, machine, class)
		SELECT %d, value ->> 0, value ->> 1, 1, 1, 1, 0, value ->> 2 FROM json_each(?)`, j.No), clicks)
}
