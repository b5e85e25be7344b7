package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// sendingRoutes adds the routes for sending a campaign.
func (o *Console) sendingRoutes(t *web.Table) {
	const item = "/campaigns/:id"
	o.get(t, item+"/send", core.ActionCampaignWrite, o.sendPage, "The console: review and send a campaign")
	o.post(t, item+"/send", core.ActionCampaignSend, o.send, "The console: send a campaign")
	o.post(t, item+"/ask", core.ActionCampaignWrite, o.askApproval, "The console: request approval for a campaign")
	o.post(t, item+"/undo", core.ActionCampaignSend, o.undo, "The console: undo the send of a campaign")
	o.get(t, "/undo", core.ActionFiguresRead, o.undoPart, "The console: sends that can be undone")
}

// campaignAPI returns the API path of a campaign, or of one of its parts.
func campaignAPI(id string, parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(append([]string{"/api/campaigns", url.PathEscape(id)}, parts...), "/")
}

// sendData holds the data for templates/send.html.
type sendData struct {
	Campaign *campaignPage
	From     string
	Inbox    inbox
	Lists    []string
	fields   []core.Field // fields of all lists
	archives []string     // names of lists that have a public archive
	More     []sendFact   // other facts about the emails, and excluded subscribers
	Readers  countedAudience
	Sum      string // how the number of recipients is calculated; empty: all subscribers
	Measure  Link   // page for choosing the tracking; To is empty if the visitor may not choose it
	Faults   []matter
	Warnings []matter // warnings that need confirmation

	Ask    bool   // whether a second person must approve it first
	Review string // URL of the page for approval; empty: the visitor may not approve

	When       string       // the chosen element of Times
	Times      []sendTime   // options, from "now" to "other"
	Date, Time string       // date and time for "other"
	Choices    []timeChoice // options for a time that occurs twice when the clocks change
	DateFault  string
	TimeFault  string
	Until      string // end of sending; empty: unlimited
	FirstFew   bool
	Unsure     string // error if the checkbox isn't checked; empty: none
	Key        string

	Wanted, Note string // requested time and note of the approval request
	Nobody       string // why no other person can approve it; empty: someone can
}

// countedAudience is a campaign's audience as counted by the API.
type countedAudience struct {
	core.Audience
	Warnings []string     `json:"warnings"`
	BestAt   core.Instant `json:"best_at"` // best hour to send; 0: unknown
	Coarse   bool         `json:"coarse"`  // whether the numbers are rounded, because the visitor may not see people
}

// Unmeasured reports whether links in the emails lead directly to their targets.
func (d *sendData) Unmeasured() bool { return d.Measure.Text != "" }

// ManyReaders reports whether the audience is, or may become, large enough to send to the first recipients first. For
// smaller audiences, the form submits the setting's value, because the audience may grow before sending.
func (d *sendData) ManyReaders() bool {
	return d.Readers.AtLeast || d.Readers.Recipients > core.FirstFewFrom
}

// measureLink returns a link to the click tracking setting. If clicks are tracked, it returns the zero Link.
func (p *Page) measureLink(c *campaignPage) (l Link) {
	if measured(&p.Tenant, c.Tracking) != measureNothing {
		return l
	}
	switch l.Text = p.T("Change tracking"); {
	case !p.Tenant.NoTracking:
		l.To = p.Path("campaigns", c.ID) + "?tab=settings#f-tracking"
	case p.May(core.ActionTenantSettings):
		l.To = p.Path("settings") + "#f-measure"
	}
	return l
}

// sendPage shows a campaign's email, recipients and findings before it is sent.
func (o *Console) sendPage(p *Page) (web.HTML, error) {
	return p.showSend(&sendData{FirstFew: p.Tenant.FirstFew, When: sendNow, Key: core.NewID()}, View{})
}

// showSend renders the send page with the current choices.
func (p *Page) showSend(d *sendData, v View) (web.HTML, error) {
	var err error
	if d.Campaign, err = p.campaign(); err != nil {
		return web.HTML{}, err
	}
	c := d.Campaign
	home := p.Path("campaigns", c.ID)
	if !written(c.State) {
		return web.HTML{To: p.PublicURL() + home}, nil
	}
	if err := p.lookAt(d); err != nil {
		return web.HTML{}, err
	}
	second := p.Tenant.Approval == core.ApprovalSecondPerson && c.State != core.CampaignApproved
	d.Ask = second || !p.May(core.ActionCampaignSend)
	if err := p.lookAtReview(d); err != nil {
		return web.HTML{}, err
	}
	p.offerTimes(d)
	v.Title, v.Data, v.Frames = p.T("Review and send"), d, true
	v.Within = []Link{
		{p.T("Campaigns"), p.Path("campaigns")}, {c.Title(p), home},
	}
	if v.State = p.T("Nothing is sent until you confirm."); d.Ask {
		v.Title, v.State = p.T("Approval"), ""
	}
	if c.State == core.CampaignApproved && p.Query("done") == "to-approve" {
		v.Done = p.T("Approved. You can send it now.") // approved while the page was open
	}
	return p.Show("send", v)
}

