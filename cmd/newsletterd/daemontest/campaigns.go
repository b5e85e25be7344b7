package daemontest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
	"newsletterd/mail/mailtest"
	"newsletterd/store/storetest"
)

const (
	campaignMark    = "mark-" // prefix of the words that show which versions an email was created from
	campaignTeam    = "@team.example"
	campaignReaders = 4
	campaignOthers  = 2                      // subscribers only of the other list
	campaignCrowd   = core.FirstFewFrom + 20 // subscribers of lists that send to the first recipients before the rest
	campaignGrace   = 2 * time.Second        // time for emails in flight when a job was paused or canceled
)

// Campaigns simulates people who edit, approve, send and stop many campaigns in random order. The daemon can be killed
// at any time.
type Campaigns struct {
	*Process
	Sink  *mailtest.Sink
	Steps atomic.Int64 // requests with a response

	tenants []campaignTenant
	mu      sync.Mutex // guards all
	all     []*campaign
}

// campaignTenant is a tenant with two publishers and two lists. The second tenant requires approval by a second person.
type campaignTenant struct {
	id          string
	list, crowd string
	other       string // a list that shares some subscribers with list
	people      []*webtest.Client
}

// campaign is the known state of a campaign. Only one goroutine uses it at a time.
type campaign struct {
	no         int
	tenant     campaignTenant
	second     bool // a second person has to approve
	readers    int
	crowd      bool
	id, layout string
	saves      int

	now      campaignState
	subjects []string     // possible subjects: several if a save got no response
	edition  []string     // possible marks of the layout
	approved []string     // marks that may be sent
	writers  map[int]bool // people who saved successfully since the last approval
	asked    time.Time    // last request to send
	later    bool         // scheduled for a time that the test doesn't reach
	rest     time.Time    // when the rest was requested after the first recipients
	barred   []span
}

// campaignState is a campaign as the daemon shows it.
type campaignState struct {
	State    core.CampaignState `json:"state"`
	Subject  string             `json:"subject"`
	Version  int64              `json:"version"`
	JobID    string             `json:"send_job_id"`
	tag      string             // its ETag
	revision int64
}

// stopped reports whether the campaign is in a state where no email can be sent.
func (s campaignState) stopped() bool {
	return s.State == core.CampaignDraft || s.State == core.CampaignApproved
}

// settled reports whether the content to send is fixed.
func (s campaignState) settled() bool {
	return slices.Contains([]core.CampaignState{
		core.CampaignApproved, core.CampaignScheduled, core.CampaignSending, core.CampaignSent,
	}, s.State)
}

// span is a period in which none of a campaign's emails may arrive. until is zero if it hasn't ended.
type span struct {
	from, until time.Time
	why         string
}

// NewCampaigns starts a daemon with two tenants and their people.
func NewCampaigns(t testing.TB) *Campaigns {
	t.Helper()
	l := &Campaigns{Sink: mailtest.StartSink(t, mailtest.SinkOptions{Records: true, Mark: campaignMark})}
	l.Process = New(t, append(Relay(l.Sink.Addr()), fmt.Sprint("NEWSLETTERD_SEND_MAX_UNRECORDED=", MaxUnrecorded))...)
	l.Prepare(func(s *storetest.Seeder) {
		for i, approval := range []string{core.ApprovalNone, core.ApprovalSecondPerson} {
			tenant := s.NewTenant(func(in *core.TenantInput) {
				in.Name, in.Approval = new(fmt.Sprint("tenant", i)), new(approval)
			})
			in := func(c *core.ListInput) { c.TenantID = &tenant.ID }
			list, other, crowd := s.NewList(in), s.NewList(in), s.NewList(in)
			s.Readers(list, campaignReaders)
			s.Readers(other, campaignReaders, func(k int) core.Email { return storetest.Reader(k + campaignOthers) })
			s.Readers(crowd, campaignCrowd)
			l.tenants = append(l.tenants, campaignTenant{
				id: tenant.ID, list: list.ID, other: other.ID, crowd: crowd.ID,
			})
		}
	})
	l.Serve()
	l.Operator(core.ScopeAdmin)
	for i := range l.tenants {
		tenant := &l.tenants[i]
		for _, name := range []string{"ann", "bob"} {
			address := fmt.Sprint(name, i, campaignTeam)
			l.Run("admin", "user", "create", "--email", address, "--role", core.RolePublisher, "--tenant", tenant.id)
			tenant.people = append(tenant.people, l.As(l.Field("access_token", "admin", "token", "create",
				"--user", address, "--scope", core.ScopeAdmin+" "+core.ScopeSend)))
		}
	}
	return l
}

