package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// silenceMonths lists the periods of inactivity in months that a page offers.
var silenceMonths = []int{12, 6, 3}

// hygieneData holds the data for the hygiene page, besides the list.
type hygieneData struct {
	core.Hygiene

	Ranges []tab
	About  bool  // whether the numbers of inactive subscribers are extrapolated from a sample
	Silent int64 // total of inactive subscribers
	Ask    int64
	Barred string // number of bounced addresses on the suppression list
	Done   string // notice of the last action
	More   string // URL for continuing the last action
}

// readHygiene reads the list in the path, and its hygiene numbers for the months in the query.
func (p *Page) readHygiene() (l core.CountedList, d hygieneData, err error) {
	if l, err = p.theList(); err != nil {
		return l, d, err
	}
	months := silenceMonths[0]
	if n, err := strconv.Atoi(p.Query("months")); err == nil && slices.Contains(silenceMonths, n) {
		months = n
	}
	to := p.Path("lists", l.ID, "hygiene") + "?months="
	for _, n := range silenceMonths {
		d.Ranges = append(d.Ranges, tab{
			Link{p.N("{{n}} month|{{n}} months", int64(n)), to + strconv.Itoa(n)}, n == months,
		})
	}
	q := url.Values{"months": {strconv.Itoa(months)}}
	if _, err = p.Get(apiLists+"/"+l.ID+"/hygiene", q, &d.Hygiene); err != nil {
		return l, d, err
	}
	s := d.Silence
	d.Silent, d.Ask = s.Silent, s.Ask
	if d.About = s.Looked > 0 && s.Looked < s.Mailable; d.About {
		d.Silent, d.Ask = s.Silent*s.Mailable/s.Looked, s.Ask*s.Mailable/s.Looked
	}
	return l, d, nil
}

// hygiene shows who on a list bounced, has not confirmed, or is inactive.
func (o *Console) hygiene(p *Page) (web.HTML, error) {
	l, d, err := p.readHygiene()
	if err != nil {
		return web.HTML{}, err
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(p.Query(name), 10, 64)
		return n
	}
	if d.Barred, err = p.bouncedElsewhere(); err != nil {
		return web.HTML{}, err
	}
	v := View{State: p.T("Find subscribers who bounced, never confirmed or became inactive.")}
	switch {
	case p.Query("asked") != "":
		v.Done = p.N("Sending 1 email|Sending {{n}} emails, ten per second", number("asked"))
	case p.Query("removed") != "":
		v.Done = p.N("1 person removed|{{n}} people removed", number("removed"))
	case p.Query("ended") != "":
		v.Done = p.N("1 person unsubscribed|{{n}} people unsubscribed", number("ended"))
	}
	return p.showList("list-hygiene", &l, v, filled{}, &d)
}

// askAgain asks for confirmation. It then asks pending or inactive subscribers by email whether they want the
// newsletter.
func (o *Console) askAgain(p *Page) (web.HTML, error) {
	l, d, err := p.readHygiene()
	if err != nil {
		return web.HTML{}, err
	}
	who, n, title := core.AskSilent, d.Ask, p.T("Ask inactive subscribers?")
	if p.Query("who") == core.AskUnconfirmed {
		who, n, title = core.AskUnconfirmed, d.AskPending, p.T("Send reminders?")
	}
	back := p.Path("lists", l.ID, "hygiene") + "?months=" + strconv.Itoa(d.Silence.Months)
	if p.isGet() {
		return p.Show("list-ask", View{
			Title: title, Within: p.withinHygiene(&l), Data: askStep{who, n, d.About, back},
		})
	}
	var made struct {
		Asked int64  `json:"asked"`
		Next  string `json:"next"`
	}
	sum := int64(0)
	for range 4 { // limits the request to a few seconds; further requests email the rest
		body := map[string]any{"who": who, "months": d.Silence.Months}
		if made.Next != "" {
			body["after"] = made.Next
		}
		made.Next = ""
		if err := p.Do(http.MethodPost, apiLists+"/"+l.ID+"/ask-again", body, &made); err != nil {
			return web.HTML{}, err
		}
		if sum += made.Asked; made.Next == "" {
			break
		}
	}
	return p.Redirect(back+"&asked="+strconv.FormatInt(sum, 10), "")
}

// withinHygiene returns the breadcrumbs for the confirmation pages.
func (p *Page) withinHygiene(l *core.CountedList) []Link {
	return []Link{
		{p.T("Lists"), p.Path("lists")},
		{l.Name, p.Path("lists", l.ID)},
		{p.T("Cleanup"), p.Path("lists", l.ID, "hygiene")},
	}
}

// askStep holds the data for the page that asks for confirmation before emailing, unsubscribing or removing people.
type askStep struct {
	// core.AskUnconfirmed, core.AskSilent or removeUnconfirmed; empty: unsubscribe people who have not answered
	Who   string
	N     int64
	About bool
	Back  string
}

// unsubscribeSilent asks for confirmation and then unsubscribes people who have not answered.
func (o *Console) unsubscribeSilent(p *Page) (web.HTML, error) {
	l, d, err := p.readHygiene()
	if err != nil {
		return web.HTML{}, err
	}
	back := p.Path("lists", l.ID, "hygiene")
	if p.isGet() {
		return p.Show("list-ask", View{
			Title: p.T("Unsubscribe people who didn't answer?"), Within: p.withinHygiene(&l),
			Data: askStep{"", d.Asked.NoAnswer, false, back},
		})
	}
	var left struct {
		Unsubscribed int64 `json:"unsubscribed"`
	}
	if err := p.Do(http.MethodPost, apiLists+"/"+l.ID+"/unsubscribe-silent", nil, &left); err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(back+"?ended="+strconv.FormatInt(left.Unsubscribed, 10), "")
}

// removeUnconfirmed is the value of askStep.Who for removing people who never confirmed.
const removeUnconfirmed = "remove"

// removeUnconfirmed asks for confirmation and then removes people who never confirmed.
func (o *Console) removeUnconfirmed(p *Page) (web.HTML, error) {
	l, d, err := p.readHygiene()
	if err != nil {
		return web.HTML{}, err
	}
	back := p.Path("lists", l.ID, "hygiene")
	if p.isGet() {
		return p.Show("list-ask", View{
			Title: p.T("Remove people who never confirmed?"), Within: p.withinHygiene(&l),
			Data: askStep{removeUnconfirmed, d.RemovePending, false, back},
		})
	}
	var made struct {
		Removed int64 `json:"removed"`
		More    bool  `json:"more"`
	}
	sum := int64(0)
	for range 4 { // limits the request to a few seconds; further requests remove the rest
		if err := p.Do(http.MethodPost, apiLists+"/"+l.ID+"/remove-unconfirmed", nil, &made); err != nil {
			return web.HTML{}, err
		}
		if sum += made.Removed; !made.More {
			break
		}
	}
	return p.Redirect(back+"?removed="+strconv.FormatInt(sum, 10), "")
}
