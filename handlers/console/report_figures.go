package console

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
)

// reportTile is one of a report's four key figures.
type reportTile struct {
	Label, Figure string
	To            string     // URL of the page with the counted recipients; empty: not available
	Change        Badge      // difference from the usual value, if it is significant
	Notes         []tileNote // remarks below the figure
	Bars          template.HTML
	Usual         string // description of the bars
}

// tileNote is a remark below a figure, optionally with a link to the recipients. Tone is empty, warn or bad.
type tileNote struct{ Text, To, Tone string }

// reaching returns the jobs without those that were undone before their first email.
func reaching(jobs []jobRow) []jobRow {
	return slices.DeleteFunc(slices.Clone(jobs), func(j jobRow) bool {
		return j.Status == core.JobCancelled && j.Stats.Recipients == 0
	})
}

// sumJobs adds up the results of a campaign's jobs. Only the recipients whom the last job didn't reach count as
// unreached.
func sumJobs(jobs []jobRow) core.Stats {
	if sent := reaching(jobs); len(sent) > 0 { // the other jobs have no results
		jobs = sent
	}
	sum := jobs[len(jobs)-1].Stats // start with the first job's results
	last := &jobs[0].Stats
	sum.Failed, sum.Skipped, sum.Deferred = last.Failed, last.Skipped, last.Deferred
	back := cameBack(&jobs[len(jobs)-1].Stats)
	for i := range len(jobs) - 1 {
		s := &jobs[i].Stats
		sum.Sent += s.Sent
		sum.Delivered += s.Delivered
		back += cameBack(s)
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
	sum.Bounced = sum.Failed + back // so that cameBack returns the sum of the jobs' values
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

// got returns the number of delivered emails: those that a provider reported or, without reports, all that were sent
// and didn't bounce.
func got(s *core.Stats, back int64) int64 {
	if s.Delivered > 0 {
		return s.Delivered
	}
	return max(0, s.Sent-back)
}

// cameBack returns the minimum number of emails that bounced after they were accepted. Bounces also include emails that
// were rejected immediately, which count as failed.
func cameBack(s *core.Stats) int64 { return max(0, s.Bounced-s.Failed) }

// usualFigures holds the rates of recent campaigns, newest first.
type usualFigures struct{ opened, clicked, left []float64 }

// Number of recent campaigns for comparison, and the minimum required.
const (
	comparedWith = 10
	usualFrom    = 3
)

// usual reads the rates of the tenant's recent campaigns. but is the id of a campaign to leave out.
func (p *Page) usual(but string) (usualFigures, error) {
	rows, _, err := p.jobs(p.ofTenant("status", string(core.JobCompleted), "limit", strconv.Itoa(2*comparedWith)))
	return usualOf(rows, but), err
}

// usualOf returns the rates of recent campaigns from jobs, which is sorted newest first. but is the id of a campaign to
// leave out. Retries, and jobs that reached no one, don't count.
func usualOf(jobs []jobRow, but string) (u usualFigures) {
	n := 0
	for i := range jobs {
		s := &jobs[i].Stats
		if jobs[i].CampaignID == but || s.Sent == 0 || jobs[i].Transport != "" || jobs[i].RetryOf != "" ||
			n == comparedWith {
			continue
		}
		n++
		if s.Clicks != nil && s.Clicks.Rate != nil {
			u.clicked = append(u.clicked, *s.Clicks.Rate)
		}
		if s.Opens != nil && s.Opens.Rate != nil {
			u.opened = append(u.opened, *s.Opens.Rate)
		}
		u.left = append(u.left, float64(s.Unsubscribed)/float64(s.Sent))
	}
	return u
}

// median returns the median of values, or nil if there are too few.
func median(all []float64) *float64 {
	n := len(all)
	if n < usualFrom {
		return nil
	}
	all = slices.Sorted(slices.Values(all))
	return new((all[(n-1)/2] + all[n/2]) / 2)
}

// compare adds to a tile the median of last, the shares of recent campaigns, and bars for last and share. If share
// differs significantly from the median, it also adds the difference. of is the number of people to whom share refers.
func (p *Page) compare(t *reportTile, share float64, of int64, last []float64, fewerIsBetter bool) {
	usual := median(last)
	if usual == nil {
		return
	}
	t.Usual = p.T("Median of your last {{n}}: {{rate}}", "n", p.Number(int64(len(last))), "rate", p.rate(*usual))
	t.Bars = smallBars(last, share)
	by := share - *usual
	n := float64(of)
	likely := (*usual*n + 1) / (n + 2) // the estimate is never 0 or 1
	if of < comparable || math.Abs(by) < 2*math.Sqrt(likely*(1-likely)/n) {
		return
	}
	t.Change = Badge{p.T("{{n}} points", "n", p.points(by)), "good"}
	if (by < 0) != fewerIsBetter {
		t.Change.Tone = "bad"
	}
}

// comparable is the minimum number of people for comparing shares. With fewer people, shares differ by chance.
const comparable = 100

// points formats a difference between two shares in percentage points, with its sign.
func (p *Page) points(by float64) string {
	text := strings.TrimSuffix(p.rate(math.Abs(by)), formats[p.Lang].percent)
	if by < 0 {
		return "−" + text
	}
	return "+" + text
}

// smallBars draws bars for the shares of recent campaigns, oldest first, followed by the current one. The tile's text
// says the same.
func smallBars(last []float64, share float64) template.HTML {
	const step, width, height = 11, 8, 24
	most := share
	for _, v := range last {
		most = max(most, v)
	}
	if most == 0 {
		return ""
	}
	all := append(slices.Clone(last), share)
	slices.Reverse(all[:len(last)])
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="small-bars" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" aria-hidden="true">`,
		step*len(all)-step+width, height)
	for i, v := range all {
		class, h := "bar second", max(1, v/most*height)
		if i == len(last) {
			class = "bar"
		}
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%.1f" width="%d" height="%.1f" rx="1"/>`, class, i*step, height-h,
			width, h)
	}
	return template.HTML(b.String() + "</svg>") //nolint:gosec // numbers
}