// ask repeats a request until it gets a response, so the request must be idempotent.
func (l *Campaigns) ask(c *webtest.Client, method, path string, body any) (r webtest.Reply) {
	l.Every(10*time.Millisecond, func() (done bool) {
		var err error
		r, err = c.Try(method, path, body)
		return err == nil && r.StatusCode != 503
	})
	return r
}

// try sends a request once. done reports whether it succeeded, and sure whether that is known.
func (l *Campaigns) try(c *webtest.Client, method, path string, body any, headers ...string) (done, sure bool) {
	r, err := c.Try(method, path, body, headers...)
	if err != nil || r.StatusCode == 503 {
		return false, false
	}
	l.Steps.Add(1)
	switch r.StatusCode {
	case 200, 201, 202:
		return true, true
	case 403:
		if !strings.Contains(r.Text, "approval_required") {
			l.Errorf("%s %s: %s", method, path, r.Text)
		}
	case 409, 412, 429:
	default:
		l.Errorf("%s %s: %d %s", method, path, r.StatusCode, r.Text)
	}
	return false, true
}

// Write creates a campaign and performs random steps on it.
func (l *Campaigns) Write(no int, random *rand.Rand) {
	one := &campaign{no: no, writers: map[int]bool{0: true}, second: random.IntN(3) == 0, crowd: random.IntN(100) == 0}
	one.tenant = l.tenants[0]
	if one.second {
		one.tenant = l.tenants[1]
	}
	lists := []string{one.tenant.list}
	one.readers = campaignReaders
	switch {
	case one.crowd:
		lists, one.readers = []string{one.tenant.crowd}, campaignCrowd
	case random.IntN(4) == 0:
		lists, one.readers = append(lists, one.tenant.other), campaignReaders+campaignOthers
	}
	content := map[string]any{"kind": "markdown", "source": "Dear reader,\n\nhere is the **news**."}
	if random.IntN(3) == 0 {
		one.edition = []string{fmt.Sprintf("%se%d.0", campaignMark, no)}
		name, layout := fmt.Sprint("layout", no), layoutOf(one.edition[0])
		layout["tenant_id"], layout["name"] = one.tenant.id, name
		r := l.ask(&l.Client, "POST", "/api/admin/templates", layout)
		for r.StatusCode == 409 { // it was created, but the response was lost
			name += "-again"
			layout["name"] = name
			r = l.ask(&l.Client, "POST", "/api/admin/templates", layout)
		}
		one.layout, content["layout"] = r.Field("id"), name
		content["kind"], content["source"] = "html", "<p>Dear reader,</p>\n<p>here is the <b>news</b>.</p>"
	}
	one.subjects = []string{fmt.Sprintf("%s%d.0", campaignMark, no)}
	r := l.ask(one.tenant.people[0], "POST", "/api/campaigns", map[string]any{
		"list_ids": lists, "subject": one.subjects[0], "content": content,
	})
	one.id = r.Wants(201).Field("id")
	l.look(one)
	for range 6 + random.IntN(10) {
		l.step(one, random)
	}
	l.keep(one)
}

func (l *Campaigns) keep(one *campaign) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, one)
}

// layoutOf returns a layout template that contains a mark.
func layoutOf(mark string) map[string]any {
	return map[string]any{
		"body_html": "<p>\n" + mark + "\n</p>\n{{content}}\n", "body_text": mark + "\n\n{{content}}\n",
	}
}

// look reads the state of a campaign and checks that no acknowledged change was lost.
func (l *Campaigns) look(one *campaign) {
	r := l.ask(one.tenant.people[0], "GET", "/api/campaigns/"+one.id, nil)
	var s campaignState
	r.OK().JSON(&s)
	s.tag = r.Header.Get("ETag")
	revision, _, _ := strings.Cut(strings.Trim(s.tag, `"`), "-")
	s.revision, _ = strconv.ParseInt(revision, 10, 64)
	if s.revision < one.now.revision {
		l.Errorf("campaign %d was at revision %d and is at %q", one.no, one.now.revision, s.tag)
	}
	if !slices.Contains(one.subjects, s.Subject) {
		l.Errorf("campaign %d was saved as %q and is %q", one.no, one.subjects, s.Subject)
	}
	one.subjects = []string{s.Subject}
	one.now = s
}

