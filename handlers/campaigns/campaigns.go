package campaigns

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/store/campaigns"
)

// campaignsAPI serves /api/campaigns.
type campaignsAPI struct{ *Room }

// campaignRoutes adds the routes that create, read, change and delete campaigns.
func (r *Room) campaignRoutes(t *web.Table) {
	a := campaignsAPI{r}
	const all, item = "/api/campaigns", "/api/campaigns/:id"
	read, write := web.Sent(core.ActionCampaignRead), web.Sent(core.ActionCampaignWrite)
	t.Add("GET", all, web.Sent(core.ActionFiguresRead), web.Send, web.List(a.list, campaignKey),
		"List campaigns, newest first").Named("listCampaigns").
		Refuses(web.TenantNamed)
	t.Add("POST", all, write, web.Send,
		web.JSON(a.create).MaxBody(maxSendJob).Created().Fails(core.NotFound, core.Conflict),
		"Create a campaign as a draft; nothing is sent").Named("createCampaign").
		Limits(web.OnlyKnown).
		Example(web.Object{
			"list_ids": []string{web.ExampleID}, "subject": "Our news in May",
			"content": web.Object{"kind": "markdown", "source": "# Hello {{preferences.first_name | default: \"you\"}}"},
		}).
		Refuses(saidByCampaign...).
		Refuses(web.TenantNamed)
	t.Add("GET", item, read, web.Send, a.one(web.Path(a.show)), "Show a campaign with the content of its version").
		Named("getCampaign")
	update := a.moving(web.JSON(a.update).MaxBody(maxSendJob)).Fails(core.PreconditionRequired)
	t.Add("PUT", item, write, web.Send, update,
		"Update a campaign; fields you leave out stay unchanged, and an approved campaign becomes a draft again").
		Named("updateCampaign").
		Limits(asRead).
		Example(web.Object{"preheader": "What we did in spring"}).
		Refuses(changedCampaigns...)
	t.Add("PATCH", item, write, web.Send, update, "Update a campaign, as with PUT").Named("patchCampaign").
		Limits(asRead).
		Example(web.Object{"preheader": "What we did in spring"}).
		Refuses(changedCampaigns...)
	t.Add("DELETE", item, write, web.Send, a.moving(web.Query(a.remove)), "Delete a draft that was never sent").
		Named("deleteCampaign").
		Refuses(web.Clash("The campaign has or had a send job"))
	t.Add("POST", item+"/duplicate", write, web.Send, a.one(web.Path(a.duplicate)).Created(),
		"Duplicate a campaign as a draft").Named("duplicateCampaign")
}

// campaignKey returns the sort key for the list of campaigns.
func campaignKey(v core.CampaignView) string { return strconv.FormatInt(v.No, 10) }

// campaign is a campaign with the content of its current version.
type campaign struct {
	core.CampaignView
	written
	Permissions core.CampaignPermissions `json:"permissions" about:"What you may do with the campaign"`
}

// newCampaign is the body of POST /api/campaigns.
type newCampaign struct {
	TenantID string `json:"tenant_id" is:"uuid" about:"Tenant of the campaign; defaults to the tenant of the lists, or your only one"`
	fieldsInput
	Key *string `header:"Idempotency-Key" like:"idempotency_key"`
}

func (in *newCampaign) CheckInput() error {
	if err := in.fieldsInput.CheckInput(); err != nil {
		return err
	}
	return validIdempotencyKey(in.Key)
}

// JudgeKeys rejects unknown keys.
func (in *newCampaign) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[newCampaign](), unknown)
}

// changedCampaign is the body of PUT and PATCH /api/campaigns/{id}. It accepts campaigns in the same format as
// responses.
type changedCampaign struct {
	fieldsInput
	IfMatch *string `header:"If-Match"`
}

// JudgeKeys rejects unknown keys, but allows those of a campaign that callers can't set.
func (in *changedCampaign) JudgeKeys(unknown []string) error {
	var others []string
	for _, key := range unknown {
		if !unsettable[key] {
			others = append(others, key)
		}
	}
	return core.JudgeKeys(core.JSONKeys[changedCampaign](), others)
}

// unsettable is the set of a campaign's keys that callers can't set.
var unsettable = func() map[string]bool {
	keys := map[string]bool{}
	for _, key := range core.JSONKeys[campaign]() {
		if !slices.Contains(core.JSONKeys[changedCampaign](), key) {
			keys[key] = true
		}
	}
	return keys
}()

// asRead holds the OpenAPI limits for changedCampaign.
var asRead = web.Object{
	"additionalProperties": false, "patternProperties": web.Object{
		"^(" + strings.Join(slices.Sorted(maps.Keys(unsettable)), "|") + ")$": web.Object{"readOnly": true},
	},
}

type foundCampaign struct{}

// one makes an endpoint operate on the campaign in the path. moving is for endpoints that change the campaign. seen
// also requires the tag of the campaign that the caller has seen.
func (a campaignsAPI) one(e web.Endpoint) web.Endpoint {
	return e.Find(a.find).Missing(core.ErrCampaignNotFound)
}