// reviewOf returns the URL of the page where the visitor may approve a campaign, or an empty string. If approval by a
// second person isn't required, visitors who requested approval can send the campaign themselves.
func (p *Page) reviewOf(c *campaignPage) string {
	if c.State != core.CampaignInReview || !c.Permissions.Approve ||
		!p.SecondPerson() && c.Review != nil && p.Mine(c.Review.By) {
		return ""
	}
	return p.console.options.Review(c.ID)
}

// lookAtReview sets the data about the approval. The form starts with the last request's values.
func (p *Page) lookAtReview(d *sendData) (err error) {
	c := d.Campaign
	d.Review = p.reviewOf(c)
	if !d.Ask || c.State == core.CampaignApproved {
		return nil
	}
	if r := c.Review; r != nil && p.isGet() {
		d.Note = r.Note
		if r.WantedAt > p.Now {
			d.Wanted = r.WantedAt.Time().In(p.Zone).Format("2006-01-02T15:04")
		}
	}
	if d.Review == "" {
		d.Nobody, err = p.nobodyApproves(c.ID)
	}
	return err
}

// lookAt reads the API's data about the campaign to send.
func (p *Page) lookAt(d *sendData) error {
	c := d.Campaign
	name, address := cmp.Or(c.FromName, p.Tenant.MailFromName), cmp.Or(c.FromEmail, p.Tenant.MailFrom)
	switch {
	case name != "" && address != "":
		d.From = name + " <" + address + ">"
	default:
		d.From = cmp.Or(address, name, p.T("Server default address"))
	}
	d.Inbox, _ = p.inboxOf(c)
	d.Measure = p.measureLink(c)
	for _, id := range c.ListIDs {
		var l core.List
		if _, err := p.Get("/api/admin/newsletter-lists/"+url.PathEscape(id), nil, &l); err != nil {
			return err
		}
		d.Lists, d.fields = append(d.Lists, l.Name), append(d.fields, l.Fields...)
		if l.Archive {
			d.archives = append(d.archives, l.Name)
		}
	}
	if err := p.lookFurther(d); err != nil {
		return err
	}
	return p.lookAtMatters(d)
}

// lookAtMatters reads the campaign's errors and warnings, and counts its audience.
func (p *Page) lookAtMatters(d *sendData) error {
	found, err := p.check(d.Campaign)
	if err != nil {
		return err
	}
	d.found(found)
	if err := p.lookAtFollowed(d); err != nil {
		return err
	}
	if len(d.Campaign.ListIDs) > 0 {
		_, err = p.Get(campaignAPI(d.Campaign.ID, "audience"), nil, &d.Readers)
	}
	return p.judgeAudience(d, err)
}

// found sets the errors and warnings from the checks.
func (d *sendData) found(c checks) {
	d.Faults, d.Warnings = slices.Clone(c.Matters[:c.Errors]), c.Matters[c.Errors:]
}

// judgeAudience adds errors and warnings about the number of recipients. err is the error from counting, or nil.
func (p *Page) judgeAudience(d *sendData, err error) error {
	c := d.Campaign
	if len(c.ListIDs) == 0 {
		return nil // there are no recipients to count
	}
	if err != nil {
		text, _, ok := p.FaultOf(err)
		if !ok || !c.Segmented() {
			return err
		}
		to := Link{p.T("Recipients and sender"), p.Path("campaigns", c.ID) + "?tab=settings"}
		d.Faults = append(d.Faults, matter{Text: text, Bad: true, Mend: to})
		return nil
	}
	if d.Sum = p.sumOf(&d.Readers.Audience, p.outside(c, d.Readers.Outside)); d.Readers.Coarse {
		d.Sum = p.T("Rounded because your role doesn't include access to people.")
	}
	if a := &d.Readers; a.Recipients == 0 && !a.AtLeast && a.Outside > 0 {
		text := p.T("No recipients: the segment matches no one on the selected lists.")
		if c.byTag {
			text = p.T("No recipients: no one on the selected lists has the tag.")
		}
		d.Warnings = append(d.Warnings, matter{
			Text: text,
			Mend: Link{p.T("Recipients and sender"), p.Path("campaigns", c.ID) + "?tab=settings"},
		})
	} else if a.Recipients == 0 && !a.AtLeast {
		d.Warnings = append(d.Warnings, matter{
			Text: p.T("No recipients: the selected lists have no subscribers yet."),
			Mend: Link{p.T("Add subscribers"), p.Path("people")},
		})
	} else if a.Warning() != "" {
		d.Warnings = append(d.Warnings, matter{
			Text: p.T("This campaign goes to {{n}} recipients, more than twice as many as usual ({{usual}}).", "n",
				p.Number(a.Recipients), "usual", p.Number(a.Usual)),
			Mend: Link{p.T("Recipients and sender"), p.Path("campaigns", c.ID) + "?tab=settings"},
		})
	}
	return nil
}

