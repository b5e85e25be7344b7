package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/mail"
	"net/url"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// peopleRoutes adds the routes for lists of people.
func (o *Console) peopleRoutes(t *web.Table) {
	o.get(t, "/people", core.ActionPeopleMasked, o.people, "The console: people")
	o.get(t, "/new-person", core.ActionPeopleAdd, o.newPerson, "The console: the form to add a person")
	o.post(t, "/new-person", core.ActionPeopleAdd, o.newPerson, "The console: add a person")
	o.bulkRoutes(t)
	o.bulkActionRoutes(t)
	o.personRoutes(t)
	o.segmentRoutes(t)
	o.tagRoutes(t)
	o.suppressionRoutes(t)
	o.importRoutes(t)
}

// person is a subscription as returned by the API.
type person struct {
	ID          string           `json:"id"`
	TenantID    string           `json:"tenant_id"`
	ListID      string           `json:"list_id"`
	Email       core.Email       `json:"email"` // masked if the visitor may not read addresses
	Status      string           `json:"status"`
	Preferences core.Preferences `json:"preferences"`
	CreatedAt   core.Instant     `json:"created_at"`
	StatusAt    core.Instant     `json:"status_at"`
	Block       string           `json:"block"` // empty: not blocked

	Tags []string `json:"tags"`

	ListName string `json:"list_name"`
}

// Shown returns the status to display. If a block ended the subscription, that is blocked.
func (one person) Shown() string {
	if blocked := string(core.StatusSuppressed); one.Block == blocked && one.Status == core.SubscriptionUnsubscribed {
		return blocked
	}
	return one.Status
}

// PersonName returns a person's name, or an empty string if it is unknown.
func (p *Page) PersonName(one person) string {
	values := one.Preferences.Values()
	name := strings.TrimSpace(saidText(values["first_name"]) + " " + saidText(values["last_name"]))
	return cmp.Or(name, saidText(values["name"]))
}

// named returns a person's address, preceded by the name if it is known.
func (p *Page) named(one *person) string {
	if name := p.PersonName(*one); name != "" {
		return name + " – " + string(one.Email)
	}
	return string(one.Email)
}

// personStatuses lists the statuses that a person can have on a list, for filters.
var personStatuses = []string{
	core.SubscriptionActive, core.SubscriptionPending, core.SubscriptionUnsubscribed, string(core.StatusBounced),
	string(core.StatusComplaint), string(core.StatusSuppressed),
}

// PersonBadge returns the badge for the state of a person on a list.
func (p *Page) PersonBadge(status string) Badge {
	switch status {
	case core.SubscriptionActive:
		return Badge{p.T("Subscribed"), "good"}
	case core.SubscriptionPending:
		return Badge{p.T("Pending"), "warn"}
	case core.SubscriptionUnsubscribed:
		return Badge{p.T("Unsubscribed"), ""}
	case string(core.StatusBounced):
		return Badge{p.T("Bounced"), "bad"}
	case string(core.StatusComplaint):
		return Badge{p.T("Marked as spam"), "bad"}
	case string(core.StatusSuppressed):
		return Badge{p.T("Blocked"), "bad"}
	}
	return Badge{status, ""}
}

// Limits for the list of people.
const (
	maxPeopleLists = 200 // maximum number of lists to choose from
	peoplePage     = 30  // number of rows in tables other than the People table
	peopleReads    = 8   // maximum number of API pages read for a page, because API pages may be short
)

// peopleLists returns the tenant's lists.
func (p *Page) peopleLists() (lists []core.CountedList, err error) {
	q := p.ofTenant("limit", strconv.Itoa(maxPeopleLists))
	_, err = p.Get("/api/admin/newsletter-lists", q, &lists)
	return lists, err
}

func listOptions(lists []core.CountedList, first ...option) []option {
	for i := range lists {
		first = append(first, option{lists[i].ID, lists[i].Name})
	}
	return first
}

// readField sets the fields of the chosen list as options.
func (d *peopleData) readField(p *Page, lists []core.CountedList) {
	for i := range lists {
		if lists[i].ID != d.List || len(lists[i].Fields) == 0 {
			continue
		}
		d.Fields = []option{{"", p.T("Any field")}}
		for _, f := range lists[i].Fields {
			d.Fields = append(d.Fields, option{f.Name, f.Label})
		}
	}
}

