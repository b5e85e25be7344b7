package console

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

const personExportPath = "/people/:id/export"

// personRoutes adds the routes for a person's pages.
func (o *Console) personRoutes(t *web.Table) {
	o.get(t, "/people/:id", core.ActionPeopleMasked, o.person, "The console: a person on a list")
	o.post(t, "/people/:id", core.ActionPeopleChange, o.person, "The console: change a person's fields")
	o.get(t, "/people/:id/unsubscribe", core.ActionPeopleChange, o.endPerson, "The console: confirm removing a person")
	o.post(t, "/people/:id/unsubscribe", core.ActionPeopleChange, o.endPerson, "The console: remove a person from a "+
		"list")
	o.get(t, "/people/:id/erase", core.ActionPeopleErase, o.erasePerson, "The console: confirm erasing a person")
	o.post(t, "/people/:id/erase", core.ActionPeopleErase, o.erasePerson, "The console: erase a person")
	o.export(t, personExportPath, func(p *Page) (string, error) {
		_, err := p.thePerson()
		return p.personPath("export"), err
	}, "The console: export a person's data, as JSON")
	o.get(t, personMailPath, core.ActionPeopleRead, o.personMail, "The console: the email of one recipient")
	o.get(t, personMailPath+"/frame", core.ActionPeopleRead, o.personMailFrame,
		"The console: show an email as one recipient sees it, in a frame")
	o.post(t, "/people/:id/address", core.ActionPeopleAdd, o.newAddress, "The console: change a person's email address")
	o.post(t, "/people/:id/lift", core.ActionSuppressionManage, o.liftPerson, "The console: unblock a person")
}

// personRecord is a subscription with the details that the team sees.
type personRecord struct {
	person
	Consents []core.Consent `json:"consents"`
	Blocks   []personBlock  `json:"blocks"`
	Tags     []string       `json:"tags"`
}

// personBlock is a reason why an address is blocked.
type personBlock struct {
	Email      core.Email   `json:"email"` // only in lists of blocks
	Kind       string       `json:"kind"`
	TenantID   string       `json:"tenant_id"` // tenant of the block; empty: all tenants
	ListID     string       `json:"list_id"`   // list of the block; empty: all lists
	Reason     string       `json:"reason"`
	DisabledBy string       `json:"disabled_by"`
	OccurredAt core.Instant `json:"occurred_at"`

	Why string `json:"-"` // the reason and who gave it, as text
}

// personData holds the data for templates/person.html.
type personData struct {
	personRecord
	Readable bool
	Others   []personOnList // the address's subscriptions on all lists, including this one
	Consents []consentLine
	Mails    []personMail
	Pager    pager
	Queued   []personQueued // transactional emails, newest first
	Fields   []field
	Rest     []said     // preferences that are not fields of the list
	Liftable bool       // whether there is a block that the tenant can remove
	Ended    bool       // whether a block ended the subscription
	Tag      field      // input for a tag
	Known    []core.Tag // the tenant's tags, to choose from
	Address  field      // input for a new address, if the mailbox doesn't exist
}

// personOnList is a person's subscription on one list.
type personOnList struct {
	person
	Said core.Instant `json:"-"` // date of the status in the imported file; 0: not imported
}

// Since returns the date since which the person has had the status on a list.
func (p *Page) Since(one personOnList) string {
	if one.Said > 0 {
		return p.T("{{day}}, imported on {{at}}", "day", p.Date(one.Said), "at", p.Date(one.StatusAt))
	}
	return p.Date(one.StatusAt)
}

// said is a preference's name and value.
type said struct{ Name, Value string }

const (
	personMails  = 20 // number of emails per page
	personOthers = 10 // number of other lists whose records are read
)

// personPath returns the API path for the person in the path.
func (p *Page) personPath(parts ...string) string {
	return strings.Join(append([]string{"/api/admin/subscribers/" + url.PathEscape(p.Param("id"))}, parts...), "/")
}

// thePerson reads the person in the path. If the person belongs to another tenant, it returns web.ErrNotFound.
// Otherwise, a server administrator would see them on this tenant's pages.
func (p *Page) thePerson() (r personRecord, err error) {
	if _, err = p.Get(p.personPath(), nil, &r); err == nil && r.TenantID != p.Tenant.ID {
		err = web.ErrNotFound
	}
	return r, err
}

