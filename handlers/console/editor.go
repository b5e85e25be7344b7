package console

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// editorRoutes adds the routes for the campaign editor.
func (o *Console) editorRoutes(t *web.Table) {
	o.get(t, "/new-campaign", core.ActionCampaignWrite, o.newCampaign, "The console: create a campaign")
	o.post(t, "/new-campaign", core.ActionCampaignWrite, o.addCampaign, "The console: create a campaign")
	o.get(t, "/campaigns/:id", core.ActionFiguresRead, o.showCampaign, "The console: a campaign")
	o.post(t, "/campaigns/:id", core.ActionCampaignWrite, o.saveCampaign, "The console: save a campaign")
	o.get(t, "/campaigns/:id/preview", core.ActionCampaignRead, o.preview,
		"The console: preview the email of a campaign, in a frame")
	o.get(t, "/campaigns/:id/versions", core.ActionCampaignRead, o.versions, "The console: the versions of a campaign")
	o.post(t, "/campaigns/:id/restore", core.ActionCampaignWrite, o.restore, "The console: restore a version")
	o.post(t, "/campaigns/:id/act", core.ActionCampaignWrite, o.act,
		"The console: duplicate, archive or delete a campaign")
	o.data(t, "/own-pictures", core.ActionMediaRead, o.ownPictures,
		"The console: images for the editor")
	o.upload(t, "/upload-picture", core.ActionMediaWrite, o.uploadPicture, "The console: upload an image into a "+
		"campaign")
}

// blame shows fault in v if the visitor can fix it. Otherwise, it returns fault unchanged.
func (p *Page) blame(v *View, fault error) error {
	if fault == nil {
		return nil
	}
	var ok bool
	if v.Fault, v.Status, ok = p.FaultOf(fault); !ok {
		return fault
	}
	return nil
}

// written reports whether a campaign in this state can still be edited.
func written(s core.CampaignState) bool {
	return s == core.CampaignDraft || s == core.CampaignInReview || s == core.CampaignApproved
}

// showCampaign shows the editor if the campaign can be edited and the visitor may read it. Otherwise, it shows the
// report.
func (o *Console) showCampaign(p *Page) (web.HTML, error) {
	if !p.May(core.ActionCampaignRead) {
		return o.reportOfViewer(p)
	}
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	if !written(c.State) {
		return o.report(p, c)
	}
	if part, ok := p.Partial(); ok && (part == "readers" || part == "seen") {
		return p.showSeen(c, part)
	}
	return o.editor(p, c, nil)
}

// editorData holds the data for templates/editor.html.
type editorData struct {
	*campaignPage
	Lists     []listChoice
	Segments  []option // the tenant's segments, and "" for everyone; empty: there are no segments and no tags
	Tags      []option // tags without a segment
	Themes    []option
	Trackings []option
	Languages []option
	Own       string // name of the field with an error
	Checks    checks
	Inbox     inbox
	Seen      seenAs
	Readers   string   // audience, in words
	Limits    []string // limits on the audience that refer to other campaigns
	Conflict  bool     // whether another person has saved in the meantime
	Settings  bool     // whether the settings tab is open
	MayTest   bool
	TestTo    string
	SavedAt   string
	Fields    fieldChoices // fields of subscribers
	Pictures  string       // allowed image origins
	Looks     string       // design of buttons and boxes in the email, for the editor script (JSON)
	Theirs    []diffLine   // differences in the text; none if it is the same

	Unapproved bool // whether the last saved change withdrew the approval
	Rearchived bool // whether the last saved change affected the default for showing the campaign in archives
}

// AnyArchive reports whether one of the tenant's lists has a public archive. If none has, the campaign's setting has no
// effect.
func (d *editorData) AnyArchive() bool {
	return slices.ContainsFunc(d.Lists, func(l listChoice) bool { return l.Archive })
}

// checks holds the errors and warnings about a campaign.
type checks struct {
	Matters          []matter
	Fields           []core.FieldCoverage
	Errors, Warnings int
}

// check runs the API's checks on a campaign.
func (p *Page) check(of *campaignPage) (checks, error) {
	var found struct {
		Findings []core.CampaignFinding `json:"findings"`
		Fields   []core.FieldCoverage   `json:"fields"`
	}
	if err := p.Do(http.MethodPost, campaignAPI(of.ID, "check"), struct{}{}, &found); err != nil {
		return checks{}, err
	}
	return p.checksOf(of, found.Findings, found.Fields), nil
}