// step performs one random step on a campaign and checks the response against the known state.
func (l *Campaigns) step(one *campaign, random *rand.Rand) {
	by := random.IntN(2)
	c, path, version := one.tenant.people[by], "/api/campaigns/"+one.id, one.now.Version
	if random.IntN(5) == 0 {
		version--
	}
	job := "/api/send-jobs/" + one.now.JobID
	switch what := random.IntN(20); {
	case what < 4:
		l.save(one, by, random.IntN(8) == 0)
		return
	case what < 8 && one.layout != "" && random.IntN(4) > 0:
		one.saves++
		mark := fmt.Sprintf("%se%d.%d", campaignMark, one.no, one.saves)
		done, sure := l.try(&l.Client, "PUT", "/api/admin/templates/"+one.layout, layoutOf(mark))
		if done {
			one.edition = nil
		}
		if done || !sure {
			one.edition = append(one.edition, mark)
		}
	case what < 6:
		l.try(c, "POST", path+"/preview", map[string]any{})
	case what == 6:
		l.try(c, "POST", path+"/review", map[string]any{"note": "Please look."})
	case what == 7:
		l.try(c, "POST", path+"/reject", map[string]any{})
	case what < 11:
		l.approve(one, by, version)
		return
	case what < 15:
		l.send(one, by, version, random)
		return
	case what < 17:
		was := one.now
		done, _ := l.try(c, "POST", path+"/undo", nil)
		l.look(one)
		if done || was.State == core.CampaignScheduled && one.now.stopped() {
			one.bar(one.asked, "an undo")
		}
		return
	case what == 17 && one.now.JobID != "":
		if done, _ := l.try(c, "POST", job+"/pause", nil); done {
			one.bar(time.Now().Add(campaignGrace), "a pause")
		}
	case what == 18 && one.now.JobID != "":
		l.resume(one)
	case what == 19 && one.now.JobID != "" && random.IntN(2) == 0:
		done, _ := l.try(c, "POST", job+"/cancel", nil)
		if done {
			one.bar(time.Now().Add(campaignGrace), "a cancel")
		}
		l.look(one)
		if done && one.now.stopped() {
			one.bar(one.asked, "a cancel before the first mail")
		}
		return
	default:
		l.try(&l.Client, "PUT", "/api/admin/tenants/"+one.tenant.id,
			map[string]any{"brand_color": fmt.Sprintf("#%06x", random.IntN(1<<24))})
	}
	l.look(one)
}

// bar records that none of a campaign's emails may arrive after from.
func (one *campaign) bar(from time.Time, why string) {
	one.barred = append(one.barred, span{from: from, why: why})
}

// open ends the barred period at the given time. After that, emails may arrive again.
func (one *campaign) open(at time.Time) {
	for i := range one.barred {
		if one.barred[i].until.IsZero() {
			one.barred[i].until = at
		}
	}
}

func (l *Campaigns) save(one *campaign, by int, stale bool) {
	one.saves++
	subject, was := fmt.Sprintf("%s%d.%d", campaignMark, one.no, one.saves), one.now
	tag := was.revision
	if stale {
		tag--
	}
	done, sure := l.try(one.tenant.people[by], "PUT", "/api/campaigns/"+one.id, map[string]any{"subject": subject},
		"If-Match", fmt.Sprintf("%q", fmt.Sprint(tag)))
	if done && (stale || was.settled() && was.State != core.CampaignApproved) {
		l.Errorf("campaign %d, %s, was written on; stale: %t", one.no, was.State, stale)
	}
	if done {
		one.subjects, one.writers[by] = nil, true
	}
	if done || !sure {
		one.subjects = append(one.subjects, subject)
	}
	l.look(one)
}

// agreed records that a person approved the campaign's current content, which may be sent.
func (l *Campaigns) agreed(one *campaign, by int) {
	if one.second && one.writers[by] {
		l.Errorf("campaign %d was approved by one of its writers", one.no)
	}
	one.approved, one.writers = append(slices.Clone(one.subjects), one.edition...), map[int]bool{}
}

func (l *Campaigns) approve(one *campaign, by int, version int64) {
	was := one.now
	done, _ := l.try(one.tenant.people[by], "POST", "/api/campaigns/"+one.id+"/approve",
		map[string]any{"version": version}, "If-Match", was.tag)
	if done && version != was.Version {
		l.Errorf("campaign %d was approved as of another version", one.no)
	}
	l.look(one)
	switch approved := one.now.State == core.CampaignApproved; {
	case done || approved && was.State != core.CampaignApproved:
		l.agreed(one, by)
	case approved: // it may have been approved again with another layout
		one.approved = append(one.approved, one.edition...)
	}
}