// readShort reads size rows of an API list whose pages may be short or empty even if more pages follow.
func readShort[Row any](p *Page, path string, q url.Values, size int, rows *[]Row) (next string, err error) {
	return readAsked(p, web.Question{Method: http.MethodGet, Path: path}, q, size, rows)
}

// readAsked is like readShort for the request ask, to which it adds q.
func readAsked[Row any](p *Page, ask web.Question, q url.Values, size int, rows *[]Row) (next string, err error) {
	path := ask.Path
	next = p.Query("cursor")
	for range peopleReads {
		if next != "" {
			q.Set("cursor", next)
		}
		q.Set("limit", strconv.Itoa(size-len(*rows)))
		var some []Row
		ask.Path = path + "?" + q.Encode()
		if next, err = p.list(ask, &some); err != nil {
			return "", err
		}
		if *rows = append(*rows, some...); next == "" || len(*rows) >= size {
			break
		}
	}
	return next, nil
}

func (p *Page) peopleState(counts core.ListCounts, lists int) string {
	if lists == 0 {
		return p.T("No lists yet")
	}
	s := p.N("1 subscriber|{{n}} subscribers", counts.Mailable) + " · " + p.N("on 1 list|on {{n}} lists", int64(lists))
	if counts.Pending > 0 {
		s += " · " + p.N("1 pending|{{n}} pending", counts.Pending)
	}
	return s
}

// newPersonData holds the data for templates/new-person.html.
type newPersonData struct {
	Lists  []option
	List   *core.CountedList // chosen list; nil: none is chosen yet
	Fields []field
	Email  field
	Source field
	Agreed string // "yes", or "no" to ask for consent by email
}

// newPerson adds a person to a list. The form for the next person keeps the list and the consent.
func (o *Console) newPerson(p *Page) (web.HTML, error) {
	lists, err := p.peopleLists()
	if err != nil {
		return web.HTML{}, err
	}
	given := p.Query
	if p.IsForm() {
		given = func(name string) string { return p.Form[name] }
	}
	d := newPersonData{Lists: listOptions(lists), Agreed: given("agreed")}
	for i := range lists {
		if lists[i].ID == given("list") || len(lists) == 1 {
			d.List = &lists[i]
		}
	}
	v := View{Title: p.T("Add person"), Within: []Link{{p.T("People"), p.Path("people")}}, Data: &d}
	if d.List == nil {
		v.State = p.T("Choose a list")
		return p.Show("new-person", v)
	}
	if p.IsForm() {
		to, notice, err := p.addPerson(&d)
		if err == nil {
			return p.Redirect(to, notice)
		}
		fault, status, ok := p.FaultOf(err)
		if !ok {
			return web.HTML{}, err
		}
		v.Fault, v.Status = fault, status
		d.Email.Wrong = wrongOn(err, "email", fault)
		d.Source.Wrong = wrongOn(err, "source", fault)
	}
	d.Email = field{
		Name: "email", Label: p.T("Email address"), Value: p.Form["email"], Type: "text", Mode: "email", Required: true,
		Max: 500, Complete: "off", Wrong: d.Email.Wrong, // text, because browsers refuse "Name <address>"
	}
	d.Source = field{
		Name: "source", Label: p.T("Source of consent"), Value: given("source"), Type: "text", Max: core.MaxOrigin,
		Hint:  p.T("Required if the person agreed: where and when, for example “paper form in the shop, 12 March”"),
		Wrong: d.Source.Wrong,
	}
	d.Fields = p.fieldsOf(p.withNames(d.List.Fields), func(f *core.Field) string { return p.Form["field."+f.Name] })
	return p.Show("new-person", v)
}

// wrongOn returns text if err is about the given field, and an empty string otherwise.
func wrongOn(err error, name, text string) string {
	if e, ok := errors.AsType[*core.Error](err); ok && e.Field == name {
		return text
	}
	return ""
}