// Asks returns the number of warnings that need confirmation.
func (d *sendData) Asks() (n int) {
	for i := range d.Warnings {
		if !d.Warnings[i].Settled {
			n++
		}
	}
	return n
}

// sumOf describes how the number of recipients is calculated, such as 12,480 − 96 bounced = 12,384. If it includes
// all subscribers, it returns an empty string. outside describes those whom segments leave out.
func (p *Page) sumOf(a *core.Audience, outside string) string {
	sum := p.Number(a.Active)
	for _, part := range []struct {
		n    int64
		text string
	}{
		{a.Bounced, p.N("1 bounced|{{n}} bounced", a.Bounced)},
		{a.Complaint, p.N("1 marked as spam|{{n}} marked as spam", a.Complaint)},
		{a.Suppressed, p.N("1 blocked|{{n}} blocked", a.Suppressed)},
		{a.Duplicates, p.N("1 duplicate|{{n}} duplicates", a.Duplicates)},
		{a.Excluded, p.N("1 excluded|{{n}} excluded", a.Excluded)},
		{a.Outside, outside},
	} {
		if part.n > 0 {
			sum += " − " + part.text
		}
	}
	if a.AtLeast {
		return sum + " …"
	}
	if !strings.Contains(sum, "−") {
		return ""
	}
	return sum + " = " + p.Number(a.Recipients)
}

// sendBody is the body of POST /api/campaigns/{id}/send.
type sendBody struct {
	Version     int64  `json:"version"`
	ScheduledAt string `json:"scheduled_at,omitempty"`
	WindowEnd   string `json:"window_end,omitempty"`
	TimeZone    string `json:"time_zone,omitempty"`
	Undo        int64  `json:"undo_seconds,omitempty"`
	FirstFew    bool   `json:"first_few"`
}

// undoSeconds is how many seconds an immediate send can be undone.
const undoSeconds = 60

// send sends the reviewed version. The form contains a key, which prevents sending twice if the form is resubmitted.
func (o *Console) send(p *Page) (web.HTML, error) {
	f := p.Form
	version, _ := strconv.ParseInt(f["version"], 10, 64)
	body := sendBody{Version: version, WindowEnd: f["until"], FirstFew: f["first_few"] == "1"}
	if body.WindowEnd != "" {
		body.TimeZone = p.Zone.String()
	}
	d := p.sendChoices()
	switch d.When {
	case sendNow:
		body.Undo = undoSeconds
	case sendOther:
		at := p.readTime(d, f["offset"])
		if at == 0 {
			return p.showSend(d, View{Fault: cmp.Or(d.DateFault, d.TimeFault), Status: http.StatusBadRequest})
		}
		body.ScheduledAt = p.Machine(at)
	default:
		at, err := core.ParseInstant(d.When)
		if err != nil || at <= p.Now { // the page was open too long
			return p.showSend(d, View{Fault: p.T("Choose a time in the future."), Status: http.StatusBadRequest})
		}
		body.ScheduledAt = d.When
	}
	if f["warned"] == "1" && f["sure"] != "1" {
		return p.sendUnsure(p.T("Check the box to send anyway, or fix the problems first."))
	}
	id := p.ID()
	_, err := p.Ask(web.Question{
		Method: http.MethodPost, Path: campaignAPI(id, "send"), Body: body,
		Header: map[string]string{"If-Match": f["tag"], "Idempotency-Key": f["key"]},
	})
	switch fault, status, ok := p.FaultOf(err); {
	case ok:
		if fault, err = p.namingCampaigns(fault, id); err != nil {
			return web.HTML{}, err
		}
		return p.sendAgain(fault, status)
	case errors.Is(err, core.ErrApprovalRequired):
		return p.sendAgain(p.T("A team member who hasn't edited this campaign has to approve it first."),
			http.StatusForbidden)
	case err != nil:
		return web.HTML{}, err
	}
	c, err := p.campaign()
	if err == nil && written(c.State) { // the form belongs to a send that was undone
		return p.Redirect(p.Path("campaigns", id, "send"), c.undoNotice())
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("campaigns", id), "")
}

