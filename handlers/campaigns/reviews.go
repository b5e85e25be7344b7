package campaigns

import (
	"cmp"
	"errors"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/store/campaigns"
)

// ReviewPages serves the review page, which emails about reviews link to.
type ReviewPages struct{ campaignsAPI }

// Reviews returns the functions for the review page. Their routes are not part of Routes, because a decision needs a
// fresh sign-in.
func (r *Room) Reviews() ReviewPages { return ReviewPages{campaignsAPI{r}} }

// reviewForm is the form for deciding on the shown version of a campaign.
type reviewForm struct {
	Campaign string `form:"campaign" about:"ID of the campaign"`
	Tag      string `form:"tag" about:"ETag of the content that was shown"`
	Action   string `form:"action" about:"Decision: approve, send or reject"`
	Note     string `form:"note"`
}

func (in *reviewForm) CheckInput() error { return checkNote(in.Note) }

// reviewView holds the data for the review page.
type reviewView struct {
	W              *page.Words
	Asks, SendText string // the person who requested approval, and the label of the send button

	ID, Subject, From, List, By, Note string
	Tag                               string   // tag of the shown content
	Changes                           []string // changes since the visitor last viewed the campaign
	Wanted                            string   // time by which approval is requested; empty: none
	Passed                            bool     // whether that time has passed
	Look                              string   // URL of the rendered email; empty: it can't be rendered
	State                             string   // state in words, if the campaign is not in review
	NotYou                            bool     // whether a different person must approve it
	Approves, Sends, Rejects          bool     // whether the page has the buttons for these decisions
	Readers                           core.Audience
	Preheader                         string             // text that inboxes show next to the subject
	Text                              string             // text part of an email that also has HTML
	Some                              []mail.Conditional // parts that only some subscribers get
	Files                             []core.Attachment
	Facts                             []reviewFact  // other facts that an approval covers
	Rule                              core.RuleText // rule of the segments; empty: none
}

// reviewed returns a campaign, or an error if the visitor may not see it.
func (a ReviewPages) reviewed(c *web.Call, who core.Visitor, id string) (of core.Campaign, err error) {
	parsed, ok := core.ParseID(id)
	if !ok {
		return of, web.ErrNotFound
	}
	of, err = a.Store.Campaign(c, parsed)
	if err == nil && !web.VisitorCaller(who).May(core.ActionCampaignRead, of.TenantID) ||
		core.KindOf(err) == core.NotFound {
		return of, web.ErrNotFound
	}
	return of, err
}

// Page shows the campaign that a review email links to.
func (a ReviewPages) Page(c *web.Call, in page.ReviewLink) (web.HTML, error) {
	who, err := c.SignedIn()
	if errors.Is(err, core.ErrNotFound) {
		return web.HTML{To: c.PublicURL() + page.LoginPath(in.Path())}, nil
	}
	if err != nil {
		return web.HTML{}, err
	}
	of, err := a.reviewed(c, who, in.Campaign)
	if err != nil {
		return web.HTML{}, err
	}
	campaign := c.PublicURL() + page.ConsolePath + "/" + of.TenantID + "/campaigns/" + of.ID
	switch {
	case in.Mend != "":
		return web.HTML{To: campaign + "#links"}, nil
	case in.Open != "":
		return web.HTML{To: campaign}, nil
	}
	return a.show(c, who, &of, nil)
}

// show shows a campaign to a visitor. The writer's next save then starts a new version, so that the version seen by the
// visitor stays unchanged.
func (a ReviewPages) show(c *web.Call, who core.Visitor, of *core.Campaign, fault error) (web.HTML,
	error,
) {
	w := page.WordsOf(c)
	v, status := page.View{Title: w.ReviewTitle}, 0
	if fault != nil {
		var ok bool
		if v.Fault, status, ok = a.faultOf(c, fault); !ok {
			return web.HTML{}, fault
		}
	}
	t, err := a.Store.Tenant(c, of.TenantID)
	if err != nil {
		return web.HTML{}, err
	}
	zone, err := t.ZoneOf("")
	if err != nil {
		return web.HTML{}, err
	}
	data := reviewView{
		ID: of.ID, Subject: of.Subject, State: w.StateOf(of.State), Changes: page.ChangesOf(w, fault, zone),
	}
	if r := of.View().Review; r != nil {
		if data.Note = r.Note; r.WantedAt != 0 {
			data.Wanted, data.Passed = w.When(r.WantedAt, zone), r.WantedAt <= c.Now
		}
		if data.By, err = a.nameOf(c, r.By); err != nil {
			return web.HTML{}, err
		}
	}
	caller, shown := web.VisitorCaller(who), page.Reviewed{Campaign: of, Tenant: t}
	faulty, err := a.fill(c, &data, &shown, caller)
	if err != nil {
		return web.HTML{}, err
	}
	if faulty != nil && v.Fault == "" {
		v.Fault = page.FillIn(w.ReviewFaulty, "message", page.Explain(c, faulty.Sentence()))
	}
	if of.State == core.CampaignInReview && caller.May(core.ActionCampaignApprove, of.TenantID) {
		data.NotYou = t.Accepts(of, core.UserActor(who.User.ID)) != nil
		data.Approves, data.Rejects = faulty == nil && !data.NotYou, true
		data.Sends = data.Approves && data.Wanted != "" && !data.Passed &&
			caller.May(core.ActionCampaignSend, of.TenantID)
	}
	data.W, data.Asks, data.SendText = w, page.FillIn(w.ReviewAsks, "by", data.By), page.FillIn(w.ReviewSend, "when",
		data.Wanted)
	v.Data, v.Lang = data, page.StyleOf(c).Lang
	return a.ShowReview(c, who, &shown, status, &v)
}

