package campaigns

import (
	"encoding/json"
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// campaignVersion describes a version of a campaign.
type campaignVersion struct {
	Version int64        `json:"version"`
	Name    string       `json:"name" about:"Name of the version; empty: none"`
	Kept    bool         `json:"kept" about:"Whether it was tested, approved, restored or named, and so is never deleted automatically"`
	SavedBy string       `json:"saved_by" about:"Who saved the version, such as user:ID"`
	BegunAt core.Instant `json:"begun_at" about:"Time of the first change"`
	SavedAt core.Instant `json:"saved_at" about:"Time of the last change"`
}

// versionRoutes adds the routes for the versions of a campaign.
func (r *Room) versionRoutes(t *web.Table) {
	a := campaignsAPI{r}
	const item = "/api/campaigns/:id"
	const versions, version = item + "/versions", item + "/versions/:version"
	read, write := web.Sent(core.ActionCampaignRead), web.Sent(core.ActionCampaignWrite)
	t.Add("GET", versions, read, web.Send, a.one(web.List(a.versions, campaignVersion.key)),
		"List a campaign's versions, newest first").Named("listCampaignVersions")
	t.Add("GET", version, read, web.Send, a.one(web.Query(a.showVersion)), "Show a version of a campaign").
		Named("getCampaignVersion")
	t.Add("PUT", version, write, web.Send, a.one(web.JSON(a.nameVersion)),
		"Name a version of a campaign to keep it").Named("nameCampaignVersion").
		Example(web.Object{"name": "before the prices changed"})
	t.Add("POST", version+"/restore", write, web.Send, a.moving(web.Query(a.restore)),
		"Restore an earlier version as a new version").Named("restoreCampaignVersion").
		Refuses(web.Clash("The campaign can't be edited in its current state"))
}

func campaignVersionOf(v *core.CampaignVersion) campaignVersion {
	return campaignVersion{v.Version, v.Name, v.Kept, v.SavedBy, v.BegunAt, v.SavedAt}
}

func (v campaignVersion) key() string { return strconv.FormatInt(v.Version, 10) }

func (a campaignsAPI) versions(c *web.Call, _ struct{}, page core.Page) ([]campaignVersion, error) {
	found, err := a.Store.CampaignVersions(c, a.found(c), page)
	return web.RowsOf(found, campaignVersionOf), err
}

// numberedVersion holds the version's number from the path.
type numberedVersion struct {
	Number string `path:"version,text"`
}

// version returns the version's number. If the text in the path is not a positive number, it returns -1, which no
// version has.
func (v *numberedVersion) version() int64 {
	if n, err := strconv.ParseInt(v.Number, 10, 64); err == nil && n > 0 {
		return n
	}
	return -1
}

// wholeVersion is a version with its content.
type wholeVersion struct {
	campaignVersion
	Subject      string `json:"subject"`
	CampaignName string `json:"campaign_name" about:"Name of the campaign in this version"`
	written
}

func (a campaignsAPI) showVersion(c *web.Call, in numberedVersion) (wholeVersion, error) {
	v, f, err := a.Store.CampaignVersion(c, a.found(c), in.version())
	return wholeVersion{campaignVersionOf(&v), f.Subject, f.Name, writtenOf(&f)}, err
}

// namedVersion is the body of a request to name a version. An empty name removes the name.
type namedVersion struct {
	numberedVersion
	Name string `json:"name" is:"required" like:"line" max:"255" about:"Name of the version; a named version is never deleted automatically"`
}

func (in *namedVersion) CheckInput() error { return web.CheckText("name", in.Name) }

func (a campaignsAPI) nameVersion(c *web.Call, in namedVersion) (campaignVersion, error) {
	if err := a.Store.NameVersion(c, a.found(c), in.version(), in.Name); err != nil {
		return campaignVersion{}, err
	}
	v, _, err := a.Store.CampaignVersion(c, a.found(c), in.version())
	return campaignVersionOf(&v), err
}

// restoredVersion is a request to restore the content of a version.
type restoredVersion struct {
	numberedVersion
	ifMatch
}

func (a campaignsAPI) restore(c *web.Call, in restoredVersion) (campaign, error) {
	e, err := a.edit(c, in.IfMatch, false)
	if err != nil {
		return campaign{}, err
	}
	changed, err := a.Store.RestoreVersion(c, e, in.version())
	return a.reply(c, &changed, err)
}

// written holds all of a version's fields except its name and subject.
type written struct {
	ListIDs   []string             `json:"list_ids"`
	Preheader string               `json:"preheader"`
	FromName  string               `json:"from_name"`
	FromEmail string               `json:"from_email" about:"Address of the sender; empty: the tenant's"`
	ReplyTo   string               `json:"reply_to" about:"Address for replies; empty: the tenant's"`
	Language  string               `json:"language" about:"Language of the email; empty: the list's"`
	Tracking  string               `json:"tracking" enum:"off|totals|persons"`
	Template  json.RawMessage      `json:"template,omitempty"`
	Theme     string               `json:"theme"` // name of a built-in theme or id of a tenant's; empty: the first
	Content   core.CampaignContent `json:"content" about:"Content of the email"`
	UTM       core.UTM             `json:"utm,omitzero" about:"Parameters added to links without utm parameters"`

	ExcludeListIDs     []string `json:"exclude_list_ids"`     // subscribers of these lists are excluded
	ExcludeCampaignIDs []string `json:"exclude_campaign_ids"` // recipients of these campaigns are excluded

	SegmentID         string   `json:"segment_id" about:"Only people in this segment are recipients; empty: all"`
	ExcludeSegmentIDs []string `json:"exclude_segment_ids"` // people in these segments are excluded

	Audience *core.FollowUp `json:"audience,omitempty" about:"Limits the campaign to some recipients of another one; absent: no limit"`

	Polls         []core.Poll `json:"polls,omitempty" about:"Polls of the campaign; a placeholder such as {{ poll.1 }} inserts one"`
	Attachments   []string    `json:"attachments" about:"Media IDs of attached files"`
	TestAddresses []string    `json:"test_addresses" about:"Recipients of test emails; empty: the tenant's test addresses"`
}

func writtenOf(f *core.CampaignFields) written {
	return written{
		append([]string{}, f.ListIDs...), f.Preheader, f.FromName, f.FromEmail, f.ReplyTo, f.Language, f.Tracking,
		f.Template, f.Theme, f.Content, f.UTM,
		append([]string{}, f.ExcludeListIDs...), append([]string{}, f.ExcludeCampaignIDs...),
		f.SegmentID, append([]string{}, f.ExcludeSegmentIDs...),
		f.Audience, f.Polls, append([]string{}, f.Attachments...), append([]string{}, f.TestAddresses...),
	}
}

// contentInput holds changes to a campaign's content. Absent fields don't change.
type contentInput struct {
	Kind   *string `json:"kind" enum:"markdown|blocks|html|text" about:"Format of source: markdown, blocks, html or text"`
	Source *string `json:"source" max:"1048576" about:"Markdown, blocks as JSON, HTML or text, according to kind"`
	Text   *string `json:"text" max:"1048576" about:"Text part for kind html; generated from the HTML if empty"`
	Layout *string `json:"layout" about:"Name of the layout template, for kind html or text"`
}

// utmInput holds changes to a campaign's link parameters. Absent parameters don't change.
type utmInput struct {
	Source   *string `json:"source" like:"line" max:"100" about:"Traffic source (utm_source)"`
	Medium   *string `json:"medium" like:"line" max:"100" about:"Kind of traffic, such as email (utm_medium)"`
	Campaign *string `json:"campaign" like:"line" max:"100" about:"Name of the campaign (utm_campaign)"`
	Term     *string `json:"term" like:"line" max:"100" about:"Search term (utm_term)"`
	Content  *string `json:"content" like:"line" max:"100" about:"Distinguishes links or versions (utm_content)"`
}

// fieldsInput holds changes to a campaign's fields. Absent fields don't change.
type fieldsInput struct {
	Name               *string         `json:"name" like:"line" max:"998"`
	ListIDs            *[]string       `json:"list_ids" like:"set" max:"20" each:"uuid"`
	Subject            *string         `json:"subject" like:"line" max:"998" about:"The subject, with placeholders"`
	Preheader          *string         `json:"preheader" like:"line" max:"255"`
	FromName           *string         `json:"from_name" like:"line" max:"100"`
	FromEmail          *string         `json:"from_email" like:"address sender"`
	ReplyTo            *string         `json:"reply_to" like:"address" about:"Defaults to the tenant's"`
	Language           *string         `json:"language" like:"language" about:"Language of the email; empty: the list's"`
	Tracking           *string         `json:"tracking" enum:"off|totals|persons"`
	Template           json.RawMessage `json:"template"`
	Theme              *string         `json:"theme" like:"theme"`
	Content            *contentInput   `json:"content" like:"content" about:"Content of the email"`
	UTM                *utmInput       `json:"utm" like:"strict" about:"Added to links without utm parameters"`
	ExcludeListIDs     *[]string       `json:"exclude_list_ids" like:"set" max:"20" each:"uuid"`
	ExcludeCampaignIDs *[]string       `json:"exclude_campaign_ids" like:"set" max:"20" each:"uuid"`
	SegmentID          *string         `json:"segment_id" like:"segment"`
	ExcludeSegmentIDs  *[]string       `json:"exclude_segment_ids" like:"set" max:"20" each:"uuid"`

	Audience *followUpInput `json:"audience" like:"strict" about:"Limits the campaign to some recipients of another one"`

	Polls         *[]core.Poll `json:"polls" max:"10" about:"A placeholder such as {{ poll.1 }} inserts one"`
	Attachments   *[]string    `json:"attachments" like:"set" max:"10" each:"uuid"`
	TestAddresses *[]string    `json:"test_addresses" like:"tests" max:"20" each:"email"`

	// not part of a version, so it can be changed at any time
	Archive *bool `json:"archive" about:"Whether archives show it once sent; after approval, true needs campaign.send"`
}

// followUpInput limits a campaign to some of another campaign's recipients. If Of is missing, the limit is removed.
type followUpInput struct {
	Of  string `json:"of" like:"uuid" about:"ID of the other campaign; if left out, the limit is removed"`
	Who string `json:"who" enum:"same|joined|unopened" is:"needed" about:"same: its recipients; joined: people who joined since; unopened: recipients without an open or click"`
}

// takeIDs validates the ids in from and stores them in to. If from is nil, it changes nothing.
func takeIDs(field string, from, to *[]string) error {
	if from == nil {
		return nil
	}
	*to = *from
	for i, id := range *to {
		parsed, ok := core.ParseID(id)
		if !ok {
			return core.Invalidf(field, "%s must contain only UUIDs.", field)
		}
		(*to)[i] = parsed
	}
	return nil
}

// JudgeKeys rejects unknown keys.
func (in *contentInput) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[contentInput](), unknown)
}

