package console

import (
	"slices"
	"strconv"

	"newsletterd/core"
)

// reportStat is a figure with a remark, whose tone is empty or bad.
type reportStat struct {
	Label, Figure, Note, Tone string

	Of string // the event of those whom it counts, where they are named; empty: they are not
}

// reaching returns the mailings but those that were taken back before their first mail, and so have reached no one.
func reaching(jobs []jobRow) []jobRow {
	return slices.DeleteFunc(slices.Clone(jobs), func(j jobRow) bool {
		return j.Status == core.JobCancelled && j.Stats.Recipients == 0
	})
}

// sumJobs adds up what the mailings of one campaign have done. Whom the last one has not reached is what is left.
func sumJobs(jobs []jobRow) core.Stats {
	if sent := reaching(jobs); len(sent) > 0 { // the others have no figures, and measure nothing
		jobs = sent
	}
	sum := jobs[len(jobs)-1].Stats // of the first
	last := &jobs[0].Stats
	sum.Failed, sum.Skipped, sum.Deferred = last.Failed, last.Skipped, last.Deferred
	for i := range len(jobs) - 1 {
		s := &jobs[i].Stats
		sum.Sent += s.Sent
		sum.Delivered += s.Delivered
		sum.Bounced += s.Bounced
		sum.Complained += s.Complained
		sum.Unsubscribed += s.Unsubscribed
		if s.Opens != nil && s.Opens.Measured && sum.Opens != nil && sum.Opens.Measured {
			*sum.Opens.People += *s.Opens.People
			*sum.Opens.CantTell += *s.Opens.CantTell
			*sum.Opens.Scanners += *s.Opens.Scanners
			sum.Opens.Rate = nil
		}
		if s.Clicks != nil && s.Clicks.Measured && sum.Clicks != nil && sum.Clicks.Measured {
			*sum.Clicks.People += *s.Clicks.People
			*sum.Clicks.Scanners += *s.Clicks.Scanners
			sum.Clicks.Rate = nil
		}
	}
	if o := sum.Opens; o != nil && o.Measured && !o.Totals && o.Rate == nil {
		o.Rate = partOf(*o.People, got(&sum, cameBack(&sum))-*o.CantTell)
	}
	if c := sum.Clicks; c != nil && c.Measured && !c.Totals && c.Rate == nil {
		c.Rate = partOf(*c.People, got(&sum, cameBack(&sum)))
	}
	return sum
}

func partOf(part, whole int64) *float64 {
	if whole = max(whole, part); whole == 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}

// got is how many have got the mail: those reported where a provider reports them, else all that were sent and did not
// come back.
func got(s *core.Stats, back int64) int64 {
	if s.Delivered > 0 {
		return s.Delivered
	}
	return max(0, s.Sent-back)
}

// cameBack is how many, at least, mails have come back after they were taken. Bounces are also those that were refused
// at once, which are among the failed.
func cameBack(s *core.Stats) int64 { return max(0, s.Bounced-s.Failed) }

// usualFigures are what is in the middle of the last mailings; nil: there were too few.
type usualFigures struct{ clicked, opened, left *float64 }

// The mailings that one is compared with, and without how many there is nothing usual.
const (
	comparedWith = 10
	usualFrom    = 3
)

// usual reads the figures of the last mailings of the tenant but those of one campaign.
func (p *Page) usual(but string) (u usualFigures, err error) {
	rows, _, err := p.jobs(p.ofTenant("status", string(core.JobCompleted), "limit", strconv.Itoa(comparedWith+1)))
	var clicked, opened, left []float64
	for i := range rows {
		s := &rows[i].Stats
		if rows[i].CampaignID == but || s.Sent == 0 || rows[i].Transport != "" {
			continue
		}
		if s.Clicks != nil && s.Clicks.Rate != nil {
			clicked = append(clicked, *s.Clicks.Rate)
		}
		if s.Opens != nil && s.Opens.Rate != nil {
			opened = append(opened, *s.Opens.Rate)
		}
		left = append(left, float64(s.Unsubscribed)/float64(s.Sent))
	}
	return usualFigures{middle(clicked), middle(opened), middle(left)}, err
}

