package campaigns

import (
	"cmp"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/store"
)

// campaignCheckRoutes adds the routes that check and preview a campaign before it is sent.
func (r *Room) campaignCheckRoutes(t *web.Table) {
	a := campaignsAPI{r}
	const item = "/api/campaigns/:id"
	read := web.Sent(core.ActionCampaignRead)
	t.Add("POST", item+"/preview", read, web.Send, a.one(web.JSON(a.preview).BodyOptional()).Fails(core.Conflict),
		"Preview a campaign's email").Named("previewCampaign").
		Example(web.Object{"version": 1}).
		Refuses(saidByCampaign...).
		Refuses(
			web.Refused("email", "Not a subscriber of the list"),
			web.BadEmail,
			web.Refused("correction.source", "The placeholders or blocks are malformed"),
			web.Refused("correction.text", "The placeholders are malformed, or the kind has no text part"),
			web.Refused("correction.subject", "The placeholders are malformed"),
		)
	t.Add("GET", item+"/audience", read, web.Send, a.one(web.Query(a.countAudience)),
		"Count a campaign's recipients and the people it would skip, with reasons").Named("countCampaignAudience")
	t.Add("POST", item+"/check", read, web.Send, a.one(web.JSON(a.check).BodyOptional()).Fails(core.TooMany),
		"Check a campaign for errors and warnings").Named("checkCampaign").
		Example(web.Object{"version": 1}).
		Refuses(saidByCampaign...)
	t.Add("POST", item+"/test", web.Sent(core.ActionTestSend), web.Send,
		a.one(web.JSON(a.test).BodyOptional()).Fails(core.TooMany),
		"Send a test of a campaign; editors can only use test addresses and the team's addresses").
		Named("testCampaign").
		Example(web.Object{"to": []string{"reader@example.org"}}).
		Refuses(readyToSend...).
		Refuses(web.Refused("to", "An address is blocked, or there are no addresses"))
}

// draftCheck is the body of a request to check a campaign.
type draftCheck struct {
	Version int64 `json:"version" like:"whole" about:"0 means the version being edited"`
	Links   bool  `json:"links" about:"Also check whether the links respond"`
}

// check returns the errors and warnings about a campaign.
func (a campaignsAPI) check(c *web.Call, in draftCheck) (drafts.Checked, error) {
	if in.Links {
		if err := a.Checks.MayAsk(c, a.found(c).TenantID); err != nil {
			return drafts.Checked{}, err
		}
	}
	return a.drafts(c).Check(c, a.found(c), in.Version, in.Links, c.Now)
}

// draftPreview is the body of a request to preview a campaign's email.
type draftPreview struct {
	Version int64      `json:"version" like:"whole" about:"Version to render; 0: the version being edited"`
	Email   core.Email `json:"email" about:"Address of a subscriber to render it for; empty: a subscriber with no details"`

	Placeholders bool `json:"placeholders" about:"Leave placeholders unchanged, so that the parts can serve as templates"`

	Correction *correctionInput `json:"correction" like:"corrected"`
}

// previewedDraft holds the rendered parts of a campaign's email.
type previewedDraft struct {
	Version  int64         `json:"version"`
	Subject  string        `json:"subject" about:"Subject, with placeholders filled in"`
	Text     string        `json:"text" about:"Text part"`
	HTML     string        `json:"html" about:"HTML part"`
	Bytes    int           `json:"html_bytes" about:"Size of the HTML part; Gmail clips emails above about 102,400 bytes"`
	ViewURL  string        `json:"view_url" about:"Public URL of the rendered email; valid for 14 days"`
	Missing  string        `json:"missing,omitempty" about:"What is still missing before it can be sent; absent: nothing"`
	Warnings []string      `json:"warnings" about:"Problems that don't prevent sending; empty: none"`
	Looks    *drafts.Looks `json:"looks,omitempty" about:"Design of the theme; absent for kinds without a theme"`

	Beginning string `json:"beginning" about:"Text that inboxes show next to the subject"`
}

// preview renders a campaign's email. If someone other than the writer sees it, the writer's next save starts a new
// version.
func (a campaignsAPI) preview(c *web.Call, in draftPreview) (out previewedDraft, err error) {
	if in.Email != "" && !c.Caller.May(core.ActionPeopleRead, c.Tenant) {
		return out, core.Lacking(core.ActionPeopleRead)
	}
	d := a.drafts(c)
	var l drafts.Look
	if in.Correction != nil {
		l, err = d.Corrected(c, a.found(c), in.Correction.change, c.Now)
	} else {
		l, err = d.Look(c, a.found(c), in.Version, c.Now)
	}
	if err = cmp.Or(err, l.Fault); err != nil && in.Correction != nil {
		err = ofCorrection(err, "correction.")
	}
	if err != nil {
		return out, err
	}
	r, err := d.Recipient(c, &l, in.Email, c.Now)
	if err != nil {
		return out, err
	}
	draft, bulk := &l.Draft, l.Bulk
	out = previewedDraft{Version: draft.Version.Version, ViewURL: r.ViewURL, Warnings: l.Warnings(), Looks: l.Looks}
	if err := draft.Fields.Complete(); err != nil {
		out.Missing = err.(*core.Error).Message
	}
	if out.Subject, out.Text, out.HTML, err = bulk.Parts(&r); err != nil {
		return out, err
	}
	if in.Placeholders {
		out.Text, out.HTML = draft.Content.Copy.BodyText, draft.Content.Copy.BodyHTML
	}
	out.Bytes, out.Beginning = len(out.HTML), mail.Beginning(out.HTML, out.Text)
	if in.Correction == nil && draft.Version.Version == a.found(c).Version {
		t := campaignTag{a.found(c).Revision, draft.Digest}
		c.Header().Set("ETag", `"`+t.String()+`"`)
	} else if err := a.setTag(c, a.found(c)); err != nil {
		return out, err
	}
	if in.Correction != nil {
		return out, nil
	}
	return out, a.Store.SawVersion(c, a.found(c), &draft.Version, web.Actor(c))
}

