package console

import (
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/idna"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// filled is a form with its values: those of a record, or those that were sent and can't be taken.
type filled struct {
	values map[string]string
	at     string            // the field that is wrong, as forms call it
	text   string            // what is wrong with it
	more   map[string]string // what is wrong with others
	marked *bool             // one of them has the focus
}

// Value returns the value of an input.
func (f filled) Value(name string) string { return f.values[name] }

// On reports whether a box is ticked.
func (f filled) On(name string) bool { return f.values[name] == "1" }

// Wrong returns what is wrong with the value of an input; empty: nothing.
func (f filled) Wrong(name string) string {
	if f.at != name {
		return f.more[name]
	}
	return f.text
}

// Mark returns an input with what is wrong with its value; the first of a page has the focus.
func (f filled) Mark(in field) field {
	in = in.Blame(f.Wrong(in.Name))
	if in.Wrong != "" && f.marked != nil {
		in.Calm, *f.marked = *f.marked, true
	}
	return in
}

// tickWord is the value of a box: "1" where it is ticked.
func tickWord(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// refused shows a form again with what was sent, where the visitor can mend what is wrong: show makes the page. The
// field that the API names is marked, or all where it names several.
func (p *Page) refused(err error, show func(f filled, v View) (web.HTML, error)) (web.HTML, error) {
	text, status, ok := p.FaultOf(err)
	if !ok {
		return web.HTML{}, err
	}
	f := filled{values: p.Form, text: text}
	for i, e := range core.Faults(err) {
		if i == 0 {
			f.at, f.more, f.marked = e.Field, map[string]string{}, new(bool)
			continue
		}
		at, _, _ := strings.Cut(e.Field, "[")
		if at != f.at && f.more[at] == "" {
			f.more[at] = p.faultText(e)
		}
	}
	if n := len(f.more); n > 0 {
		text = p.N("Fix the marked field.|Fix the {{n}} marked fields.", int64(n+1))
	}
	return show(f, View{Fault: text, Status: status})
}

// sent returns the values of a form that are named, for a body of the API.
func (p *Page) sent(names ...string) map[string]any {
	body := map[string]any{}
	for _, name := range names {
		body[name] = p.Form[name]
	}
	return body
}

// sentAddresses puts addresses of the web that a form has into a body of the API.
func (p *Page) sentAddresses(body map[string]any, names ...string) {
	for _, name := range names {
		body[name] = webAddress(p.Form[name])
	}
}

// bareAddress matches an address of the web without its scheme: a host name with a dot, and what may stand after it.
var bareAddress = regexp.MustCompile(`^[^\s/?#@:\\]+\.[^\s/?#@:\\.]+(:[0-9]+)?([/?#].*)?$`)

// webAddress returns an address of the web as it is meant: with https:// where the scheme is missing, with the name of
// the host in ASCII, and without the line ends of the mail or document that it was copied from. What is no such address
// stays as it is, for the API to refuse.
func webAddress(text string) string {
	text = strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(text))
	switch {
	case bareAddress.MatchString(text):
		text = "https://" + text
	case strings.HasPrefix(text, "//") && bareAddress.MatchString(text[2:]):
		text = "https:" + text
	}
	return asciiHost(text)
}

// asciiHost returns an address of the web with the name of its host in A-labels (RFC 5891), as the API and DNS take it.
// What is no such address, or has a host that no lookup could mean, stays as it is.
func asciiHost(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return text
	}
	host := u.Hostname()
	if ascii, err := idna.Lookup.ToASCII(host); err == nil && ascii != strings.ToLower(host) {
		return strings.Replace(text, host, ascii, 1)
	}
	return text
}

// all reads a list of the API to its end, or to most records.
func all[T any](p *Page, path string, q url.Values, most int) (found []T, err error) {
	for {
		var some []T
		next, err := p.Get(path, q, &some)
		if found = append(found, some...); err != nil || next == "" || len(found) >= most {
			return found, err
		}
		q.Set("cursor", next)
	}
}

// tab is a line of tabs.
type tab struct {
	Link
	Here bool
}

// tabsOf marks the tab of the page.
func (p *Page) tabsOf(links ...Link) (tabs []tab) {
	for _, l := range links {
		tabs = append(tabs, tab{l, l.To == p.Request.URL.Path})
	}
	return tabs
}
