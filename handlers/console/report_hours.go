package console

import (
	"bytes"
	"strings"
	"time"

	"golang.org/x/net/html"

	"newsletterd/core"
)

// hoursShown is the number of hours that a report shows individually. Later hours are grouped by day.
const hoursShown = 48

// maxDaysShown is the maximum number of days shown after the individual hours.
const maxDaysShown = 60

// reportTimes holds the charts of a campaign's opens and clicks over time.
type reportTimes struct{ Hours, Days *chart }

// readTimes reads when a campaign's opens and clicks happened.
func (p *Page) readTimes(d *reportData) error {
	var hours []core.EngagedHour
	if _, err := p.Get(campaignAPI(d.Campaign.ID, "hours"), nil, &hours); err != nil || len(hours) == 0 {
		return err
	}
	first := hours[0].At.Time().Truncate(time.Hour)
	opened, clicked := series{Name: p.T("Opens")}, series{Name: p.T("Clicks")}
	var labels, long []string
	last := min(hoursShown-1, int(hours[len(hours)-1].At.Time().Sub(first)/time.Hour))
	for i := range last + 1 {
		at := core.At(first.Add(time.Duration(i) * time.Hour))
		labels, long = append(labels, p.Clock(at)), append(long, p.When(at))
	}
	opened.Values, clicked.Values = make([]int64, last+1), make([]int64, last+1)
	days := newDayBars(p)
	for _, h := range hours {
		i := int(h.At.Time().Sub(first) / time.Hour)
		if i >= hoursShown {
			days.add(h)
			continue
		}
		opened.Values[i] += h.Opened
		clicked.Values[i] += h.Clicked
	}
	c := p.barsOf(p.T("Opens and clicks by hour"), labels, long, opened, clicked)
	d.Times.Hours, d.Times.Days = &c, days.chart()
	return nil
}

// dayBars groups hours by day in the page's time zone.
type dayBars struct {
	p               *Page
	labels          []string
	opened, clicked series
}

func newDayBars(p *Page) *dayBars {
	return &dayBars{p: p, opened: series{Name: p.T("Opens")}, clicked: series{Name: p.T("Clicks")}}
}

// add adds an hour, which must not be earlier than the previous one.
func (b *dayBars) add(h core.EngagedHour) {
	label := b.p.shortDay(h.At.Time().In(b.p.Zone))
	if n := len(b.labels); n == 0 || b.labels[n-1] != label {
		if n == maxDaysShown {
			return
		}
		b.labels = append(b.labels, label)
		b.opened.Values, b.clicked.Values = append(b.opened.Values, 0), append(b.clicked.Values, 0)
	}
	n := len(b.labels) - 1
	b.opened.Values[n] += h.Opened
	b.clicked.Values[n] += h.Clicked
}

// chart returns the chart, or nil if no hours were added.
func (b *dayBars) chart() *chart {
	if len(b.labels) == 0 {
		return nil
	}
	c := b.p.barsOf(b.p.T("Later opens and clicks, by day"), b.labels, b.labels, b.opened, b.clicked)
	return &c
}

// clickMap adds to each link in an email its share of clicks, in the page's number format.
func (p *Page) clickMap(mail string, links []core.Link) string {
	var sum int64
	shares := map[string]int64{}
	for _, l := range links {
		sum += p.PeopleOf(l)
		shares[l.URL] += p.PeopleOf(l)
		if l.Target != "" && l.Target != l.URL {
			shares[l.Target] += p.PeopleOf(l)
		}
	}
	var out bytes.Buffer
	z := html.NewTokenizer(strings.NewReader(mail))
	here, is := int64(0), false // inside a counted link
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out.String()
		}
		out.Write(z.Raw())
		name, more := z.TagName()
		switch {
		case string(name) != "a":
		case kind == html.StartTagToken:
			here, is = 0, false
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				if string(key) == "href" {
					here, is = shares[string(value)], hasLink(shares, string(value))
				}
			}
		case kind == html.EndTagToken && is:
			text := p.Number(here)
			if sum > 0 {
				text += " · " + p.Percent(here, sum)
			}
			out.WriteString(`<span style="` + clickMark + `">` + html.EscapeString(text) + `</span>`)
			is = false
		}
	}
}

func hasLink(shares map[string]int64, url string) bool { _, ok := shares[url]; return ok }

// clickMark is the style for a link's share of clicks in an email. It must not depend on the email's own styles.
const clickMark = "display:inline-block;margin:0 4px;padding:1px 7px;border-radius:9px;background:#1d6b52;color:#fff;" +
	"font:600 12px/1.5 system-ui,sans-serif;letter-spacing:0;text-decoration:none;white-space:nowrap;vertical-align:middle"