// audience holds the current number of a campaign's recipients. They are counted again when the campaign is sent.
type audience struct {
	core.Audience
	Warnings []string     `json:"warnings" about:"Problems with the selection of recipients; empty: none"`
	BestAt   core.Instant `json:"best_at,omitzero" about:"Next hour in which the tenant's subscribers usually open most emails; absent: unknown"`

	IsCoarse bool `json:"coarse,omitempty" about:"Whether counts are rounded, because segments select the recipients and you may not see individuals"`
}

// audienceOf returns the part of a version's audience counts that the caller may see.
func (a campaignsAPI) audienceOf(c *web.Call, f *core.CampaignFields, counted core.Audience) audience {
	out := audience{Audience: counted, Warnings: []string{}}
	out.IsCoarse = out.CoarseFor(c.Caller, a.found(c).TenantID, f)
	for _, w := range []string{out.Warning(), out.Unfinished()} {
		if w != "" {
			out.Warnings = append(out.Warnings, w)
		}
	}
	return out
}

// countedVersion is the query of a request to count a version's audience.
type countedVersion struct {
	Version  int64 `query:"version" like:"whole" about:"Version to count; 0 or absent: the version being edited"`
	Estimate bool  `query:"estimate" about:"Estimate from a sample if the lists are long"`
}

// countAudience returns the number of people whom a campaign would currently reach.
func (a campaignsAPI) countAudience(c *web.Call, in countedVersion) (audience, error) {
	of := a.found(c)
	fields, err := a.Store.CountedVersion(c, of, in.Version)
	if err != nil {
		return audience{}, err
	}
	budget := core.AudienceBudget
	if in.Estimate {
		budget = core.AudienceEstimate
	}
	counted, err := a.Store.CountAudience(c, of.TenantID, &fields, budget)
	if err != nil {
		return audience{}, err
	}
	out := a.audienceOf(c, &fields, counted)
	out.BestAt = counted.BestTime(c.Now)
	return out, err
}

// draftTest is the body of a request to send a campaign's test emails.
type draftTest struct {
	Version int64     `json:"version" like:"whole" about:"Version to send; 0: the version being edited"`
	To      *[]string `json:"to" min:"1" max:"20" each:"email" about:"Recipients; defaults to the test addresses"`
}

// queuedTests holds the addresses for which test emails were queued.
type queuedTests struct {
	queued
	To []core.Email `json:"to" about:"Addresses that get a test email"`
}

// maxTests is the maximum number of addresses in one request for test emails.
const maxTests = 20

// test sends test emails. Callers without the right to send tests to anyone can send them only to the test group and
// the team.
func (a campaignsAPI) test(c *web.Call, in draftTest) (out queuedTests, err error) {
	var to []core.Email
	if in.To != nil {
		if len(*in.To) == 0 || len(*in.To) > maxTests {
			return out, core.Invalidf("to", "to must have 1 to %d addresses.", maxTests)
		}
		for _, address := range *in.To {
			email, err := core.ParseEmail(address)
			if err != nil {
				return out, core.Invalidf("to", "to: %q is not a valid email address.", address)
			}
			to = append(to, email)
		}
	} else if to, err = a.drafts(c).TestGroup(c, a.found(c), in.Version); err != nil {
		return out, err
	}
	for _, email := range to {
		if err := mayTest(c, a.Store, email); err != nil {
			return out, err
		}
	}
	draft, _, err := a.drafts(c).Complete(c, a.found(c), in.Version, c.Now)
	if err != nil {
		return out, err
	}
	return queuedTests{queued{"queued"}, to}, a.Store.AddCampaignTests(c, &draft, to, c.Now)
}

// mayTest returns an error if the caller may not send tests to an address. Editors can send them only to the tenant's
// test group and the team.
func mayTest(c *web.Call, s *store.Store, email core.Email) error {
	if c.Caller.May(core.ActionTestAnyone, c.Tenant) {
		return nil
	}
	is, err := s.InTestGroup(c, c.Tenant, email)
	if err == nil && !is {
		err = core.Lacking(core.ActionTestAnyone)
	}
	return err
}