// complaintLimit is the spam complaint rate at which mailbox providers start to reject a sender's emails.
const complaintLimit = 0.003

// RecipientsOf returns the URL of a campaign's recipients with the given state or event. If the visitor may not see
// them, it returns an empty string.
func (p *Page) RecipientsOf(campaign, status string) string {
	if !p.May(core.ActionPeopleRead) {
		return ""
	}
	return p.Path("campaigns", campaign, "people") + "?" + url.Values{"status": {status}}.Encode()
}

// recentlyLeft returns the URL of the people who unsubscribed from a campaign's list, latest first. For a campaign with
// several lists, it includes all of the tenant's lists.
func (p *Page) recentlyLeft(lists []string) string {
	q := url.Values{"status": {core.SubscriptionUnsubscribed}, "sort": {"-status_at"}}
	if len(lists) == 1 {
		q.Set("list", lists[0])
	}
	return p.Path("people") + "?" + q.Encode()
}

// reportTiles returns a campaign's key figures: delivered, opened, clicked and unsubscribed. back is the number of
// bounced emails.
func (p *Page) reportTiles(campaign string, s *core.Stats, back int64, u *usualFigures) []reportTile {
	to := func(status string) string { return p.RecipientsOf(campaign, status) }
	tiles := []reportTile{p.deliveredTile(campaign, s, back)}
	if o := s.Opens; o != nil && o.Measured {
		t := reportTile{Label: p.T("Opens"), Figure: p.Opened(s)}
		if !o.Totals {
			t.To = to("opened")
			t.note(p.N("1 person|{{n}} people", *o.People), "", "")
		}
		t.some(*o.CantTell, p.N("+1 by a privacy proxy|+{{n}} by privacy proxies", *o.CantTell), "", "")
		t.some(*o.Scanners, p.N("+1 by a link scanner|+{{n}} by link scanners", *o.Scanners), "", "")
		if o.Rate != nil {
			p.compare(&t, *o.Rate, got(s, back), u.opened, false)
		}
		tiles = append(tiles, t)
	}
	if c := s.Clicks; c != nil && c.Measured {
		t := reportTile{Label: p.T("Clicks"), Figure: p.Clicked(s)}
		if !c.Totals {
			t.To = to("clicked")
			t.note(p.N("1 person|{{n}} people", *c.People), "", "")
			t.some(*c.Scanners, p.N("+1 by a link scanner|+{{n}} by link scanners", *c.Scanners), to("machine_clicked"),
				"")
		}
		if c.Rate != nil {
			p.compare(&t, *c.Rate, got(s, back), u.clicked, false)
		}
		tiles = append(tiles, t)
	}
	left := reportTile{Label: p.T("Unsubscribed"), Figure: p.Number(s.Unsubscribed)}
	if s.Sent > 0 {
		share := float64(s.Unsubscribed) / float64(s.Sent)
		left.note(p.rate(share), "", "")
		p.compare(&left, share, s.Sent, u.left, true)
	}
	tone := ""
	if s.Sent > 0 && float64(s.Complained) >= complaintLimit*float64(s.Sent) {
		tone = "bad"
	}
	left.some(s.Complained, p.N("1 marked as spam|{{n}} marked as spam", s.Complained), to("complained"), tone)
	return append(tiles, left)
}