// fill compiles and checks the campaign for the page, and counts its recipients. faulty is the error that prevents
// sending it.
func (a ReviewPages) fill(c *web.Call, data *reviewView, shown *page.Reviewed, caller core.Caller) (faulty *core.Error,
	err error,
) {
	d, of := a.drafts(c), shown.Campaign
	l, err := d.Look(c, of, 0, c.Now)
	if err != nil {
		return nil, err
	}
	if of.Written() {
		checked, err := d.CheckLook(c, &l, c.Now)
		if err != nil {
			return nil, err
		}
		shown.Findings, shown.Coverage = checked.Findings, checked.Fields
	}
	shown.Fields = l.Draft.Fields
	data.Tag, data.Rule = campaignTag{of.Revision, l.Draft.Digest}.String(), l.Draft.Rule
	content := &l.Draft.Content
	if err := a.fillFacts(c, data, &l); err != nil {
		return nil, err
	}
	names := []string{content.List.Name}
	for i := 1; i < len(l.Draft.Fields.ListIDs); i++ {
		other, err := a.Store.List(c, l.Draft.Fields.ListIDs[i])
		if err != nil {
			return nil, err
		}
		names = append(names, other.Name)
	}
	data.List = strings.Join(names, ", ")
	if faulty, err = a.countReaders(c, shown, caller); err != nil {
		return nil, err
	}
	data.Readers = shown.Readers
	if err := fillParts(c, data, d, &l); err != nil {
		return nil, err
	}
	if e, ok := errors.AsType[*core.Error](core.NotReady(l.Findings)); ok {
		faulty = e
	}
	return faulty, a.Store.SawVersion(c, of, &l.Draft.Version, core.UserActor(caller.UserID))
}

// countReaders sets the number of the campaign's recipients. faulty means that its segments can't be evaluated.
func (a ReviewPages) countReaders(c *web.Call, shown *page.Reviewed, caller core.Caller) (faulty *core.Error,
	err error,
) {
	tenantID := shown.Tenant.ID
	shown.Readers, err = a.Store.CountAudience(c, tenantID, &shown.Fields, core.AudienceBudget)
	if core.IsUndecided(err) && errors.As(err, &faulty) {
		shown.Uncounted = err
		return faulty, nil
	}
	shown.Coarse = shown.Readers.CoarseFor(caller, tenantID, &shown.Fields)
	return nil, err
}

// fillParts sets the parts of the email: the URL of its HTML, and the text that the HTML doesn't show.
func fillParts(c *web.Call, data *reviewView, d drafts.Drafts, l *drafts.Look) error {
	if l.Bulk == nil {
		return nil
	}
	r, err := d.Recipient(c, l, "", c.Now)
	if err == nil {
		data.Some, err = l.Bulk.Conditionals()
	}
	if err != nil {
		return err
	}
	data.Look = r.ViewURL
	subject, text, page, err := l.Bulk.Parts(&r)
	if err != nil {
		return err
	}
	data.Subject, data.Preheader = subject, cmp.Or(data.Preheader, mail.Beginning(page, text))
	if page != "" {
		data.Text = text
	}
	return nil
}

// nameOf returns the name of a user in the audit log, or the user's address if there is no name. For other kinds of
// actor, it returns an empty string.
func (a campaignsAPI) nameOf(c *web.Call, actor string) (string, error) {
	u, err := a.Store.UserWithoutRoles(c, core.ActorUser(actor))
	switch {
	case core.KindOf(err) == core.NotFound:
		return "", nil
	case err != nil || u.Name != "":
		return u.Name, err
	}
	return string(u.Email), nil
}

