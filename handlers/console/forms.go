package console

import (
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"golang.org/x/net/idna"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// filled holds the values of a form: those of a record, or submitted values that were rejected.
type filled struct {
	values map[string]string
	at     string            // name of the field with an error, as in the form
	text   string            // error of that field
	more   map[string]string // errors of other fields
	marked *bool             // whether an input with an error has the focus
}

// recordValues returns a record's strings and booleans as form values, by API name.
func recordValues(record any) map[string]string {
	values := map[string]string{}
	v := reflect.Indirect(reflect.ValueOf(record))
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch f.Type.Kind() {
		case reflect.String:
			values[name] = v.FieldByIndex(f.Index).String()
		case reflect.Bool:
			values[name] = tickWord(v.FieldByIndex(f.Index).Bool())
		}
	}
	return values
}

// Value returns an input's value.
func (f filled) Value(name string) string { return f.values[name] }

// On reports whether a checkbox is checked.
func (f filled) On(name string) bool { return f.values[name] == "1" }

// Wrong returns the error of an input, or an empty string.
func (f filled) Wrong(name string) string {
	if f.at != name {
		return f.more[name]
	}
	return f.text
}

// Mark returns an input with its error. The first input with an error on a page gets the focus.
func (f filled) Mark(in field) field {
	in = in.Blame(f.Wrong(in.Name))
	if in.Wrong != "" && f.marked != nil {
		in.Calm, *f.marked = *f.marked, true
	}
	return in
}

// tickWord returns a checkbox's form value, "1" or an empty string.
func tickWord(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// refused shows a form again with the submitted values if the visitor can fix the error. show renders the page. The
// fields in the API's errors are marked.
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
		text = p.N("Fix the highlighted field.|Fix the {{n}} highlighted fields.", int64(n+1))
	}
	return show(f, View{Fault: text, Status: status})
}

// sent returns the form values with the given names as an API request body.
func (p *Page) sent(names ...string) map[string]any {
	body := map[string]any{}
	for _, name := range names {
		body[name] = p.Form[name]
	}
	return body
}

// sentTexts returns the form values for the string fields of Input, an API operation's request body.
func sentTexts[Input any](p *Page) map[string]any {
	body := map[string]any{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Input]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if value, given := p.Form[name]; given && f.Type == reflect.TypeFor[*string]() {
			body[name] = value
		}
	}
	return body
}

// sentAddresses adds URLs in a form to an API request body.
func (p *Page) sentAddresses(body map[string]any, names ...string) {
	for _, name := range names {
		body[name] = webAddress(p.Form[name])
	}
}

// bareAddress matches a URL without a scheme: a host name with a dot, and an optional rest.
var bareAddress = regexp.MustCompile(`^[^\s/?#@:\\]+\.[^\s/?#@:\\.]+(:[0-9]+)?([/?#].*)?$`)

// webAddress completes a URL: it adds https:// if the scheme is missing, converts the host name to ASCII, and removes
// line breaks from pasted text. It returns other text unchanged, so that the API rejects it.
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

// asciiHost converts the host name in a URL to A-labels (RFC 5891), as the API and DNS require. Other text, or a URL
// with an invalid host, is returned unchanged.
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

// all reads an API list to its end, but at most most records.
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

// tab is an entry in a tab bar.
type tab struct {
	Link
	Here bool
}

// tabsOf marks the tab of the current page.
func (p *Page) tabsOf(links ...Link) (tabs []tab) {
	for _, l := range links {
		tabs = append(tabs, tab{l, l.To == p.Request.URL.Path})
	}
	return tabs
}