// checksOf returns a campaign's findings in the form that the page shows.
func (p *Page) checksOf(of *campaignPage, found []core.CampaignFinding, fields []core.FieldCoverage) (c checks) {
	c.Matters, c.Fields = p.matters(of, found, fields), fields
	for i := range c.Matters {
		if c.Matters[i].Bad {
			c.Errors++
		} else if !c.Matters[i].Settled {
			c.Warnings++
		}
	}
	return c
}

// inbox is an email's entry in an inbox.
type inbox struct{ From, Subject, Beginning string }

func (o *Console) editor(p *Page, c *campaignPage, fault error) (web.HTML, error) {
	d := editorData{campaignPage: c, Settings: p.Query("tab") == "settings" || p.Form["tab"] == "settings"}
	var err error
	if d.Lists, err = p.lists(c); err != nil {
		return web.HTML{}, err
	}
	if d.Themes, err = p.themes(); err != nil {
		return web.HTML{}, err
	}
	if err = p.segmentChoices(&d); err != nil {
		return web.HTML{}, err
	}
	d.Trackings = p.trackings(c.Tracking)
	d.Languages = p.PageLanguages(p.T("List default"))
	if err = p.look(&d); err == nil {
		err = p.seeAs(&d)
	}
	if err == nil {
		err = p.narrowedReaders(&d)
	}
	if err == nil && d.Settings {
		d.Limits, err = p.followLimits(c)
	}
	if err != nil {
		return web.HTML{}, err
	}
	d.Pictures = p.Tenant.PublicURL
	d.Fields = append(p.fieldChoices(d.Checks.Fields, d.Lists), p.pollChoices(c)...)
	group := c.TestAddresses
	if len(group) == 0 {
		group = p.Tenant.TestAddresses
	}
	d.TestTo = cmp.Or(strings.Join(group, ", "), string(p.Who.User.Email))
	v := View{
		Title: c.Title(p), Within: []Link{{p.T("Campaigns"), p.Path("campaigns")}}, Badge: p.CampaignBadge(c.State),
		Data: &d, Frames: true,
	}
	v.writes(c.Content.Kind)
	if n, err := strconv.ParseInt(p.Query("tested"), 10, 64); err == nil && n > 0 {
		v.Done = p.N("Test sent to 1 address|Test sent to {{n}} addresses", n)
		if p.folder() {
			v.Done = p.T("Test saved to a folder on the server. No one received it.")
		}
	}
	if d.Conflict = core.KindOf(fault) == core.PreconditionFailed; d.Conflict {
		now, err := p.campaign()
		if err != nil {
			return web.HTML{}, err
		}
		before, after := now.Subject+"\n\n"+now.Content.Source, c.Subject+"\n\n"+c.Content.Source
		if before != after {
			d.Theirs = diff(before, after)
		}
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	return p.Show("editor", v)
}

// writes loads the editor script for a kind of content. Plain text needs none.
func (v *View) writes(kind string) {
	switch kind {
	case core.ContentHTML:
		v.Script, v.Nonce = codeScript, rand.Text()
	case core.ContentMarkdown, core.ContentBlocks:
		v.Script = editorScript
	}
}

// EditorStyle returns the URL of the editor's stylesheet.
func (p *Page) EditorStyle() string { return scriptAddress("editor.css") }

var languageNames = map[string]string{"en": "English", "de": "Deutsch", "fr": "Français", "es": "Español"}

// inboxOf returns the inbox entry of a campaign's email for a subscriber with no details. It also returns the design of
// buttons and boxes as JSON, or an empty string if it isn't available yet.
func (p *Page) inboxOf(c *campaignPage) (in inbox, looks string) {
	in = inbox{cmp.Or(c.FromName, p.Tenant.MailFromName, p.Tenant.Name), p.Listed(c.Subject), p.Listed(c.Preheader)}
	var shown shownMail
	if err := p.Do(http.MethodPost, campaignAPI(c.ID, "preview"), map[string]any{}, &shown); err != nil {
		return in, ""
	}
	if c.Subject != "" { // without a subject, the API returns the campaign's name
		in.Subject = shown.Subject
	}
	in.Beginning = shown.Beginning
	return in, string(shown.Looks)
}

// look sets the editor's data about the email: inbox, checks and audience.
func (p *Page) look(d *editorData) error {
	d.SavedAt = p.T("Saved {{when}}", "when", p.When(d.UpdatedAt))
	var err error
	if d.Checks, err = p.check(d.campaignPage); err != nil {
		if _, _, ok := p.FaultOf(err); !ok {
			return err
		}
	}
	d.Inbox, d.Looks = p.inboxOf(d.campaignPage)
	readers := int64(0)
	for i := range d.Lists {
		if d.Lists[i].On {
			readers += d.Lists[i].Counts.Mailable
		}
	}
	d.Readers = p.N("1 recipient|{{n}} recipients", readers)
	return nil
}

func (p *Page) themes() ([]option, error) {
	out := []option{}
	for _, name := range core.BuiltInThemes {
		out = append(out, option{name, p.themeName(name)})
	}
	if !p.May(core.ActionTemplateRead) {
		return out, nil
	}
	var own []struct{ ID, Name string }
	_, err := p.Get("/api/admin/themes", p.ofTenant("limit", "50"), &own)
	for _, t := range own {
		out = append(out, option{t.ID, t.Name})
	}
	return out, err
}

// changeOf returns the changes that an editor form makes. Fields that the form doesn't contain stay unchanged.
func changeOf(form map[string]string, c *campaignPage) map[string]any {
	out := map[string]any{}
	for _, name := range []string{
		"name", "subject", "preheader", "from_name", "from_email", "reply_to", "language", "tracking", "theme",
	} {
		if value, ok := form[name]; ok {
			out[name] = value
		}
	}
	if source, ok := form["source"]; ok {
		// Browsers send CR LF.
		content := map[string]string{"kind": c.Content.Kind, "source": strings.ReplaceAll(source, "\r\n", "\n")}
		if text, ok := form["text"]; ok && c.Content.Kind == core.ContentHTML {
			content["text"] = strings.ReplaceAll(text, "\r\n", "\n")
		}
		out["content"] = content
	}
	if form["tab"] == "settings" {
		out["list_ids"] = ticked(form, "list.", c.ListIDs)
		out["exclude_list_ids"] = ticked(form, "out.", c.ExcludeListIDs)
		if segment, ok := form["segment"]; ok {
			out["segment_id"] = segment
			out["exclude_segment_ids"] = ticked(form, "outside.", c.ExcludeSegmentIDs)
		}
		if was, ok := form["archive_was"]; ok { // otherwise, the form has no checkbox
			on := form["archive"] != ""
			// Without a choice, the default applies, which depends on the segments.
			if c.Archive != nil && on != *c.Archive || c.Archive == nil && on != (was != "") {
				out["archive"] = on
			}
		}
		out["test_addresses"] = strings.FieldsFunc(form["test_addresses"], func(r rune) bool {
			return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == ';'
		})
	}
	return out
}

// ticked returns the ids whose checkboxes are checked. Those in before come first, in that order.
func ticked(form map[string]string, prefix string, before []string) []string {
	ids := []string{}
	for _, id := range before {
		if form[prefix+id] != "" {
			ids = append(ids, id)
		}
	}
	var more []string
	for name := range form {
		if id, ok := strings.CutPrefix(name, prefix); ok && !slices.Contains(ids, id) {
			more = append(more, id)
		}
	}
	slices.Sort(more)
	return append(ids, more...)
}

// saveCampaign saves the editor's form. The form is submitted automatically (autosave) or with a button, which
// determines the next page.
func (o *Console) saveCampaign(p *Page) (web.HTML, error) {
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	approved := c.State == core.CampaignApproved
	auto := p.Request.Header.Get("X-Autosave") != ""
	if err := p.replaceTagChoice(); err != nil {
		if auto {
			return p.autosaveFault(err)
		}
		p.Form["segment"] = c.SegmentID
		c.overlay(changeOf(p.Form, c))
		return o.editor(p, c, err)
	}
	change := changeOf(p.Form, c)
	revision, now := c.since(p.Form["revision"], p.Form["tab"]), textTag(c.Revision)
	if p.Form["over"] != "" || revision != now && (p.ours(c) || c.has(change)) {
		revision = now
	}
	if revision != now && (p.Form["archive"] != "") == (p.Form["archive_was"] != "") {
		delete(change, "archive") // the checkbox wasn't changed, so the conflict page shows the other person's choice
	}
	a, err := p.Ask(web.Question{
		Method: http.MethodPatch, Path: "/api/campaigns/" + c.ID, Body: change,
		Header: map[string]string{"If-Match": revision},
	})
	if err != nil {
		if c.opened = p.Form["revision"]; revision == now {
			c.opened = ""
			c.opened = c.openedAs(p.Form["tab"])
		}
		c.overlay(change)
		if auto {
			return p.autosaveFault(err)
		}
		return o.editor(p, c, err)
	}
	if err := a.Decode(c); err != nil {
		return web.HTML{}, err
	}
	c.Revision = a.Header.Get("ETag")
	if auto {
		d := editorData{campaignPage: c, Unapproved: approved && c.State != core.CampaignApproved}
		if d.Lists, err = p.lists(c); err == nil {
			err = p.look(&d)
		}
		if d.Settings = p.Form["tab"] == "settings"; d.Settings && err == nil {
			d.Rearchived = d.AnyArchive() && c.Archived() != (p.Form["archive"] != "")
			err = p.narrowedReaders(&d)
		}
		if err != nil {
			return web.HTML{}, err
		}
		return p.ShowPart("editor", "autosaved", View{Title: c.Title(p), Badge: p.CampaignBadge(c.State), Data: &d})
	}
	switch p.Form["then"] {
	case "send":
		return p.Redirect(p.Path("campaigns", c.ID, "send"), "")
	case "test":
		return o.sendTest(p, c)
	}
	to := p.Path("campaigns", c.ID)
	if p.Form["tab"] == "settings" {
		to += "?tab=settings"
	}
	return p.Redirect(to, "saved")
}

// ours reports whether a campaign contains only what the same form sent in an earlier request whose response was lost.
// If so, no one else has saved the campaign in the meantime.
func (p *Page) ours(c *campaignPage) bool {
	var lost []map[string]string
	if p.Form["lost"] == "" || json.Unmarshal([]byte(p.Form["lost"]), &lost) != nil {
		return false
	}
	return slices.ContainsFunc(lost, func(form map[string]string) bool {
		if id, ok := strings.CutPrefix(form["segment"], tagChoicePrefix); ok { // saving the tag has stored its segment
			form["segment"] = p.savedTagChoice(id)
		}
		then := c.clone()
		then.overlay(changeOf(form, c))
		return len(form) > 0 && then.same(c)
	})
}

// clone returns a copy that overlay can change without affecting the original.
func (c *campaignPage) clone() *campaignPage {
	out := *c
	for _, ids := range []*[]string{
		&out.ListIDs, &out.ExcludeListIDs, &out.ExcludeSegmentIDs, &out.TestAddresses,
	} {
		*ids = slices.Clone(*ids)
	}
	if c.Archive != nil {
		out.Archive = new(*c.Archive)
	}
	return &out
}

// overlay applies unsaved input to a campaign, so that the page shows the input again.
func (c *campaignPage) overlay(change map[string]any) {
	stored := c.clone()
	b, err := json.Marshal(change)
	if err == nil {
		_ = json.Unmarshal(b, c) // the keys are the campaign's JSON names
	}
	was := *c
	was.Archive = stored.Archive
	c.archiveWas = new(was.Archived())
}

// ArchiveWas reports whether the archive checkbox was checked when the campaign was last saved.
func (c *campaignPage) ArchiveWas() bool {
	if c.archiveWas != nil {
		return *c.archiveWas
	}
	return c.Archived()
}

// autosaveFault responds to the editor script with the reason why saving failed.
func (p *Page) autosaveFault(err error) (web.HTML, error) {
	v := View{Data: core.KindOf(err) == core.PreconditionFailed}
	if err := p.blame(&v, err); err != nil {
		return web.HTML{}, err
	}
	return p.ShowPart("editor", "unsaved", v)
}

// sendTest sends a campaign's test email to the addresses in the form.
func (o *Console) sendTest(p *Page, c *campaignPage) (web.HTML, error) {
	to := strings.FieldsFunc(p.Form["test_to"], func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
	body := map[string]any{"version": c.Version}
	if len(to) > 0 {
		body["to"] = to
	}
	var sent struct{ To []core.Email }
	if err := p.Do(http.MethodPost, "/api/campaigns/"+c.ID+"/test", body, &sent); err != nil {
		return o.editor(p, c, err)
	}
	return p.Redirect(p.Path("campaigns", c.ID)+"?tested="+strconv.Itoa(len(sent.To)), "")
}

// uploadPicture uploads an image, or a video's thumbnail, to the tenant's media.
func (o *Console) uploadPicture(p *Page) (any, error) {
	q := p.ofTenant()
	for _, name := range []string{"name", "video"} {
		if value := p.Query(name); value != "" {
			q.Set(name, value)
		}
	}
	var made map[string]any
	path := "/api/media?" + q.Encode()
	if p.Request.ContentLength == 0 { // no image: the thumbnail is fetched
		err := p.Do(http.MethodPost, path, nil, &made)
		return made, err
	}
	err := p.Upload(http.MethodPost, path, p.Request.Header.Get("Content-Type"), p.Request.Body, &made)
	return made, err
}
