package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// OperatorPath is the root path of the pages for server administrators. These pages belong to no tenant. They can't be
// below Path, because httprouter doesn't allow a literal next to the tenant parameter.
const OperatorPath = page.OperatorPath

// operatorAreas holds the navigation entries for server administrators.
var operatorAreas = []struct{ text, path, icon string }{
	{"System", "", "server"},
	{"Mail server", "mail-server", "mail"},
	{"Sends", "mailings", "send"},
	{"Users", "users", "users"},
	{"Queues", "queues", "inbox"},
	{"Tenants", "tenants", "building-2"},
	{"API clients", "clients", "key"},
	{"Mail providers", "providers", "webhook"},
}

// operatorRoutes adds the routes for pages about the server and all tenants.
func (o *Console) operatorRoutes(t *web.Table) {
	o.operatorGet(t, "", o.system, "The console: the status of the server")
	o.operatorPost(t, "", o.actOnSystem, "The console: create the next signing keys")
	o.operatorGet(t, "/findings", o.findings, "The console: problems of the server")
	o.operatorGet(t, "/queues", o.queues, "The console: queued events and emails")
	o.operatorPost(t, "/queues", o.retryQueue, "The console: retry events and emails")
	o.operatorGet(t, "/mailings", o.mailings, "The console: sends of all tenants")
	o.operatorPost(t, "/mailings", o.actOnMailing, "The console: pause, resume or cancel a send")
	o.operatorGet(t, "/users", o.users, "The console: users")
	o.operatorGet(t, "/users/:id", o.user, "The console: a user")
	o.operatorPost(t, "/users/:id", o.actOnUser, "The console: change a user")
	o.operatorGet(t, "/new-user", o.newUser, "The console: the form to invite a person")
	o.operatorPost(t, "/new-user", o.newUser, "The console: invite a person")
	o.operatorGet(t, "/tenants", o.allTenants, "The console: tenants")
	o.operatorGet(t, "/tenants/:id", o.oneTenant, "The console: a tenant, for server administrators")
	o.operatorPost(t, "/tenants/:id", o.actOnTenant, "The console: suspend or limit a tenant")
	o.operatorPost(t, "/tenants/:id/restore", o.restoreTenant, "The console: restore a deleted tenant")
	o.operatorClientRoutes(t)
	o.mailServerRoutes(t)
}

// operatorGet adds a page for server administrators. Other users get a not-found error.
func (o *Console) operatorGet(t *web.Table, path string, fn handler, summary string) {
	o.open(t, OperatorPath+path, operators(fn), summary)
}

// operatorPost adds the form handler for a page for server administrators.
func (o *Console) operatorPost(t *web.Table, path string, fn handler, summary string) {
	o.openPost(t, OperatorPath+path, operators(fn), summary)
}

func operators(fn handler) handler {
	return func(p *Page) (web.HTML, error) {
		if !p.IsOperator() {
			return web.HTML{}, web.ErrNotFound
		}
		return fn(p)
	}
}

