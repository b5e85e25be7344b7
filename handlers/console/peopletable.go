package console

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// peopleData holds the data for templates/people.html.
type peopleData struct {
	People        []person
	Lists, States []option
	peopleFilter
	Fields    []option // fields of the list
	Segments  []option // segments to choose from, if any
	Tags      []option // tags to choose from, if any
	Answers   []option // poll answers to choose from, if one is chosen
	Unknown   string   // why no one is found
	BlockedAt string   // where the search's address is blocked, if it is on no list
	Barred    string   // number of bounced addresses on the suppression list, if the page shows bounced people
	Readable  bool     // whether the visitor may read addresses
	Pager     pager

	Columns  []peopleColumn
	Sorts    bool // whether there are few enough people to sort
	Acts     bool // whether people can be selected for an action
	All      bool // whether everyone on the page is preselected
	AllTo    string
	Back     string // query of the page
	From     int    // position of the first person on the page; 0: none
	Total    int64  // number of matches; -1: not counted
	Size     string
	Sizes    []option
	Filters  [][2]string // parameters of the page's filter, for other forms
	ExportTo string

	EveryoneTo string // form for changing everyone who matches
	SegmentTo  string // form for creating a segment of everyone who matches; empty: none can be created
}

// peopleColumn is a table column that can be hidden.
type peopleColumn struct {
	Name, Text string
	Shown      bool
	Field      string // field of the preferences; empty: not a field
	Sort       string // sort key; empty: not sortable
}

// peopleSizes lists the available page sizes of the table.
var peopleSizes = []string{"50", "100", "200"}

// columnsCookie contains the chosen columns, separated by commas.
const (
	columnsCookie = "newsletterd-columns"
	columnsTTL    = 365 * 24 * time.Hour
	maxColumns    = 1000 // maximum number of bytes in the cookie
)

// people lists the people on the tenant's lists. A visitor who may not read addresses can't search by address.
func (o *Console) people(p *Page) (web.HTML, error) {
	lists, err := p.peopleLists()
	if err != nil {
		return web.HTML{}, err
	}
	d := peopleData{Readable: p.May(core.ActionPeopleRead), Size: peopleSizes[0]}
	if size := p.Query("size"); slices.Contains(peopleSizes, size) {
		d.Size = size
	}
	if d.peopleFilter = readFilter(p.Query, lists); d.Readable {
		d.readField(p, lists)
		if err := d.readSegment(p); err != nil {
			return web.HTML{}, err
		}
		if err := d.readTags(p); err != nil {
			return web.HTML{}, err
		}
		if err := d.readAnswers(p); err != nil {
			return web.HTML{}, err
		}
	} else {
		d.peopleFilter = peopleFilter{List: d.List, Status: d.Status}
	}
	counts, here := countsOf(lists, d.List)
	next, err := d.read(p, here)
	if err != nil {
		return web.HTML{}, err
	}
	if len(d.People) == 0 && d.List+d.Status+d.Field+d.Segment == "" {
		blocks, err := p.blocksOf(d.Text)
		if err != nil {
			return web.HTML{}, err
		}
		if len(blocks) > 0 {
			d.BlockedAt = p.suppressedPath(d.Text)
		}
	}
	if d.Status == string(core.StatusBounced) {
		if d.Barred, err = p.bouncedElsewhere(); err != nil {
			return web.HTML{}, err
		}
	}
	names := map[string]string{}
	for i := range lists {
		names[lists[i].ID] = lists[i].Name
	}
	for i := range d.People {
		d.People[i].ListName = names[d.People[i].ListID]
	}
	d.Lists = listOptions(lists, option{"", p.T("All lists")})
	d.States = append(d.States, option{"", p.T("All statuses")})
	for _, status := range personStatuses {
		d.States = append(d.States, option{status, p.PersonBadge(status).Text})
	}
	d.place(p, next, here)
	d.chooseColumns(p, lists)
	d.forms(p)
	return p.Show("people", View{
		Title: p.T("People"), State: p.peopleState(counts, len(lists)), Data: &d,
	})
}

// read reads the people for the page.
func (d *peopleData) read(p *Page, here core.ListCounts) (next string, err error) {
	size, _ := strconv.Atoi(d.Size)
	if d.ruled() {
		return d.readRuled(p, size)
	}
	q, sort := p.ofTenant(), d.sort(p, here)
	for name, value := range d.filter() {
		q.Set(name, value)
	}
	if sort != "" {
		q.Set("sort", sort)
	}
	next, err = readShort(p, "/api/admin/subscribers", q, size, &d.People)
	if e, _ := errors.AsType[*core.Error](err); sort != "" && e != nil && e.Field == "sort" {
		q.Del("sort") // there are more lists or people than when the page was sorted
		d.Sorts = false
		next, err = readShort(p, "/api/admin/subscribers", q, size, &d.People)
	}
	return next, err
}

