package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// growth is how a list, or all lists of a tenant, have grown.
type growth struct {
	Days    int
	Ranges  []tab
	Chart   chart
	Bars    chart // who has joined, and who has left
	Known   bool  // there are at least two days
	Readers int64 // by how many they have become more
	Joined  int64
	Left    int64
}

// Lost is how many more have gone than have unsubscribed: they bounced or were blocked.
func (g growth) Lost() int64 { return max(0, g.Joined-g.Left-g.Readers) }

// Line is the chart of the readers, with who has come and gone as its table.
func (g growth) Line() chart {
	c := g.Chart
	c.Heads, c.Table = g.Bars.Heads, g.Bars.Table
	return c
}

// growthRanges are the days that a page can show the growth of.
var growthRanges = []int{30, 90, 365}

// growthOf sums up the growth of lists, over the days that the query names.
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

// barDays are how many days a bar sums up, by how many are shown.
var barDays = map[int]int{30: 1, 90: 7, 365: 30}

// joinedAndLeft draws how many have joined and left from one day to the next: of those who come and go between two
// counts it shows what is left of it. sum is how many have joined.
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

// members are those who have joined and not left, whether or not they can be reached. Where another service keeps the
// list, it is known of readers alone.
func members(c core.ListCounts) int64 {
	if c.Active == 0 {
		return c.Readers()
	}
	return c.Active
}

// shortDay writes a day without its year.
func (p *Page) shortDay(t time.Time) string {
	f := formats[p.Lang]
	day := strconv.Itoa(t.Day())
	if strings.Contains(f.date, "D.") {
		day += "."
	}
	return day + " " + f.months[t.Month()-1]
}

// Signed writes a difference with its sign.
func (p *Page) Signed(n int64) string {
	if n > 0 {
		return "+" + p.Number(n)
	}
	return p.Number(n)
}

// Lately says how a figure has changed in the days of the chart; where that isn't known, it is otherwise.
func (p *Page) Lately(g growth, change int64, otherwise string) string {
	if !g.Known {
		return otherwise
	}
	return p.T("{{net}} in {{days}} days", "net", p.Signed(change), "days", g.Days)
}

// list shows the figures of a list.
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

// reasonRow is why some people have left a list.
type reasonRow struct {
	Reason    string       `json:"reason"`
	Leavers   int64        `json:"leavers"`
	LastAt    core.Instant `json:"last_at"`
	LastWords string       `json:"last_words"`
	Part      string
}

// listLeft shows why people have left a list. All who left are read for it, so it has a page of its own.
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

// Reason is a reason to leave in words.
func (p *Page) Reason(word string) string {
	switch word {
	case "too_many":
		return p.T("Too many emails")
	case "content":
		return p.T("No longer interested")
	case "never_asked":
		return p.T("Never signed up")
	case core.ReasonNoAnswer:
		return p.T("Didn't reply when asked to stay")
	case "other":
		return p.T("Other")
	case "":
		return p.T("No reason given")
	}
	return word
}

// PeopleOn returns the address of the people of a list in a state.
func (p *Page) PeopleOn(l *core.CountedList, status string) string {
	return p.Path("people") + "?" + url.Values{"list": {l.ID}, "status": {status}}.Encode()
}

// growthPart is what the component "growth" shows.
type growthPart struct {
	Title, Later string
	Growth       growth
}

// GrowthPart makes it.
func (p *Page) GrowthPart(title string, g growth) growthPart {
	return growthPart{Title: title, Later: p.T("Your growth chart appears here tomorrow."), Growth: g}
}