// operatorPath returns a path below OperatorPath.
func operatorPath(parts ...string) string {
	path := OperatorPath
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// OperatorPath is like the function operatorPath, for templates.
func (p *Page) OperatorPath(parts ...string) string { return operatorPath(parts...) }

// inOperation reports whether the page is for server administrators.
func (p *Page) inOperation() bool {
	path := p.Request.URL.Path
	return p.IsOperator() && (path == OperatorPath || strings.HasPrefix(path, OperatorPath+"/"))
}

// operatorNavigation returns the navigation entries for server administrators.
func (p *Page) operatorNavigation() (items []navItem) {
	path := p.Request.URL.Path
	for _, a := range operatorAreas {
		to := OperatorPath
		here := path == to || path == to+"/findings"
		if a.path != "" {
			to += "/" + a.path
			here = path == to || strings.HasPrefix(path, to+"/")
		}
		items = append(items, navItem{Text: p.T(a.text), To: to, Icon: a.icon, Here: here, Tab: len(items) < 4})
	}
	return items
}

// secondStep holds the data for confirming an action that is hard to undo.
type secondStep struct {
	Text   string   // consequences of the action
	Button string   // label of the button
	Back   string   // URL of the page to return to
	Tick   string   // label of a checkbox that also disables a user's clients; empty: none
	Fields []option // fields of the form that is submitted again
}

// sure reports whether the submitted form confirms the action.
func (p *Page) sure() bool { return p.Form["sure"] == "yes" }

// askSure asks the visitor to confirm the submitted form.
func (p *Page) askSure(title string, q secondStep, within ...Link) (web.HTML, error) {
	for _, name := range []string{"act", "id", "role", "tenant_id", "event_id", "endpoint_id"} {
		if value := p.Form[name]; value != "" {
			q.Fields = append(q.Fields, option{name, value})
		}
	}
	return p.Show("sure", View{Title: title, Within: within, Data: q})
}

// systemStatus is the part of the GET /api/admin/status response that pages need.
type systemStatus struct {
	Database string `json:"database"`
	Schema   int64  `json:"schema"`
	Disk     struct {
		Database, WAL, Free, Total int64
		ReadOnly                   bool `json:"read_only"`
	} `json:"disk"`
	Outbox    queueState `json:"outbox"`
	Endpoints queueState `json:"endpoints"`
	Mails     queueState `json:"mails"`
	Restored  int64      `json:"restored_jobs"`
	Records   struct{ Tenants, Lists, Users int64 }
	Versions  struct {
		Program, Commit, Go string
		SQLite              string `json:"sqlite_driver"`
	}
	Snapshot struct {
		Path  string
		At    core.Instant
		Bytes int64
	}
	Replica *replicaState
}

// replicaState is the state of the database's replica on another machine.
type replicaState struct {
	LagMS  int64 `json:"lag_ms"`
	Fresh  bool
	Broken string // why it can't be restored; empty: no reason is known
	Drill  *struct {
		At    core.Instant
		Whole bool
	}
}

// replicaLate is the lag in milliseconds above which a replica counts as late.
const replicaLate = 5000

// queueState holds the numbers of items in a queue that are waiting or that are no longer retried.
type queueState struct {
	Waiting, Dead, Failed int64
	OldestAt              core.Instant `json:"oldest_at"`
}

// GivenUp returns the number of items that are no longer retried.
func (q queueState) GivenUp() int64 { return q.Dead + q.Failed }

// Stuck returns the number of items in all queues that are no longer retried.
func (s *systemStatus) Stuck() int64 {
	return s.Outbox.GivenUp() + s.Endpoints.GivenUp() + s.Mails.GivenUp()
}

// Waiting returns the number of items waiting in all queues.
func (s *systemStatus) Waiting() int64 {
	return s.Outbox.Waiting + s.Endpoints.Waiting + s.Mails.Waiting
}

func (p *Page) status() (s systemStatus, err error) {
	_, err = p.Get("/api/admin/status", nil, &s)
	return s, err
}

// keyRow is a signing key.
type keyRow struct {
	KID       string       `json:"kid"`
	Alg       string       `json:"alg"`
	State     string       `json:"state"`
	ActiveAt  core.Instant `json:"active_at"`
	RetiredAt core.Instant `json:"retired_at"`
}

// KeyBadge returns the badge for the state of a signing key.
func (p *Page) KeyBadge(state string) Badge {
	switch state {
	case "signs":
		return Badge{p.T("Active"), "good"}
	case "next":
		return Badge{p.T("Upcoming"), "live"}
	}
	return Badge{p.T("Retired"), ""}
}

// system shows the state of the server and its machine. A script loads doctor's findings, because these can take a long
// time.
func (o *Console) system(p *Page) (web.HTML, error) { return p.showSystem(nil, nil) }

func (p *Page) showSystem(fault error, test *relayResult) (web.HTML, error) {
	s, err := p.status()
	if err != nil {
		return web.HTML{}, err
	}
	d := struct {
		Status systemStatus
		Keys   []keyRow
		Next   bool // whether there are keys for the next rotation
		Relay  core.RelayState
		Test   *relayResult
		Email  string // recipient of a test email
		Syncs  []syncRow
	}{Status: s, Test: test, Email: cmp.Or(p.Form["email"], string(p.Who.User.Email))}
	if d.Relay, err = p.relayState(); err != nil {
		return web.HTML{}, err
	}
	if d.Syncs, err = p.syncs(); err != nil {
		return web.HTML{}, err
	}
	if _, err := p.Get("/api/admin/signing-keys", nil, &d.Keys); err != nil {
		return web.HTML{}, err
	}
	for _, k := range d.Keys {
		d.Next = d.Next || k.State == "next"
	}
	v := View{Title: p.T("System"), State: p.systemState(&s), Data: &d}
	if fault != nil {
		ok := false
		if v.Fault, v.Status, ok = p.FaultOf(fault); !ok {
			return web.HTML{}, fault
		}
	}
	return p.Show("operator", v)
}

func (p *Page) systemState(s *systemStatus) string {
	switch {
	case s.Disk.ReadOnly:
		return p.T("The database is read-only. Free up disk space or check write permissions.")
	case s.Replica != nil && (!s.Replica.Fresh || s.Replica.LagMS > replicaLate):
		return p.T("The replica is missing the latest changes.")
	case s.Replica != nil && s.Replica.Broken != "":
		return p.T("The replica is incomplete and can't be restored. A new one is being created.")
	case s.Replica != nil && s.Replica.Drill != nil && !s.Replica.Drill.Whole:
		return p.T("The last restore test failed. See the checks below.")
	case s.Stuck() > 0:
		return p.N("1 event or email failed|{{n}} events and emails failed",
			s.Stuck())
	}
	return p.N("1 tenant|{{n}} tenants", s.Records.Tenants) + " · " + p.N("1 list|{{n}} lists", s.Records.Lists) + " · " +
		p.N("1 user|{{n}} users", s.Records.Users)
}

// actOnSystem creates the next signing keys or sends a test email.
func (o *Console) actOnSystem(p *Page) (web.HTML, error) {
	switch p.Form["act"] {
	case "rotate":
	case "test":
		var t core.RelayTest
		if err := p.Do(http.MethodPost, "/api/admin/relay/test", p.sent("email"), &t); err != nil {
			return p.showSystem(err, nil)
		}
		return p.showSystem(nil, &relayResult{t, p.RelayWords(&t, p.Form["email"])})
	default:
		return web.HTML{}, core.Invalidf("act", "Unknown action. Reload the page and try again.")
	}
	if err := p.Do(http.MethodPost, "/api/admin/signing-keys/rotate", nil, nil); err != nil {
		return p.showSystem(err, nil)
	}
	return p.Redirect(OperatorPath, "keys-created")
}

// findingBadge returns the badge for the level of a finding.
func (p *Page) findingBadge(level string) Badge {
	switch level {
	case core.LevelFault:
		return Badge{p.T("Error"), "bad"}
	case core.LevelWarning:
		return Badge{p.T("Warning"), "warn"}
	}
	return Badge{p.T("OK"), "good"}
}

// findingRow is a finding from doctor in the page's language.
type findingRow struct {
	Check, Text, Advice string
	Badge               Badge
}

func (p *Page) findingRow(f *core.Finding) findingRow {
	text, advice := f.Sentences()
	said := moment.ReplaceAllStringFunc(p.say(text), func(at string) string {
		if t, err := time.Parse(time.RFC3339, at); err == nil {
			return p.When(core.At(t))
		}
		return at
	})
	return findingRow{p.say(core.Sentence{Text: f.Check}), said, p.say(advice), p.findingBadge(f.Level)}
}

// moment matches a time in doctor's texts.
var moment = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// say translates a sentence from doctor. The translations are in words/LANGUAGE/doctor.json.
func (p *Page) say(s core.Sentence) string {
	all := words()[p.Lang+doctorWords]
	other := cmp.Or(all[s.Text], all[s.Format])
	if other == "" {
		return s.Text
	}
	var pairs []any
	for i, value := range s.Args {
		text := fmt.Sprint(value)
		switch v := value.(type) {
		case core.Sentence:
			text = p.say(v)
		case []string:
			text = strings.Join(v, ", ")
		case int, int64, core.Instant, core.ByteSize:
			text = p.faultValue(v)
		}
		pairs = append(pairs, i+1, text)
	}
	return fillIn(other, pairs...)
}

// settingName matches a section or a key in the configuration file.
var settingName = regexp.MustCompile(`\[[a-z_.]+\]|\b[a-z]+(?:_[a-z]+)+\b`)

// findings shows doctor's findings: errors first, then warnings.
func (o *Console) findings(p *Page) (web.HTML, error) {
	dns := p.Query("dns") != ""
	found, err := p.console.options.Findings(p.Call, dns)
	if err != nil {
		return web.HTML{}, err
	}
	d := struct {
		Findings []findingRow // errors and warnings
		Fine     []findingRow
		DNS      bool
		Setting  string // first setting named in the findings
	}{DNS: dns}
	faults, warnings := int64(0), int64(0)
	for _, level := range []string{core.LevelFault, core.LevelWarning, core.LevelOK} {
		for _, f := range found {
			if f.Level != level {
				continue
			}
			row := p.findingRow(&f)
			switch level {
			case core.LevelFault:
				faults++
			case core.LevelWarning:
				warnings++
			default:
				d.Fine = append(d.Fine, row)
				continue
			}
			d.Findings = append(d.Findings, row)
			d.Setting = cmp.Or(d.Setting, settingName.FindString(row.Text+" "+row.Advice))
		}
	}
	v := View{Title: p.T("Checks"), Within: []Link{{p.T("System"), OperatorPath}}, Data: &d}
	switch {
	case faults > 0:
		v.State = p.N("1 error to fix|{{n}} errors to fix", faults)
	case warnings > 0:
		v.State = p.N("1 warning · no errors|{{n}} warnings · no errors", warnings)
	default:
		v.State = p.T("No problems found")
	}
	if _, ok := p.Partial(); ok {
		return p.ShowPart("findings", "findings", v)
	}
	return p.Show("findings", v)
}

// SnapshotAge describes the age of the snapshot.
func (p *Page) SnapshotAge(at core.Instant) string {
	if at == 0 {
		return "–"
	}
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	switch s := int64(p.Now.Time().Sub(at.Time()).Seconds()); {
	case s < 2*minute:
		return p.T("just now")
	case s < 2*hour:
		return p.N("{{n}} minute ago|{{n}} minutes ago", s/minute)
	case s < 2*day:
		return p.N("{{n}} hour ago|{{n}} hours ago", s/hour)
	default:
		return p.N("{{n}} day ago|{{n}} days ago", s/day)
	}
}

// SnapshotNote describes the size of the snapshot, or the reason why there is none.
func (p *Page) SnapshotNote(path string, bytes int64) string {
	switch {
	case path == "":
		return p.T("off")
	case bytes == 0:
		return p.T("no backup yet")
	}
	return p.Size(bytes)
}

// ReplicaFigure describes whether the replica is up to date.
func (p *Page) ReplicaFigure(r *replicaState) string {
	switch {
	case !r.Fresh:
		return p.T("Unreachable")
	case r.LagMS > replicaLate:
		return p.N("{{n}} second behind|{{n}} seconds behind", r.LagMS/1000)
	case r.Broken != "":
		return p.T("Damaged")
	}
	return p.T("Up to date")
}

// ReplicaNote describes the result of the replica's last restore test.
func (p *Page) ReplicaNote(r *replicaState) string {
	switch {
	case r.Drill == nil:
		return p.T("no restore test yet")
	case !r.Drill.Whole:
		return p.T("restore test failed on {{when}}", "when", p.Date(r.Drill.At))
	}
	return p.T("restore test passed on {{when}}", "when", p.Date(r.Drill.At))
}

// syncRow is a full sync, which sends all subscriptions to a list to the send service again.
type syncRow struct {
	ListID     string       `json:"list_id"`
	State      string       `json:"state"`
	BatchTotal int64        `json:"batch_total"`
	Done       int64        `json:"Completed"`
	StartedAt  core.Instant `json:"started_at"`
	Reason     string       `json:"reason"`
	Name       string       `json:"-"` // name of the list, or its id if the list was deleted
}

// shownSyncs is the maximum number of syncs on the page.
const shownSyncs = 8

// syncs reads the latest full syncs with the names of their lists.
func (p *Page) syncs() (rows []syncRow, err error) {
	_, err = p.Get("/api/admin/syncs", url.Values{"limit": {strconv.Itoa(shownSyncs)}}, &rows)
	for i := range rows {
		var l core.List
		rows[i].Name = rows[i].ListID
		if _, err := p.Get("/api/admin/newsletter-lists/"+rows[i].ListID, nil, &l); err == nil {
			rows[i].Name = l.Name
		}
	}
	return rows, err
}

// SyncBadge returns the badge for the state of a full sync.
func (p *Page) SyncBadge(state string) Badge {
	switch state {
	case "finished":
		return Badge{p.T("Completed"), "good"}
	case "failed":
		return Badge{p.T("Failed"), "bad"}
	case "running":
		return Badge{p.T("Running"), "live"}
	}
	return Badge{p.T("Waiting"), ""}
}