// filter returns the page's filter as API parameters.
func (d *peopleData) filter() map[string]string {
	f := map[string]string{
		"list_id": d.List, "status": d.Status, "search": d.Text, "field": d.Field, "value": d.Value,
	}
	maps.DeleteFunc(f, func(_, value string) bool { return value == "" })
	return f
}

// countsOf returns the total counts of all lists, and those of the chosen list. If none is chosen, both are the same.
func countsOf(lists []core.CountedList, chosen string) (all, here core.ListCounts) {
	for i := range lists {
		all = all.Plus(lists[i].Counts)
		if lists[i].ID == chosen {
			here = lists[i].Counts
		}
	}
	if chosen == "" {
		here = all
	}
	return all, here
}

// sort returns the sort order for the API, by default newest first. If there are too many people to sort, it returns an
// empty string.
func (d *peopleData) sort(p *Page, counts core.ListCounts) string {
	d.Sorts = counts.Active+counts.Pending+counts.Unsubscribed <= core.MaxSorted
	switch sort := p.Query("sort"); {
	case !d.Sorts:
		return ""
	case sort == "email", sort == "-email":
		if d.Readable {
			return sort
		}
	case sort == "created_at", sort == "status_at", sort == "-status_at":
		return sort
	}
	return "-created_at"
}

// place sets the range of people on the page and their total.
func (d *peopleData) place(p *Page, next string, counts core.ListCounts) {
	d.Pager, d.Total = p.Pager(next), -1
	if from, err := strconv.Atoi(p.Query("from")); err == nil && from > 0 && p.Query("cursor") != "" {
		d.From = from
	}
	d.From++
	if d.Pager.Next != "" {
		d.Pager.Next = withQuery(withQuery(d.Pager.Next, "select", ""), "from", strconv.Itoa(d.From-1+len(d.People)))
	}
	if d.Pager.First != "" {
		d.Pager.First = withQuery(withQuery(d.Pager.First, "select", ""), "from", "")
	}
	if len(d.People) == 0 {
		d.From = 0
	}
	switch {
	case next == "" && p.Query("cursor") == "":
		d.Total = int64(len(d.People))
	case d.Text == "" && d.ruled():
		d.Total = d.countRuled(p, counts)
	case d.Text != "" || d.Field != "" || d.ruled():
		if next == "" {
			d.Total = int64(d.From - 1 + len(d.People))
		}
	case d.Status == "":
		d.Total = counts.Active + counts.Pending + counts.Unsubscribed
	case d.Status == core.SubscriptionActive:
		d.Total = counts.Mailable
	case d.Status == core.SubscriptionPending:
		d.Total = counts.Pending
	case d.Status == core.SubscriptionUnsubscribed:
		d.Total = counts.Unsubscribed
	}
	if d.Total >= 0 && d.Total < int64(d.From-1+len(d.People)) { // people were added in the meantime
		d.Total = int64(d.From - 1 + len(d.People))
	}
	for _, size := range peopleSizes {
		d.Sizes = append(d.Sizes, option{size, p.T("{{n}} per page", "n", size)})
	}
}

// maxCountedPeople is the maximum number of people on the lists for which a page counts a rule's matches. With more
// people, counting takes longer than the page itself.
const maxCountedPeople = 20_000

// countRuled returns the number of people who match the page's rule, or -1 if it is unknown. It counts people on one
// list only. On several lists, a segment counts a person once, but the table contains the person several times.
func (d *peopleData) countRuled(p *Page, counts core.ListCounts) int64 {
	if counts.Active > maxCountedPeople || len(d.People) == 0 {
		return -1
	}
	var lists []string
	for _, l := range d.Lists {
		if l.Value != "" && (d.List == "" || l.Value == d.List) {
			lists = append(lists, l.Value)
		}
	}
	if len(lists) != 1 {
		return -1
	}
	sum, err := p.segmentCount(d.whom(map[string]any{"exact": true}), lists)
	if err != nil || sum.Exact == nil {
		return -1 // the page shows the range only
	}
	return *sum.Exact
}

// withQuery returns a URL with a query parameter set. An empty value removes it.
func withQuery(address, name, value string) string {
	path, query, _ := strings.Cut(address, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return address
	}
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	return path + "?" + q.Encode()
}