// person shows a person and saves changes to their data.
func (o *Console) person(p *Page) (web.HTML, error) {
	return p.personPage(func(d *personData, fields core.Fields) (to, notice string, err error) {
		return p.Path("people", d.ID), "saved", p.changePerson(d, fields)
	})
}

// personPage shows a person. If a form was submitted, it calls do and redirects to the page that do returns, with the
// notice.
func (p *Page) personPage(do func(*personData, core.Fields) (to, notice string, err error)) (web.HTML, error) {
	d := personData{Readable: p.May(core.ActionPeopleRead)}
	r, err := p.thePerson()
	if err != nil {
		return web.HTML{}, err
	}
	d.personRecord = r
	var list core.List
	if _, err := p.Get("/api/admin/newsletter-lists/"+d.ListID, nil, &list); err != nil {
		return web.HTML{}, err
	}
	d.Blocks = onceEach(d.Blocks)
	if err := p.explainBlocks(d.Blocks); err != nil {
		return web.HTML{}, err
	}
	for i := range r.Consents {
		d.Ended = d.Ended || r.Consents[i].What == core.ConsentDisabled && r.Consents[i].At == r.StatusAt
	}
	v := View{
		Title: string(d.Email), Within: []Link{{p.T("People"), p.Path("people")}}, Badge: p.PersonBadge(d.Shown()),
		State: p.personState(&d), Data: &d,
	}
	if name := p.PersonName(d.person); name != "" {
		v.State = name + " · " + v.State
	}
	fields := withOwn(p, p.withNames(list.Fields), d.Preferences)
	if p.IsForm() {
		to, notice, err := do(&d, fields)
		if err == nil {
			return p.Redirect(to, notice)
		}
		fault, status, ok := p.FaultOf(err)
		if !ok {
			return web.HTML{}, err
		}
		v.Fault, v.Status = fault, status
		d.Address.Wrong = wrongOn(err, "email", fault)
	}
	d.Address = field{
		Name: "email", Label: p.T("New email address"), Value: p.Form["email"], Type: "email", Required: true, Max: 254,
		Complete: "off", Wrong: d.Address.Wrong,
	}
	if d.Readable {
		if err := p.readPerson(&d, fields); err != nil {
			return web.HTML{}, err
		}
		if d.Known, err = p.allTags(); err != nil {
			return web.HTML{}, err
		}
	}
	d.Tag = field{
		Name: "tag", Label: p.T("Tag"), Value: p.Form["tag"], Required: true, Max: 60, Complete: "off", List: "tags",
		Hint: p.T("A label, for example “regular customer”. Applies to all your lists. Entering a new name creates " +
			"a tag."),
	}
	return p.Show("person", v)
}

// personState describes a person's state on a list in a sentence.
func (p *Page) personState(r *personData) string {
	if !r.Readable { // the import's record, which has the date, is personal data
		switch r.Status {
		case core.SubscriptionActive:
			return p.T("Subscribed to “{{list}}”, added on {{day}}", "list", r.ListName, "day", p.Date(r.CreatedAt))
		case core.SubscriptionUnsubscribed:
			return p.T("Unsubscribed from “{{list}}”", "list", r.ListName)
		}
	}
	text := p.T("On “{{list}}”", "list", r.ListName)
	since := p.Date(r.StatusAt)
	said := r.saidAt()
	switch r.Status {
	case core.SubscriptionActive:
		if said > 0 {
			return p.T("Subscribed to “{{list}}” since {{day}}, imported on {{at}}",
				"list", r.ListName, "day", p.Date(said), "at", since)
		}
		text = p.T("Subscribed to “{{list}}” since {{day}}", "list", r.ListName, "day", since)
	case core.SubscriptionPending:
		text = p.T("Waiting for confirmation for “{{list}}” since {{day}}", "list", r.ListName, "day", since)
	case core.SubscriptionUnsubscribed:
		text = p.T("Unsubscribed from “{{list}}” on {{day}}", "list", r.ListName, "day", since)
		if said > 0 {
			return p.T("Unsubscribed from “{{list}}” on {{day}}, imported on {{at}}",
				"list", r.ListName, "day", p.Date(said), "at", since)
		}
		if r.Ended {
			text = p.T("Unsubscribed from “{{list}}” on {{day}}, when the address was blocked",
				"list", r.ListName, "day", since)
		}
	}
	return text
}