// addPerson makes the API add a person. It returns the next page and the key of its notice.
func (p *Page) addPerson(d *newPersonData) (to, notice string, err error) {
	status := core.SubscriptionPending
	if d.Agreed == "yes" {
		status = core.SubscriptionActive
		if strings.TrimSpace(p.Form["source"]) == "" {
			return "", "", core.Invalidf("source", "Enter where you got the consent, so that you can prove it later.")
		}
	}
	p.splitAddress()
	if letter := core.ForeignLetter(p.Form["email"]); letter != "" {
		return "", "", core.Invalidf("email", "Email addresses can't contain %s before the @.", letter)
	}
	body := map[string]any{
		"list_id": d.List.ID, "email": p.Form["email"], "status": status, "source": p.Form["source"],
	}
	if said, err := p.saidOf(p.withNames(d.List.Fields), core.NoPreferences); err != nil {
		return "", "", err
	} else if said != core.NoPreferences {
		body["preferences"] = said
	}
	answer, err := p.Ask(web.Question{Method: http.MethodPost, Path: "/api/admin/subscribers", Body: body})
	if err != nil {
		return "", "", err
	}
	var made person
	if err := answer.Decode(&made); err != nil {
		return "", "", err
	}
	switch {
	case answer.Status != http.StatusCreated:
		notice = "known"
	case made.Status == core.SubscriptionPending:
		notice = "asked"
	default:
		notice = "person-added"
	}
	if p.Form["then"] == "another" {
		kept := url.Values{"list": {d.List.ID}, "agreed": {d.Agreed}, "source": {p.Form["source"]}}
		return p.Path("new-person") + "?" + kept.Encode(), notice, nil
	}
	return p.Path("people", made.ID), notice, nil
}

// splitAddress splits an address such as "Ann Gray <ann@example.com>" in the form into the address and the name. It
// doesn't overwrite name fields that are filled in.
func (p *Page) splitAddress() {
	a, err := mail.ParseAddress(p.Form["email"])
	if err != nil || a.Name == "" {
		return
	}
	p.Form["email"] = a.Address
	if p.Form["field.first_name"] != "" || p.Form["field.last_name"] != "" {
		return
	}
	p.Form["field.name"] = cmp.Or(p.Form["field.name"], a.Name) // on lists with one field for the name
	p.Form["field.first_name"], p.Form["field.last_name"] = core.SplitName(a.Name)
}

// fieldsOf returns the inputs for a list's fields. value returns each field's value.
func (p *Page) fieldsOf(fields core.Fields, value func(*core.Field) string) (out []field) {
	for i := range fields {
		f := field{
			Name: "field." + fields[i].Name, Label: fields[i].Label, Value: value(&fields[i]), Type: "text",
			Max: core.MaxFieldText,
		}
		switch fields[i].Type {
		case core.FieldBoolean:
			f.Options = []option{{"", "–"}, {"true", p.T("yes")}, {"false", p.T("no")}}
		case core.FieldChoice:
			f.Options = []option{{"", "–"}}
			for _, o := range fields[i].Options {
				f.Options = append(f.Options, option{o, o})
			}
			if f.Value != "" && !hasOption(f.Options, f.Value) {
				f.Options = append(f.Options, option{f.Value, f.Value})
			}
		}
		out = append(out, f)
	}
	return out
}

func hasOption(options []option, value string) bool {
	for _, o := range options {
		if o.Value == value {
			return true
		}
	}
	return false
}

// saidOf returns the preferences with the form's changes. An unchanged value keeps its type, and a number remains a
// number.
func (p *Page) saidOf(fields core.Fields, was core.Preferences) (core.Preferences, error) {
	values, before := map[string]any{}, was.Values()
	for i := range fields {
		name := fields[i].Name
		said, sent := p.Form["field."+name]
		switch {
		case !sent, said != "" && said == saidText(before[name]):
		case said == "":
			values[name] = nil
		case fields[i].Type == core.FieldBoolean:
			values[name] = said == "true"
		case !core.IsFieldText(said):
			return "", core.Invalidf("field."+name,
				"The value is too long or contains characters that aren't allowed. Shorten it or type it again.")
		case isNumber(before[name]) && isNumber([]byte(said)):
			values[name] = json.RawMessage(said)
		default:
			values[name] = said
		}
	}
	return was.With(values), nil
}