// chooseColumns sets the table's columns. Fields that the list doesn't declare are columns if someone on the page has
// them. The browser stores the visitor's choice.
func (d *peopleData) chooseColumns(p *Page, lists []core.CountedList) {
	fields := core.Fields{}
	for i := range lists {
		if d.Readable && (lists[i].ID == d.List || len(lists) == 1) {
			fields = slices.Clone(lists[i].Fields)
			for _, name := range undeclaredBy(d.People, fields) {
				fields = append(fields, core.Field{Name: name, Label: p.knownLabel(name)})
			}
		}
	}
	chosen := strings.Split(p.Cookie(columnsCookie), ",")
	if p.Cookie(columnsCookie) == "" {
		chosen = []string{"status", "joined"}
		if d.List == "" && len(lists) > 1 {
			chosen = append(chosen, "list")
		}
	}
	if asked := p.Request.URL.Query(); asked.Has("columns") {
		chosen = asked["column"]
		for i := range chosen {
			chosen[i] = url.QueryEscape(chosen[i])
		}
		if all := strings.Join(append([]string{"-"}, chosen...), ","); len(all) <= maxColumns {
			p.SetCookie(columnsCookie, all, p.Now.Time().Add(columnsTTL))
		}
	}
	add := func(c peopleColumn) {
		c.Shown = slices.Contains(chosen, url.QueryEscape(c.Name))
		d.Columns = append(d.Columns, c)
	}
	add(peopleColumn{Name: "list", Text: p.T("List")})
	add(peopleColumn{Name: "status", Text: p.T("Status")})
	for i := range fields {
		add(peopleColumn{Name: "field." + fields[i].Name, Text: fields[i].Label, Field: fields[i].Name})
	}
	if len(d.Tags) > 0 {
		add(peopleColumn{Name: "tags", Text: p.T("Tags")})
	}
	add(peopleColumn{Name: "since", Text: p.T("Status since"), Sort: "status_at"})
	add(peopleColumn{Name: "joined", Text: p.T("Added to list"), Sort: "created_at"})
}

// forms sets the data for the page's forms and links.
func (d *peopleData) forms(p *Page) {
	q := p.Request.URL.Query()
	q.Del("columns")
	q.Del("column")
	q.Del("done")
	d.All = q.Get("select") == "page"
	q.Del("select")
	d.Back = q.Encode()
	q.Set("select", "page")
	if d.All {
		q.Del("select")
	}
	d.AllTo = "?" + q.Encode()
	d.Acts = d.Readable && p.May(core.ActionPeopleTag)
	for _, name := range []string{
		"q", "list", "status", "field", "value", "segment", "tagged", "answered", "sort", "size",
	} {
		if value := p.Query(name); value != "" {
			d.Filters = append(d.Filters, [2]string{name, value})
		}
	}
	to := d.query()
	if d.Text != "" {
		to.Set("q", d.Text)
	}
	d.EveryoneTo = p.Path("new-bulk") + "?" + d.query().Encode()
	if d.Tagged+d.Answered != "" && d.Text == "" && p.May(core.ActionSegmentWrite) {
		d.SegmentTo = p.Path("new-segment") + "?" + d.query().Encode()
	}
	d.ExportTo = p.Path("people-export") + "?" + to.Encode()
}

// sortLink is the header of a column in the table.
type sortLink struct {
	Text, To string
	Dir      string // ascending or descending; empty: the table isn't sorted by this column
}

// SortLink returns a column's header. If the column isn't sortable, To is empty.
func (p *Page) SortLink(d *peopleData, text, by string) sortLink {
	l := sortLink{Text: text}
	if by == "" || !d.Sorts {
		return l
	}
	sort := cmp.Or(p.Query("sort"), "-created_at")
	next := by
	switch sort {
	case by:
		l.Dir, next = "ascending", "-"+by
	case "-" + by:
		l.Dir = "descending"
	default:
		if by != "email" { // dates are sorted newest first
			next = "-" + by
		}
	}
	l.To = withQuery(withQuery(withQuery("?"+d.Back, "sort", next), "cursor", ""), "from", "")
	return l
}

// PersonValue returns a table cell with a person's value for a field.
func (p *Page) PersonValue(one person, field string) string {
	value := saidText(one.Preferences.Values()[field])
	switch value {
	case "true":
		return p.T("yes")
	case "false":
		return p.T("no")
	}
	return cut(value, 60)
}

// PeopleRange describes the range of people on the page and their total.
func (p *Page) PeopleRange(d *peopleData) string {
	if d.From == 0 {
		return ""
	}
	from, to := p.Number(int64(d.From)), p.Number(int64(d.From-1+len(d.People)))
	if d.Total < 0 {
		return p.T("{{from}}–{{to}}, more on the next page", "from", from, "to", to)
	}
	return p.T("{{from}}–{{to}} of {{all}}", "from", from, "to", to, "all", p.Number(d.Total))
}