// JudgeKeys rejects unknown keys.
func (in *utmInput) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[utmInput](), unknown)
}

func (in *fieldsInput) CheckInput() error {
	if len(in.Template) > 0 && in.Template[0] != '{' {
		return core.Invalidf("template", "template must be a JSON object.")
	}
	return nil
}

// change applies the input to f and validates the result.
func (in *fieldsInput) change(f *core.CampaignFields) error {
	type taken struct{ to, from *string }
	all := []taken{
		{&f.Name, in.Name},
		{&f.Subject, in.Subject},
		{&f.Preheader, in.Preheader},
		{&f.FromName, in.FromName},
		{&f.FromEmail, in.FromEmail},
		{&f.ReplyTo, in.ReplyTo},
		{&f.Language, in.Language},
		{&f.Tracking, in.Tracking},
		{&f.Theme, in.Theme},
	}
	if c := in.Content; c != nil {
		all = append(all, taken{&f.Content.Kind, c.Kind}, taken{&f.Content.Source, c.Source},
			taken{&f.Content.Text, c.Text}, taken{&f.Content.Layout, c.Layout})
	}
	if u := in.UTM; u != nil {
		all = append(all, taken{&f.UTM.Source, u.Source}, taken{&f.UTM.Medium, u.Medium},
			taken{&f.UTM.Campaign, u.Campaign}, taken{&f.UTM.Term, u.Term}, taken{&f.UTM.Content, u.Content})
	}
	for _, t := range all {
		if t.from != nil {
			*t.to = *t.from
		}
	}
	for _, ids := range []struct {
		field string
		from  *[]string
		to    *[]string
	}{
		{"list_ids", in.ListIDs, &f.ListIDs},
		{"exclude_list_ids", in.ExcludeListIDs, &f.ExcludeListIDs},
		{"exclude_campaign_ids", in.ExcludeCampaignIDs, &f.ExcludeCampaignIDs},
		{"exclude_segment_ids", in.ExcludeSegmentIDs, &f.ExcludeSegmentIDs},
		{"attachments", in.Attachments, &f.Attachments},
	} {
		if err := takeIDs(ids.field, ids.from, ids.to); err != nil {
			return err
		}
	}
	if len(in.Template) > 0 {
		f.Template = in.Template
	}
	if in.Polls != nil {
		f.Polls = *in.Polls
	}
	if in.TestAddresses != nil {
		f.TestAddresses = *in.TestAddresses
	}
	if err := in.Audience.change(f); err != nil {
		return err
	}
	if id := given(in.SegmentID); in.SegmentID != nil {
		parsed, ok := core.ParseID(id)
		if !ok && id != "" {
			return core.Invalidf("segment_id", "segment_id must be a UUID, or empty for no segment.")
		}
		f.SegmentID = parsed
	}
	return f.Check()
}

// JudgeKeys rejects unknown keys.
func (in *followUpInput) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[followUpInput](), unknown)
}

func (in *followUpInput) change(f *core.CampaignFields) error {
	switch {
	case in == nil:
		return nil
	case in.Of == "":
		f.Audience = nil
		return nil
	}
	of, ok := core.ParseID(in.Of)
	if !ok {
		return core.Invalidf("audience.of", "audience.of must be a UUID.")
	}
	f.Audience = &core.FollowUp{Of: of, Who: in.Who}
	return nil
}