// deliveredTile returns the tile that counts delivered emails and links to the other recipients.
func (p *Page) deliveredTile(campaign string, s *core.Stats, back int64) reportTile {
	to := func(status string) string { return p.RecipientsOf(campaign, status) }
	t := reportTile{Label: p.T("Delivered"), Figure: p.Number(got(s, back)), To: to("sent")}
	t.note(p.T("{{part}} of {{all}}", "part", p.Percent(got(s, back), s.Recipients), "all", p.Number(s.Recipients)), "",
		"")
	t.some(s.Deferred, p.N("1 retrying|{{n}} retrying", s.Deferred), to("deferred"), "warn")
	t.some(s.Failed, p.N("1 not delivered|{{n}} not delivered", s.Failed), to("failed"), "bad")
	t.some(back, p.N("1 bounced later|{{n}} bounced later", back), to("bounced"), "bad")
	t.some(s.Skipped, p.N("1 skipped|{{n}} skipped", s.Skipped), to("skipped"), "")
	return t
}

// Fewer explains why fewer recipients got emails than were counted when the campaign was sent. If none are missing, it
// returns an empty string.
func (p *Page) Fewer(d *reportData) string {
	if !d.Job.Expanded || d.Job.RetryOf != "" || d.Job.Expected <= d.Job.Stats.Recipients {
		return ""
	}
	return p.T("{{all}} recipients were counted before sending, {{n}} more than the email then went to. People may "+
		"have unsubscribed, bounced, been blocked, or no longer match the segment or tag.", "n",
		p.Number(d.Job.Expected-d.Job.Stats.Recipients), "all", p.Number(d.Job.Expected))
}

// NotDelivered returns the numbers of recipients whose email is being retried, failed or was skipped. If there is only
// one number, it returns nil, because the page shows that number next to the reasons.
func (p *Page) NotDelivered(d *reportData) []tileNote {
	to := func(status string) string { return p.RecipientsOf(d.Campaign.ID, status) }
	var t reportTile
	t.some(d.All.Deferred, p.N("1 retrying|{{n}} retrying", d.All.Deferred), to("deferred"), "")
	t.some(d.All.Failed, p.N("1 not delivered|{{n}} not delivered", d.All.Failed), to("failed"), "")
	t.some(d.All.Skipped, p.N("1 skipped|{{n}} skipped", d.All.Skipped), to("skipped"), "")
	if len(t.Notes) == 1 {
		return nil
	}
	return t.Notes
}

// Counted reports whether clicks were counted without recording who clicked.
func (d *reportData) Counted() bool {
	return d.All.Clicks != nil && d.All.Clicks.Measured && d.All.Clicks.Totals
}

func (t *reportTile) note(text, to, tone string) { t.Notes = append(t.Notes, tileNote{text, to, tone}) }

// some adds a remark about n if n is not 0.
func (t *reportTile) some(n int64, text, to, tone string) {
	if n > 0 {
		t.note(text, to, tone)
	}
}