func (l *Campaigns) send(one *campaign, by int, version int64, random *rand.Rand) {
	was, asked := one.now, time.Now()
	body, later := map[string]any{"version": version, "undo_seconds": random.IntN(2), "first_few": one.crowd}, false
	if random.IntN(4) == 0 {
		body["scheduled_at"], later = "2099-01-01T00:00:00Z", true
	}
	done, sure := l.try(one.tenant.people[by], "POST", "/api/campaigns/"+one.id+"/send", body, "If-Match", was.tag)
	if done && version != was.Version {
		l.Errorf("campaign %d was sent as of another version", one.no)
	}
	l.look(one)
	if !done && (sure || one.now.JobID == was.JobID) {
		return
	}
	one.open(asked)
	one.asked, one.later, one.rest = asked, later, time.Time{}
	if was.State != core.CampaignApproved {
		l.agreed(one, by)
	}
}

func (l *Campaigns) resume(one *campaign) {
	at := time.Now()
	done, sure := l.try(one.tenant.people[0], "POST", "/api/send-jobs/"+one.now.JobID+"/resume", nil)
	if !done && sure {
		return
	}
	one.open(at)
	if one.rest.IsZero() {
		one.rest = at
	}
}

// Finish lets the daemon finish each campaign that is being sent.
func (l *Campaigns) Finish() {
	l.Helper()
	for _, one := range l.all {
		l.Every(10*time.Millisecond, func() bool {
			l.look(one)
			if one.now.State == core.CampaignSending || one.now.State == core.CampaignScheduled && !one.later {
				l.resume(one)
				return false
			}
			return true
		})
	}
}

// Check compares the received emails with the approved content, and their arrival times with the allowed times. It
// returns the numbers of sent campaigns, emails and second copies.
func (l *Campaigns) Check() (sent, mails, copies int) {
	l.Helper()
	came := map[int][]mailtest.Record{}
	for _, r := range l.Sink.Records() {
		if strings.HasSuffix(r.Rcpt, campaignTeam) {
			continue // review email
		}
		no := -1
		for _, mark := range r.Marks {
			number, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(mark, campaignMark), "e"), ".")
			no, _ = strconv.Atoi(number)
		}
		came[no] = append(came[no], r)
	}
	for _, one := range l.all {
		readers := l.arrived(one, came[one.no])
		mails, copies = mails+len(came[one.no]), copies+len(came[one.no])-readers
		if one.now.State != core.CampaignSent {
			continue
		}
		sent++
		want := one.readers
		var job struct{ Status core.JobStatus }
		l.ask(one.tenant.people[0], "GET", "/api/send-jobs/"+one.now.JobID, nil).OK().JSON(&job)
		if job.Status == core.JobCompleted && readers != want || job.Status != core.JobCompleted && readers > want {
			l.Errorf("campaign %d is %s and came to %d of %d readers", one.no, job.Status, readers, want)
		}
	}
	return sent, mails, copies
}

// arrived checks a campaign's emails and returns the number of subscribers who got it.
func (l *Campaigns) arrived(one *campaign, mails []mailtest.Record) int {
	readers, few := map[string]bool{}, map[string]bool{}
	for _, r := range mails {
		readers[r.Rcpt] = true
		if one.rest.IsZero() || r.At.Before(one.rest) {
			few[r.Rcpt] = true
		}
		marks := 1
		if one.layout != "" {
			marks = 2
		}
		strange := func(mark string) bool { return !slices.Contains(one.approved, mark) }
		if len(r.Marks) != marks || slices.ContainsFunc(r.Marks, strange) {
			l.Errorf("campaign %d came as %q; approved is %q", one.no, r.Marks, one.approved)
		}
		for _, b := range one.barred {
			if r.At.After(b.from) && (b.until.IsZero() || r.At.Before(b.until)) {
				l.Errorf("campaign %d came %s after %s", one.no, r.At.Sub(b.from), b.why)
			}
		}
	}
	if one.crowd && len(few) > core.FirstFew {
		l.Errorf("campaign %d came to %d readers before the rest was asked for", one.no, len(few))
	}
	return len(readers)
}
