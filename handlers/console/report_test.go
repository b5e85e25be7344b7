package console

import (
	"strings"
	"testing"

	"newsletterd/core"
)

// If a send was undone and the campaign was sent later, the sum has only the numbers of the later send.
func TestSumOfAMailingThatWasTakenBack(t *testing.T) {
	back := jobRow{JobView: core.JobView{Status: core.JobCancelled, Stats: core.Stats{Opens: &core.OpenFigures{}}}}
	people, none := int64(1), int64(0)
	opens := core.OpenFigures{Measured: true, People: &people, CantTell: &none, Scanners: &none}
	sent := jobRow{JobView: core.JobView{
		Status: core.JobCompleted, Stats: core.Stats{Recipients: 2, Sent: 2, Opens: &opens},
	}}
	sum := sumJobs([]jobRow{sent, back})
	if sum.Recipients != 2 || sum.Sent != 2 || !sum.Opens.Measured || *sum.Opens.People != 1 {
		t.Errorf("%+v", sum)
	}
	if sum := sumJobs([]jobRow{back}); sum.Sent != 0 {
		t.Errorf("%+v", sum)
	}
}

// Hard rejections in the first send are not recipients of the retry, so they count as failed only in the first send.
func TestSumOfARetryWithoutRefusedAddresses(t *testing.T) {
	first := jobRow{JobView: core.JobView{
		Status: core.JobCompleted, Stats: core.Stats{Recipients: 100, Sent: 80, Failed: 20, Bounced: 12},
	}}
	retry := jobRow{JobView: core.JobView{
		Status: core.JobCompleted, Stats: core.Stats{Recipients: 8, Sent: 7, Failed: 1, Bounced: 2},
	}}
	sum := sumJobs([]jobRow{retry, first})
	if sum.Sent != 87 || cameBack(&sum) != 1 || got(&sum, cameBack(&sum)) != 86 {
		t.Errorf("%+v: %d bounced later", sum, cameBack(&sum))
	}
}

// Automated opens and clicks are shown next to those of people.
func TestFiguresOfPrograms(t *testing.T) {
	for lang, want := range map[string][2]string{
		"en": {
			"2 people · +1 by a link scanner",
			"2 people · +1 by a privacy proxy · +3 by link scanners",
		},
		"de": {
			"2 Personen · +1 durch Link-Scanner",
			"2 Personen · +1 durch Privacy-Proxys · +3 durch Link-Scanner",
		},
	} {
		p, s := Page{Lang: lang}, core.Stats{
			Sent: 9,
			Opens: &core.OpenFigures{
				Measured: true, People: new(int64(2)), CantTell: new(int64(1)),
				Scanners: new(int64(3)),
			},
			Clicks: &core.ClickFigures{Measured: true, People: new(int64(2)), Scanners: new(int64(1))},
		}
		got := p.reportTiles("id", &s, 0, &usualFigures{})
		if opened, clicked := notes(got[1]), notes(got[2]); clicked != want[0] || opened != want[1] || len(got) != 4 {
			t.Errorf("%s: %q, %q", lang, clicked, opened)
		}
	}
}

// notes joins the notes below a figure.
func notes(t reportTile) string {
	all := make([]string, len(t.Notes))
	for i, n := range t.Notes {
		all[i] = n.Text
	}
	return strings.Join(all, " · ")
}

// A report starts with the numbers of people who got the email, opened it and clicked, and shows who didn't get it.
// Without tracking, it has no numbers of opens and clicks.
func TestTilesOfAReport(t *testing.T) {
	p := Page{Lang: "en"}
	s := core.Stats{
		Recipients: 200, Sent: 176, Deferred: 18, Failed: 5, Skipped: 1, Bounced: 8, Unsubscribed: 2,
		Complained: 1,
	}
	got := p.reportTiles("id", &s, 3, &usualFigures{})
	if len(got) != 2 || got[0].Figure != "173" || got[0].Label != "Delivered" ||
		notes(got[0]) != "86.5% of 200 · 18 retrying · 5 not delivered · 3 bounced later · 1 skipped" ||
		notes(got[1]) != "1.1% · 1 marked as spam" || got[1].Notes[1].Tone != "bad" {
		t.Errorf("%+v", got)
	}
}

// Clicks that are counted without people are times, and there are no recipients to open.
func TestReportOfTotals(t *testing.T) {
	s := core.Stats{
		Opens:  &core.OpenFigures{Measured: true, Totals: true, People: new(int64(2))},
		Clicks: &core.ClickFigures{Measured: true, Totals: true, People: new(int64(1))},
	}
	p := Page{Lang: "de"}
	if got := p.Opened(&s) + " " + p.Clicked(&s); got != "2 1" {
		t.Errorf("%q", got)
	}
	d := reportData{All: s}
	if s.Clicks.Totals = false; d.Counted() {
		t.Error("clicks of people count as clicks without people")
	}
	if s.Clicks.Totals = true; !d.Counted() {
		t.Error("clicks without people count as clicks of people")
	}
}