func (a campaignsAPI) moving(e web.Endpoint) web.Endpoint {
	return a.one(e).Fails(core.Conflict, core.PreconditionFailed)
}

func (a campaignsAPI) seen(e web.Endpoint) web.Endpoint {
	return a.moving(e).Fails(core.PreconditionRequired)
}

// find reads the campaign in the path. If the caller may not see it, find returns a 404 error.
func (a campaignsAPI) find(c *web.Call) error {
	found, err := a.Store.Campaign(c, c.ID())
	c.Keep(foundCampaign{}, &found)
	return web.OwnRecord(c, found.TenantID, core.ActionFiguresRead, err, core.ErrCampaignNotFound)
}

// found returns the campaign that find has read.
func (a campaignsAPI) found(c *web.Call) *core.Campaign {
	return c.Value(foundCampaign{}).(*core.Campaign)
}

// reply converts a campaign to the response, or returns err.
func (a campaignsAPI) reply(c *web.Call, of *core.Campaign, err error) (campaign, error) {
	if err != nil {
		return campaign{}, a.named(c, err)
	}
	_, fields, err := a.Store.CampaignVersion(c, of, 0)
	if err != nil {
		return campaign{}, err
	}
	t, err := a.Store.Tenant(c, of.TenantID)
	if err != nil {
		return campaign{}, err
	}
	v := of.View()
	if v.SentBack != nil {
		v.SentBack.Name, err = a.nameOf(c, v.SentBack.By)
	}
	if err == nil {
		err = a.setTag(c, of)
	}
	if err != nil {
		return campaign{}, err
	}
	by, err := a.Store.Acting(c, web.Actor(c))
	return campaign{v, writtenOf(&fields), t.Permissions(of, c.Caller, by...)}, err
}

// campaignFilter filters the list of campaigns.
type campaignFilter struct {
	TenantID string             `query:"tenant_id"`
	State    core.CampaignState `query:"state" enum:"draft|in_review|approved|scheduled|sending|sent|archived" about:"Only campaigns in this state"`
	ListID   string             `query:"list_id"`
	Text     string             `query:"q" max:"200" about:"Text in the name or the subject"`
}

func (in *campaignFilter) CheckInput() error { return web.CheckQuery(in.Text) }

func (a campaignsAPI) list(c *web.Call, in campaignFilter, page core.Page) ([]core.CampaignView, error) {
	tenants, all, err := web.TenantsFor(c, web.TenantFilter{TenantID: in.TenantID})
	if err != nil {
		return nil, err
	}
	found, err := a.Store.Campaigns(c, campaigns.CampaignFilter{
		Tenants: tenants, All: all, State: in.State, ListID: in.ListID, Text: in.Text,
	}, page)
	return web.RowsOf(found, (*core.Campaign).View), err
}

func (a campaignsAPI) create(c *web.Call, in newCampaign) (campaign, error) {
	f := core.CampaignFields{Tracking: core.TrackingOff, Content: core.CampaignContent{Kind: core.ContentMarkdown}}
	if err := in.change(&f); err != nil {
		return campaign{}, err
	}
	tenant, err := a.tenantOf(c, in.TenantID, f.ListIDs)
	if err != nil {
		return campaign{}, err
	}
	made := core.NewCampaign(tenant, &f, web.Actor(c), c.Now)
	if in.Archive != nil {
		made.ShowInArchive(*in.Archive)
	}
	var key string
	var sum []byte
	if in.Key != nil {
		// The prefix distinguishes this hash from that of a send job created with the same key.
		hash := sha256.Sum256(slices.Concat([]byte("campaign\n"), c.Body()))
		key, sum = *in.Key, hash[:]
	}
	made, err = a.Store.AddCampaignOnce(c, made, &f, key, sum)
	return a.reply(c, &made, web.UnknownTenant(err))
}

// tenantOf returns the tenant for a new campaign: the requested tenant, the first list's tenant, or the caller's only
// tenant.
func (a campaignsAPI) tenantOf(c *web.Call, named string, lists []string) (string, error) {
	if named == "" && len(lists) > 0 {
		l, err := a.Store.List(c, lists[0])
		switch {
		case err == nil && c.Caller.May(c.Action(), l.TenantID):
			named = l.TenantID
		case err == nil || core.KindOf(err) == core.NotFound:
			return "", core.Invalidf("list_ids",
				"list_ids: list not found. It may have been deleted, or you don't have access.")
		default:
			return "", err
		}
	}
	return web.OneTenant(c, named)
}

func (a campaignsAPI) show(c *web.Call, _ string) (campaign, error) {
	return a.reply(c, a.found(c), nil)
}

func (a campaignsAPI) update(c *web.Call, in changedCampaign) (campaign, error) {
	e, err := a.edit(c, in.IfMatch, true)
	if err == nil {
		err = a.setArchive(c, &e, in.Archive)
	}
	if err != nil {
		return campaign{}, err
	}
	changed, err := a.Store.EditCampaign(c, e, in.change)
	return a.reply(c, &changed, err)
}