// saidAt returns the time when the person subscribed or unsubscribed according to the imported file that set their
// status, or 0.
func (r *personRecord) saidAt() core.Instant {
	for i := len(r.Consents) - 1; i >= 0; i-- {
		if c := &r.Consents[i]; c.At == r.StatusAt &&
			(c.What == core.ConsentImported || c.What == core.ConsentImportedLeft) {
			return core.EvidenceTime(c.Reason)
		}
	}
	return 0
}

// readPerson reads the data that requires permission to read addresses.
func (p *Page) readPerson(d *personData, fields core.Fields) error {
	q := p.ofTenant("email", string(d.Email), "limit", "100")
	if _, err := p.Get("/api/admin/subscribers", q, &d.Others); err != nil {
		return err
	}
	lists, err := p.peopleLists()
	if err != nil {
		return err
	}
	for i := range d.Others {
		one := &d.Others[i]
		for j := range lists {
			if lists[j].ID == one.ListID {
				one.ListName = lists[j].Name
			}
		}
		record := d.personRecord
		if one.ID != d.ID && i < personOthers {
			record = personRecord{}
			if _, err := p.readNamed("/api/admin/subscribers/"+url.PathEscape(one.ID), &record); err != nil {
				return err
			}
		}
		if record.ID == one.ID {
			one.Said = record.saidAt()
		}
	}
	q = url.Values{"limit": {strconv.Itoa(personMails)}}
	if cursor := p.Query("cursor"); cursor != "" && p.isGet() {
		q.Set("cursor", cursor)
	}
	next, err := p.Get(p.personPath("history"), q, &d.Mails)
	if err != nil {
		return err
	}
	d.Pager = p.Pager(next)
	if err := p.readQueued(d, lists); err != nil {
		return err
	}
	team, err := p.teamOf(func(yield func(string) bool) {
		for i := range d.personRecord.Consents {
			if !yield(madeFrom(d.personRecord.Consents[i].Source)) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	for i := len(d.personRecord.Consents) - 1; i >= 0; i-- {
		c := d.personRecord.Consents[i]
		d.Consents = append(d.Consents, p.consentLine(&c, team))
	}
	for _, b := range d.Blocks {
		d.Liftable = d.Liftable || b.TenantID == p.Tenant.ID
	}
	p.readSaid(d, fields)
	return nil
}

// readSaid sets the inputs for a person's fields, and lists the remaining preferences.
func (p *Page) readSaid(d *personData, fields core.Fields) {
	values := d.Preferences.Values()
	text := func(name string) string { return saidText(values[name]) }
	isField := map[string]bool{}
	d.Fields = p.fieldsOf(fields, func(f *core.Field) string {
		isField[f.Name] = true
		if sent, ok := p.Form["field."+f.Name]; ok {
			return sent
		}
		return text(f.Name)
	})
	for name := range values {
		if !isField[name] && !strings.HasPrefix(name, "_") {
			d.Rest = append(d.Rest, said{p.knownLabel(name), text(name)})
		}
	}
	slices.SortFunc(d.Rest, func(a, b said) int { return strings.Compare(a.Name, b.Name) })
}

// saidText converts a preference's value to text for an input.
func saidText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw) // a number or boolean, for example
	}
	return s
}

// maxOwnFields is the maximum number of editable preferences that the list has no field for.
const maxOwnFields = 100

// withOwn returns a list's fields, followed by a person's other preferences, such as columns in an imported file. It
// includes strings, numbers and booleans that fit into an input.
func withOwn(p *Page, fields core.Fields, prefs core.Preferences) core.Fields {
	isField := map[string]bool{}
	for i := range fields {
		isField[fields[i].Name] = true
	}
	values := prefs.Values()
	own := core.Fields{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		raw := values[name]
		f := core.Field{Name: name, Label: p.knownLabel(name), Type: core.FieldText}
		switch {
		case isField[name], name == "", strings.HasPrefix(name, "_"), len(own) == maxOwnFields:
			continue
		case string(raw) == "true", string(raw) == "false":
			f.Type = core.FieldBoolean
		case !strings.HasPrefix(string(raw), `"`) && !isNumber(raw), !core.IsFieldText(saidText(raw)):
			continue
		}
		own = append(own, f)
	}
	slices.SortStableFunc(own, func(a, b core.Field) int { return strings.Compare(a.Label, b.Label) })
	return append(slices.Clip(fields), own...)
}