// faultOf returns the message and the status for a decision that came too late or that the visitor may not make. For
// other errors, ok is false.
func (a ReviewPages) faultOf(c *web.Call, err error) (text string, status int, ok bool) {
	w := page.WordsOf(c)
	switch kind := core.KindOf(err); {
	case errors.Is(err, core.ErrApprovalRequired):
		return w.ReviewNotYou, web.StatusOf(web.Page, kind), true
	case kind == core.PreconditionFailed, kind == core.Conflict:
		return w.ReviewChanged, web.StatusOf(web.Page, kind), true
	}
	return page.FaultOf(c, err)
}

// Decide approves a campaign, requests changes, or approves the campaign and sends it at the requested time.
func (a ReviewPages) Decide(c *web.Call, who core.Visitor, in reviewForm) (web.HTML, error) {
	of, err := a.reviewed(c, who, in.Campaign)
	if err != nil {
		return web.HTML{}, err
	}
	caller := web.VisitorCaller(who)
	if !caller.May(core.ActionCampaignApprove, of.TenantID) {
		return web.HTML{}, core.Lacking(core.ActionCampaignApprove)
	}
	t, err := a.Store.Tenant(c, of.TenantID)
	if err != nil {
		return web.HTML{}, err
	}
	seen := parseTag(in.Tag)
	e := campaigns.CampaignEdit{
		ID: of.ID, Actor: core.UserActor(who.User.ID), Now: c.Now, Revision: seen.Revision, Seen: seen.Digest,
	}
	if _, err := a.sameAgain(c, &of, &e, []campaignTag{seen}); err != nil {
		return web.HTML{}, err
	}
	w, done := page.WordsOf(c), ""
	switch in.Action {
	case "approve":
		done = w.ReviewApproved
		err = a.approveSeen(c, &t, &of, e, func(r campaigns.CampaignSending) error {
			_, err := a.Store.ApproveCampaign(c, r)
			return err
		})
	case "send":
		if !caller.May(core.ActionCampaignSend, of.TenantID) {
			return web.HTML{}, core.Lacking(core.ActionCampaignSend)
		}
		if err := a.Relay.Reaches(c, a.Store, &t, false); err != nil {
			return web.HTML{}, err
		}
		zone, err2 := t.ZoneOf("")
		if err2 != nil {
			return web.HTML{}, err2
		}
		done = page.FillIn(w.ReviewSent, "when", w.When(of.ReviewWantedAt, zone))
		err = a.approveSeen(c, &t, &of, e, func(r campaigns.CampaignSending) error {
			n := core.NewJob{ScheduledAt: of.ReviewWantedAt}
			if of.ReviewWantedAt == 0 || n.ScheduledInPast(c.Now) {
				return core.ChangedMeanwhile(of.UpdatedBy, of.UpdatedAt)
			}
			_, err := a.Store.SendCampaign(c, r, campaigns.JobRequest{NewJob: n, Caller: caller, CreatedBy: e.Actor}, 0)
			return err
		})
	case "reject":
		done = w.ReviewRejected
		_, err = a.Store.RejectCampaign(c, e, in.Note)
	default:
		return web.HTML{}, core.Invalidf("action", "The request is malformed. Go back and start again.")
	}
	if err != nil {
		if now, err := a.reviewed(c, who, in.Campaign); err == nil {
			of = now
		}
		return a.show(c, who, &of, a.nameChanges(c, &of, err))
	}
	said := page.Note{
		Lines: []string{done}, Link: page.ConsolePath + "/" + of.TenantID + "/campaigns/" + of.ID,
		LinkText: w.ReviewBack,
		Quiet:    true,
	}
	if in.Action == "approve" && caller.May(core.ActionCampaignSend, of.TenantID) {
		said.Link, said.LinkText, said.Quiet = said.Link+"/send", w.ReviewToSend, false
	}
	return a.ShowDecision(c, who, &t, &page.View{Title: w.ReviewDone, Lang: page.StyleOf(c).Lang, Data: said})
}

// approveSeen compiles the shown revision for approval by a person who didn't write it.
func (a ReviewPages) approveSeen(c *web.Call, t *core.Tenant, of *core.Campaign, e campaigns.CampaignEdit,
	approve func(campaigns.CampaignSending) error,
) error {
	if err := t.Accepts(of, e.Actor); err != nil && of.Written() {
		return err
	}
	if e.Revision != of.Revision {
		return core.ChangedMeanwhile(of.UpdatedBy, of.UpdatedAt)
	}
	if err := a.sameContent(c, of, e.Seen); err != nil {
		return err
	}
	draft, _, err := a.drafts(c).Ready(c, of, 0, c.Now)
	if err != nil {
		return err
	}
	r := campaigns.CampaignSending{
		CampaignEdit: e, Version: of.Version, Fields: &draft.Fields, Copy: &draft.Content.Copy, Head: draft.Head,
	}
	return a.changedSince(c, &r, approve(r))
}