func middle(all []float64) *float64 {
	if len(all) < usualFrom {
		return nil
	}
	slices.Sort(all)
	return &all[len(all)/2]
}

// complaintLimit is the share of complaints from which on mailbox providers refuse a sender's mail.
const complaintLimit = 0.003

// reportStats are the figures of a mailing, the most telling first. back is how many mails have come back.
func (p *Page) reportStats(s *core.Stats, back int64, u *usualFigures) []reportStat {
	usual := func(rate *float64) string {
		if rate == nil {
			return ""
		}
		return p.T("usually {{rate}}", "rate", p.rate(*rate))
	}
	clicked := reportStat{Label: p.T("Click rate"), Figure: "–", Note: p.T("not tracked")}
	if s.Clicks != nil && s.Clicks.Measured {
		clicked.Figure, clicked.Note = p.Clicked(s), ""
	}
	if c := s.Clicks; c != nil && c.Measured && !c.Totals {
		clicked.Of = "clicked"
		clicked.Note = p.joined(p.N("1 person|{{n}} people", *c.People), p.byMachines(c), usual(u.clicked))
	}
	opened := reportStat{Label: p.T("Open rate"), Figure: "–", Note: p.T("not tracked")}
	if o := s.Opens; o != nil && o.Measured {
		opened.Figure = p.Opened(s)
		people := ""
		if !o.Totals {
			people, opened.Of = p.N("1 person|{{n}} people", *o.People), "opened"
		}
		opened.Note = p.joined(people,
			some(*o.CantTell, p.N("+1 by a privacy proxy|+{{n}} by privacy proxies", *o.CantTell)),
			some(*o.Scanners, p.N("+1 by a link scanner|+{{n}} by link scanners", *o.Scanners)), usual(u.opened))
	}
	left := reportStat{
		Label: p.T("Unsubscribed"), Figure: p.Number(s.Unsubscribed),
		Note: p.joined(p.Percent(s.Unsubscribed, s.Sent), usual(u.left)),
	}
	if u.left != nil && s.Sent > 0 && s.Unsubscribed > 1 && float64(s.Unsubscribed) > 2**u.left*float64(s.Sent) {
		left.Tone = "bad"
	}
	complained := reportStat{
		Label: p.T("Spam complaints"), Figure: p.Number(s.Complained),
		Note: p.T("{{rate}} · keep below 0.3%", "rate", p.Percent(s.Complained, s.Sent)),
	}
	if s.Complained > 0 {
		complained.Of = "complained"
	}
	if s.Sent > 0 && float64(s.Complained) >= complaintLimit*float64(s.Sent) && s.Complained > 0 {
		complained.Tone = "bad"
	}
	delivered := reportStat{
		Label: p.T("Delivered"), Figure: p.Number(got(s, back)),
		Note: p.T("{{part}} of {{all}}", "part", p.Percent(got(s, back), s.Recipients), "all", p.Number(s.Recipients)),
	}
	if s.Delivered > 0 {
		delivered.Label = p.T("Delivered")
	}
	return []reportStat{clicked, opened, left, complained, p.returned(s, back), delivered}
}

// returned is the figure of mails that came back, told apart from those that no server has taken.
func (p *Page) returned(s *core.Stats, back int64) reportStat {
	r := reportStat{
		Label: p.T("Bounced"), Figure: p.Number(back),
		Note: p.joined(p.T("returned after delivery"),
			some(s.Failed, p.N("+1 rejected|+{{n}} rejected", s.Failed))),
	}
	if back > 0 {
		r.Of = "bounced"
	}
	return r
}

// byMachines says in how many mails links were followed by machines alone.
func (p *Page) byMachines(c *core.ClickFigures) string {
	if *c.Scanners == 0 {
		return ""
	}
	return p.N("+1 by a link scanner|+{{n}} by link scanners", *c.Scanners)
}

// joined joins the parts that there are.
func (p *Page) joined(parts ...string) (out string) {
	for _, part := range parts {
		if part != "" && out != "" {
			out += " · "
		}
		out += part
	}
	return out
}

// some returns a text about n, unless there are none.
func some(n int64, text string) string {
	if n == 0 {
		return ""
	}
	return text
}