// sendUnsure shows the page again because the checkbox next to the warnings isn't checked.
func (p *Page) sendUnsure(fault string) (web.HTML, error) {
	d := p.sendChoices()
	d.Unsure = fault
	return p.showSend(d, View{Fault: fault, Status: http.StatusBadRequest})
}

// sendAgain shows the page again with the submitted choices and the reason why the campaign wasn't sent.
func (p *Page) sendAgain(fault string, status int) (web.HTML, error) {
	return p.showSend(p.sendChoices(), View{Fault: fault, Status: status})
}

// sendChoices returns the submitted form's choices. Choosing one of two possible instants implies "other".
func (p *Page) sendChoices() *sendData {
	f := p.Form
	d := &sendData{
		When: cmp.Or(f["when"], sendNow), Date: f["date"], Time: f["time"], Until: f["until"],
		FirstFew: f["first_few"] == "1", Key: core.NewID(),
	}
	if f["offset"] != "" {
		d.When = sendOther
	}
	return d
}

// nobodyApproves explains why only the visitor can approve or fix a campaign. If another person can, it returns an
// empty string.
func (p *Page) nobodyApproves(id string) (string, error) {
	var a core.Approvers
	if _, err := p.Get(campaignAPI(id, "approvers"), nil, &a); err != nil || a.People > 0 {
		return "", err
	}
	if len(a.Waiting) == 0 {
		return p.T("No one else on your team can do this yet. Ask an administrator to invite a Publisher."), nil
	}
	all := make([]string, len(a.Waiting))
	for i, email := range a.Waiting {
		all[i] = string(email)
	}
	return p.N("No one else on your team can do this yet. {{who}} hasn't accepted the invitation.|No one else on "+
		"your team can do this yet. {{who}} haven't accepted their invitations.", int64(len(all)), "who",
		strings.Join(all, ", ")), nil
}

// askApproval asks another person to approve the reviewed version.
func (o *Console) askApproval(p *Page) (web.HTML, error) {
	f := p.Form
	var err error
	body := map[string]any{"note": f["note"]}
	if f["wanted"] != "" {
		var at core.Instant
		if at, err = core.ParseTime("wanted_at", f["wanted"], p.Zone); err == nil {
			body["wanted_at"] = at
		}
	}
	id := p.ID()
	var asked campaignPage
	if err == nil {
		var a *web.Answer
		a, err = p.Ask(web.Question{
			Method: http.MethodPost, Path: campaignAPI(id, "review"), Body: body,
			Header: map[string]string{"If-Match": f["tag"]},
		})
		if err == nil {
			err = a.Decode(&asked)
		}
	}
	if fault, status, ok := p.FaultOf(err); ok {
		d := &sendData{Wanted: f["wanted"], Note: f["note"], Key: core.NewID()}
		return p.showSend(d, View{Fault: fault, Status: status})
	}
	if err != nil {
		return web.HTML{}, err
	}
	notice := "to-approve"
	if asked.Review == nil || asked.Review.Asked == 0 {
		notice = "" // the page explains why there is no one to ask
	}
	return p.Redirect(p.Path("campaigns", id, "send"), notice)
}

// undoNotice returns the key of the notice after sending was undone.
func (c *campaignPage) undoNotice() string {
	if c.State == core.CampaignApproved {
		return "undone-approved"
	}
	return "undone"
}

// undo cancels a send that has not started.
func (o *Console) undo(p *Page) (web.HTML, error) {
	id := p.ID()
	jobs, err := p.jobsOf(id, 1)
	if err != nil {
		return web.HTML{}, err
	}
	var undone campaignPage
	err = p.Do(http.MethodPost, campaignAPI(id, "undo"), nil, &undone)
	if fault, status, ok := p.FaultOf(err); ok {
		return p.campaignAgain(fault, status)
	}
	if err != nil {
		return web.HTML{}, err
	}
	notice := undone.undoNotice()
	if len(jobs) > 0 && p.planned(&jobs[0]) {
		notice = strings.Replace(notice, "undone", "unplanned", 1)
	}
	return p.Redirect(p.Path("campaigns", id), notice)
}