// isNumber reports whether a JSON value is a number.
func isNumber(raw []byte) bool {
	var n json.Number
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && json.Unmarshal(raw, &n) == nil
}

// changePerson saves the form's fields.
func (p *Page) changePerson(d *personData, fields core.Fields) error {
	prefs, err := p.saidOf(fields, d.Preferences)
	if err != nil {
		return err
	}
	return p.Do(http.MethodPut, p.personPath(), map[string]any{"preferences": prefs}, nil)
}

// BlockText explains in a sentence why an address is blocked.
func (p *Page) BlockText(b personBlock) string {
	text := p.T("No emails are sent to this address.")
	switch b.Kind {
	case core.KindDisabled, string(core.StatusSuppressed):
		text = p.T("This address is blocked. It doesn't get emails from any of your lists.")
	case string(core.StatusBounced):
		text = p.T("An email to this address couldn't be delivered (bounced). The address gets no more emails.")
	case string(core.StatusComplaint):
		text = p.T("This person marked an email as spam and gets no more emails.")
	case core.KindLeft:
		text = p.T("This person's data was erased. Imports can't add the address again.")
	}
	if b.TenantID == "" && b.Kind == core.KindDisabled {
		text = p.T("The server administrator blocked this address for all newsletters.")
	}
	return text
}

// endPerson unsubscribes a person from this list or from all lists.
func (o *Console) endPerson(p *Page) (web.HTML, error) {
	r, err := p.thePerson()
	if err != nil {
		return web.HTML{}, err
	}
	if !p.IsForm() {
		return p.Show("end-person", View{
			Title: p.T("Unsubscribe this person?"), Within: p.withinPerson(&r.person), State: string(r.Email), Data: &r,
		})
	}
	if p.Form["all"] != "" {
		err = p.Do(http.MethodPost, "/api/admin/subscribers/unsubscribe",
			map[string]any{"email": r.Email, "tenant_id": p.Tenant.ID}, nil)
	} else {
		err = p.Do(http.MethodPost, p.personPath("unsubscribe"), nil, nil)
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("people", r.ID), "ended")
}

func (p *Page) withinPerson(r *person) []Link {
	return []Link{{p.T("People"), p.Path("people")}, {string(r.Email), p.Path("people", r.ID)}}
}

// erasePerson erases a person's data on the tenant's lists. It requires a fresh sign-in before it shows what will be
// erased.
func (o *Console) erasePerson(p *Page) (web.HTML, error) {
	if err := p.fresh(); err != nil {
		return web.HTML{}, err
	}
	r, err := p.thePerson()
	if err != nil {
		return web.HTML{}, err
	}
	v := View{Title: p.T("Erase this person's data?"), Within: p.withinPerson(&r.person), State: string(r.Email), Data: &r}
	if !p.IsForm() {
		return p.Show("erase-person", v)
	}
	if p.Form["sure"] == "" {
		v.Fault, v.Status = p.T("Check the box to confirm."), http.StatusBadRequest
		return p.Show("erase-person", v)
	}
	if err := p.Do(http.MethodPost, p.personPath("erase"), nil, nil); err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("people"), "erased")
}

// fresh returns core.ErrProofOld if the visitor's last reauthentication is too old. Pages call it before a form whose
// action has this requirement, so that no input is lost.
func (p *Page) fresh() error {
	if !core.FreshProof(p.caller.ProvedAt, p.Now) {
		return core.ErrProofOld
	}
	return nil
}

// liftPerson unblocks a person's address.
func (o *Console) liftPerson(p *Page) (web.HTML, error) {
	r, err := p.thePerson()
	if err != nil {
		return web.HTML{}, err
	}
	err = p.Do(http.MethodPost, "/api/admin/suppressions/lift",
		map[string]any{"email": r.Email, "tenant_id": p.Tenant.ID}, nil)
	if err != nil && core.KindOf(err) != core.NotFound { // already unblocked in the meantime
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("people", r.ID), "lifted")
}