// A rate is compared with the median of earlier rates if enough people are counted and the difference is not random.
func TestComparedWithTheLastCampaigns(t *testing.T) {
	last := []float64{.5, .4, .3, .2}
	for _, c := range []struct {
		name   string
		last   []float64
		share  float64
		of     int64
		usual  string
		change Badge
	}{
		{"better", last, .45, 1000, "Median of your last 4: 35.0%", Badge{"+10.0 points", "good"}},
		{"worse", last, .3, 1000, "Median of your last 4: 35.0%", Badge{"−5.0 points", "bad"}},
		{"chance", last, .36, 1000, "Median of your last 4: 35.0%", Badge{}},
		{"nobody, as usual", []float64{0, 0, 0}, 0, 1000, "Median of your last 3: 0.0%", Badge{}},
		{"few people", last, .9, 99, "Median of your last 4: 35.0%", Badge{}},
		{"odd", last[:3], .4, 1000, "Median of your last 3: 40.0%", Badge{}},
		{"few campaigns", last[:2], .9, 1000, "", Badge{}},
	} {
		var tile reportTile
		p := Page{Lang: "en"}
		p.compare(&tile, c.share, c.of, c.last, false)
		if tile.Usual != c.usual || tile.Change != c.change || c.share > 0 && (c.usual == "") != (tile.Bars == "") {
			t.Errorf("%s: %+v", c.name, tile)
		}
	}
	var tile reportTile
	p := Page{Lang: "de"}
	if p.compare(&tile, .01, 5000, []float64{.05, .05, .05}, true); tile.Change != (Badge{
		"−4,0 Prozentpunkte",
		"good",
	}) {
		t.Errorf("of those who have left: %+v", tile.Change)
	}
	if bars := string(smallBars([]float64{.2, .1}, .4)); strings.Index(bars, `height="6.0"`) > strings.Index(bars,
		`height="12.0"`) ||
		!strings.Contains(bars, `class="bar" x="22" y="0.0"`) {
		t.Errorf("the oldest first: %s", bars)
	}
}

// The axis of a line chart starts near the values, so that changes are visible.
func TestLinesBeginNearTheirValues(t *testing.T) {
	for _, c := range []struct {
		values    []int64
		base, top float64
	}{
		{[]int64{4510, 5118, 4800}, 4400, 5200},
		{[]int64{7, 7}, 7, 8},
		{[]int64{0, 12}, 0, 12},
	} {
		s := newLineScale(c.values)
		if s.base > c.base+1e-9 || s.base < c.base-200 || s.top < c.top-200 || s.y(s.base) != s.bottom {
			t.Errorf("%v: %+v", c.values, s)
		}
	}
}

// Reasons for a pause are stored in English. German pages show their figures in German.
func TestPauseReasonsAreTranslated(t *testing.T) {
	p := &Page{Lang: "de"}
	job := core.SendJob{Status: core.JobRunning}
	job.Sent, job.Failed, job.HardBounced, job.Complained = 90, 10, 10, 5
	few, policy := job, job
	policy.HardBounced = 0
	complaints := core.StopRule{Complaints: 0.01, Sample: 10}
	for reason, want := range map[string]string{
		few.FirstFault(0):     "10 von 100 Adressen gibt es nicht",
		policy.FirstFault(10): "10 von 100 E-Mails wurden aufgrund von Richtlinien abgelehnt",
		core.StopRule{HardBounces: 0.01, Sample: 10}.Judge(&few): "10 von 100",
		complaints.Judge(&few): "5 von 90",
		core.ReasonRelay:       "Mailserver",
	} {
		v := core.JobView{Status: core.JobRunning, PauseReason: reason}
		if got := p.waitOf(&v); !strings.Contains(got, want) {
			t.Errorf("%q: %s", reason, got)
		}
	}
}

// The deliverability names the numbers and leads to the people. It doesn't alarm about a few emails.
func TestDeliverabilityOfAFewEmails(t *testing.T) {
	p := &Page{Lang: "en"}
	of := func(sent, failed int64) rateRow {
		d := overviewData{Counts: core.ListCounts{Bounced: failed}, Last: []jobRow{
			{JobView: core.JobView{Stats: core.Stats{Sent: sent, Failed: failed, Bounced: failed}}},
		}}
		return p.through(&d)[1]
	}
	if r := of(5, 2); r.Rate != "28.6%" || r.Over || r.Limit != "" || !strings.HasPrefix(r.Of, "2 of 7 emails") ||
		!strings.HasSuffix(r.To, "/people?status=bounced") {
		t.Errorf("%+v", r)
	}
	if r := of(90, 10); !r.Over || r.Limit == "" {
		t.Errorf("%+v", r)
	}
	if r := of(100, 0); r.Over || r.Limit == "" || r.To != "" {
		t.Errorf("%+v", r)
	}
}

// A campaign counts as sent while only a full mailbox remains, even if someone was blocked after the review.
func TestReportWhileOneMailboxIsRetried(t *testing.T) {
	p := Page{Lang: "en"}
	j := jobRow{JobView: core.JobView{
		Status: core.JobRunning, Expected: 5, Stats: core.Stats{Recipients: 4, Sent: 3, Deferred: 1},
	}}
	if j.Rest() {
		t.Error("counts as sent before all recipients are known")
	}
	j.Expanded = true
	d := reportData{Job: &j, All: j.Stats, Total: j.Total()}
	if got := p.jobBadge(&j); !d.Rest() || got.Text != "Sent, 1 retrying" {
		t.Errorf("Rest %v, badge %q", d.Rest(), got.Text)
	}
	if got := p.Fewer(&d); !strings.HasPrefix(got, "5 ") || !strings.Contains(got, " 1 more ") {
		t.Errorf("the report says %q", got)
	}
	if j.Expected = 4; p.Fewer(&d) != "" {
		t.Errorf("the report says %q", p.Fewer(&d))
	}
	j.Stats.Sent, j.Stats.Deferred = 2, 2
	if j.Rest() || p.jobBadge(&j).Text != "Sending" {
		t.Error("counts as sent while half of the emails are retried")
	}
}
