package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// growth holds the growth of one list, or of all of a tenant's lists.
type growth struct {
	Days    int
	Ranges  []tab
	Chart   chart
	Bars    chart // new and unsubscribed subscribers
	Known   bool  // whether there are counts for at least two days
	Readers int64 // net change in subscribers
	Joined  int64
	Left    int64
}

// Lost returns the net loss not caused by unsubscribes: subscribers who bounced or were blocked.
func (g growth) Lost() int64 { return max(0, g.Joined-g.Left-g.Readers) }

// Line returns the subscriber chart, with new and lost subscribers in its table.
func (g growth) Line() chart {
	c := g.Chart
	c.Heads, c.Table = g.Bars.Heads, g.Bars.Table
	return c
}

// growthRanges lists the periods in days for which a page can show the growth.
var growthRanges = []int{30, 90, 365}

// growthOf adds up the growth of lists over the number of days in the query.
func (p *Page) growthOf(lists ...string) (g growth, err error) {
	g.Days = growthRanges[0]
	if n, err := strconv.Atoi(p.Query("days")); err == nil && slices.Contains(growthRanges, n) {
		g.Days = n
	}
	for _, n := range growthRanges {
		to := p.Request.URL.Path + "?days=" + strconv.Itoa(n)
		g.Ranges = append(g.Ranges, tab{Link{p.N("{{n}} day|{{n}} days", int64(n)), to}, n == g.Days})
	}
	sums := map[string]core.ListCounts{}
	for _, id := range lists {
		var days []core.DayCounts
		if _, err := p.Get(apiLists+"/"+id+"/growth", url.Values{"days": {strconv.Itoa(g.Days)}}, &days); err != nil {
			return g, err
		}
		for _, d := range days {
			sums[d.Day] = sums[d.Day].Plus(d.ListCounts)
		}
	}
	var labels []string
	var values []int64
	var all []core.ListCounts
	var first, last core.ListCounts
	end := p.Now.Time().UTC()
	for i := g.Days - 1; i >= 0; i-- {
		day := end.AddDate(0, 0, -i)
		counts, ok := sums[day.Format(time.DateOnly)]
		if !ok {
			continue
		}
		if len(labels) == 0 {
			first = counts
		}
		last, all = counts, append(all, counts)
		labels, values = append(labels, p.shortDay(day)), append(values, counts.Readers())
	}
	g.Known, g.Readers = len(labels) > 1, last.Readers()-first.Readers()
	g.Left = max(0, last.Unsubscribed-first.Unsubscribed)
	g.Chart = p.lineChart(p.T("Subscribers"), labels, values)
	g.Bars, g.Joined = p.joinedAndLeft(labels, all, barDays[g.Days])
	return g, nil
}

// barDays maps the number of shown days to the number of days per bar.
var barDays = map[int]int{30: 1, 90: 7, 365: 30}

// joinedAndLeft charts how many subscribers were gained and lost from one day to the next. If people join and leave
// between two counts, only the net effect is shown. sum is the number of new subscribers.
func (p *Page) joinedAndLeft(days []string, counts []core.ListCounts, each int) (c chart, sum int64) {
	joined, left := series{Name: p.T("New")}, series{Name: p.T("Unsubscribed")}
	var labels []string
	for i := 1; i < len(counts); i++ {
		if (i-1)%each == 0 {
			labels = append(labels, days[i])
			joined.Values, left.Values = append(joined.Values, 0), append(left.Values, 0)
		}
		gone := max(0, counts[i].Unsubscribed-counts[i-1].Unsubscribed)
		n := len(labels) - 1
		left.Values[n] += gone
		more := max(0, members(counts[i])-members(counts[i-1])+gone)
		joined.Values[n] += more
		sum += more
	}
	return p.barsOf(p.T("Subscriber growth"), labels, labels, joined, left), sum
}

// members returns the number of people who have joined and not unsubscribed, whether or not emails reach them. For a
// list that another service manages, it is the number of subscribers.
func members(c core.ListCounts) int64 {
	if c.Active == 0 {
		return c.Readers()
	}
	return c.Active
}

// shortDay formats a date without its year.
func (p *Page) shortDay(t time.Time) string {
	f := formats[p.Lang]
	day := strconv.Itoa(t.Day())
	if strings.Contains(f.date, "D.") {
		day += "."
	}
	return day + " " + f.months[t.Month()-1]
}

// Signed formats a number with its sign.
func (p *Page) Signed(n int64) string {
	if n > 0 {
		return "+" + p.Number(n)
	}
	return p.Number(n)
}

// Lately describes how a figure changed during the chart's period. If the change is unknown, it returns otherwise.
func (p *Page) Lately(g growth, change int64, otherwise string) string {
	if !g.Known {
		return otherwise
	}
	return p.T("{{net}} in {{days}} days", "net", p.Signed(change), "days", g.Days)
}

// list shows a list's statistics.
func (o *Console) list(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	g, err := p.growthOf(l.ID)
	if err != nil {
		return web.HTML{}, err
	}
	v := View{State: p.N("1 subscriber|{{n}} subscribers", l.Counts.Readers())}
	if g.Known && g.Readers != 0 {
		v.State = p.N("1 subscriber, {{net}} in {{days}} days|{{n}} subscribers, {{net}} in {{days}} days",
			l.Counts.Readers(),
			"net", p.Signed(g.Readers), "days", g.Days)
	}
	return p.showList("list", &l, v, filled{}, g)
}

// reasonRow is a reason for unsubscribing from a list.
type reasonRow struct {
	Reason    string       `json:"reason"`
	Leavers   int64        `json:"leavers"`
	LastAt    core.Instant `json:"last_at"`
	LastWords string       `json:"last_words"`
	Part      string
}

// listLeft shows why people unsubscribed from a list. It is a separate page because it reads everyone who unsubscribed.
func (o *Console) listLeft(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	var rows []reasonRow
	if _, err := p.Get(apiLists+"/"+l.ID+"/reasons", nil, &rows); err != nil {
		return web.HTML{}, err
	}
	var sum int64
	for _, r := range rows {
		sum += r.Leavers
	}
	for i := range rows {
		rows[i].Part = p.Percent(rows[i].Leavers, sum)
	}
	return p.showList("list-left", &l, View{State: p.N("1 person unsubscribed|{{n}} people unsubscribed", sum)}, filled{},
		rows)
}

// Reason returns the text of a reason for unsubscribing, as on the unsubscribe page.
func (p *Page) Reason(word string) string {
	for _, r := range (&page.Style{Lang: p.Lang}).Words().Reasons() {
		if r.Word == word {
			return r.Text
		}
	}
	switch word {
	case core.ReasonNoAnswer:
		return p.T("Didn't respond to the re-engagement email")
	case "":
		return p.T("No reason given")
	}
	return word
}

// PeopleOn returns the URL of the page that shows the people on a list who have the status.
func (p *Page) PeopleOn(l *core.CountedList, status string) string {
	return p.Path("people") + "?" + url.Values{"list": {l.ID}, "status": {status}}.Encode()
}

// growthPart holds the data for the component "growth".
type growthPart struct {
	Title, Later string
	Growth       growth
}

// GrowthPart returns the data for the component "growth".
func (p *Page) GrowthPart(title string, g growth) growthPart {
	return growthPart{Title: title, Later: p.T("Your growth chart appears here tomorrow."), Growth: g}
}