// setArchive sets in e whether archives show the campaign. A nil shown means no change.
func (a campaignsAPI) setArchive(c *web.Call, e *campaigns.CampaignEdit, shown *bool) (err error) {
	of := a.found(c)
	e.Archive, e.Sends = shown, c.Caller.May(core.ActionCampaignSend, of.TenantID)
	if shown == nil || !*shown || of.JobNo == 0 {
		return nil
	}
	j, err := a.Store.SendJobByNo(c, of.JobNo)
	if err != nil {
		return err
	}
	content, err := a.Store.Content(c, &j)
	if err != nil {
		return err
	}
	fields, err := drafts.ShownFields(c, a.Store, of.ID)
	if err != nil {
		return err
	}
	bulk, err := mail.CompileShown(j.ID, &content)
	if err == nil {
		e.Head, err = drafts.HeadOf(c, a.Store, bulk, &fields, &content, c.Now)
	}
	return err
}

// ifMatch holds the tag of the revision that a request applies to.
type ifMatch struct {
	IfMatch *string `header:"If-Match"`
}

func (a campaignsAPI) remove(c *web.Call, in ifMatch) (web.None, error) {
	e, err := a.edit(c, in.IfMatch, false)
	if err != nil {
		return web.None{}, err
	}
	return web.None{}, a.Store.DeleteCampaign(c, e)
}

// duplicate creates a draft with the content of a campaign's current version.
func (a campaignsAPI) duplicate(c *web.Call, _ string) (campaign, error) {
	of := a.found(c)
	_, f, err := a.Store.CampaignVersion(c, of, 0)
	if err != nil {
		return campaign{}, err
	}
	made := core.NewCampaign(of.TenantID, &f, web.Actor(c), c.Now)
	made.InArchive = of.CopiedInArchive(&f)
	made.AlsoWrittenBy(of.Writers...)
	made, err = a.Store.AddCampaign(c, made, &f)
	return a.reply(c, &made, err)
}

// times holds the OpenAPI refusals for the times of a campaign or a send job.
var times = []web.Refusal{
	web.Refused("scheduled_at", "Not a valid time, in the past, outside the window, or without an offset"),
	web.Refused("window_start", "Not a valid time, or without an offset"),
	web.Refused("window_end", "Not a valid time, in the past, not after window_start, or without an offset"),
}

// saidByCampaign holds the OpenAPI refusals for a campaign's content.
var saidByCampaign = []web.Refusal{
	web.Refused("list_ids", "The tenant has no such list, or a list appears twice"),
	web.Refused("audience.of", "The tenant has no such campaign"),
	web.Refused("exclude_list_ids", "The tenant has no such list, a list appears twice, or the campaign is sent to it"),
	web.Refused("exclude_campaign_ids", "The tenant has no such campaign, or a campaign appears twice"),
	web.Clash("A campaign in audience or exclude_campaign_ids wasn't sent, or its recipients are no longer known"),
	web.Refused("segment_id", "The tenant has no such segment"),
	web.Refused("exclude_segment_ids",
		"The tenant has no such segment, a segment appears twice, or it is the segment_id"),
	web.Refused("from_email", "Not at one of the tenant's domains"),
	web.Refused("reply_to", "Not a valid email address"),
	web.Refused("test_addresses", "Contains an invalid email address"),
	web.Refused("attachments", "The tenant has no such file, a file appears twice, or the total is too large"),
	web.Refused("theme", "The tenant has no such theme"),
	web.Refused("content.source", "The placeholders or blocks are malformed"),
	web.Refused("content.text", "The placeholders are malformed"),
	web.Refused("content.layout", "The tenant has no such template, or the template's layout is missing"),
	web.Refused("polls", "A text is empty, too long or has placeholders, an option appears twice, or the field's name "+
		"is malformed"),
	web.Refused("subject", "The placeholders are malformed"),
	web.Refused("preheader", "The placeholders are malformed"),
	web.Refused("template", "Too large"),
	web.Refused("utm.source", "Contains placeholders"), web.Refused("utm.medium", "Contains placeholders"),
	web.Refused("utm.campaign", "Contains placeholders"), web.Refused("utm.term", "Contains placeholders"),
	web.Refused("utm.content", "Contains placeholders"),
}

// readyToSend holds the refusals for a campaign that can't be sent. findings contains the reasons.
var readyToSend = slices.Concat(saidByCampaign, []web.Refusal{
	web.Refused("name", "Missing"), web.Refused("", "The campaign can't be sent; findings lists the reasons"),
	web.Refused("tenant_id", "The tenant's settings prevent sending; findings lists the reasons"),
	web.Clash("Not possible in the campaign's current state, or the version is outdated"),
	web.Clashing(core.CodeUndecided, "", "A condition of a segment of the campaign can't be evaluated"),
	web.Clashing("list_inactive", "", "The list isn't active"),
	web.Clashing("tenant_suspended", "", "The tenant is suspended"),
})

// changedCampaigns holds the refusals for a changed campaign's content.
var changedCampaigns = slices.Concat(saidByCampaign, []web.Refusal{
	web.FixedTenant, web.Clash("The campaign can't be edited in its current state"),
})
