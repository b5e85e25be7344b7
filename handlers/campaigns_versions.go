package handlers

import (
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// campaignVersion is a version of a campaign.
type campaignVersion struct {
	Version int64        `json:"version"`
	Name    string       `json:"name"`
	Kept    bool         `json:"kept"` // it was tested, approved, restored or named, and stays
	SavedBy string       `json:"saved_by"`
	BegunAt core.Instant `json:"begun_at"`
	SavedAt core.Instant `json:"saved_at"`
}

// versionRoutes are the versions of a campaign.
func (h *Handler) versionRoutes(t *web.Table) {
	a := h.campaigns()
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
	found, err := a.store.CampaignVersions(c, a.found(c), page)
	return web.RowsOf(found, campaignVersionOf), err
}

// numberedVersion is the version that the path names.
type numberedVersion struct {
	Number string `path:"version,text"`
}

// version returns the number; -1, which no version has, for what is none.
func (v *numberedVersion) version() int64 {
	if n, err := strconv.ParseInt(v.Number, 10, 64); err == nil && n > 0 {
		return n
	}
	return -1
}

// wholeVersion is a version with what it says.
type wholeVersion struct {
	campaignVersion
	Subject      string `json:"subject"`
	CampaignName string `json:"campaign_name"`
	written
}

func (a campaignsAPI) showVersion(c *web.Call, in numberedVersion) (wholeVersion, error) {
	v, f, err := a.store.CampaignVersion(c, a.found(c), in.version())
	return wholeVersion{campaignVersionOf(&v), f.Subject, f.Name, writtenOf(&f)}, err
}

// namedVersion is the name of a version; empty: it has none.
type namedVersion struct {
	numberedVersion
	Name string `json:"name" is:"required" like:"line" max:"255"`
}

func (in *namedVersion) CheckInput() error { return web.CheckText("name", in.Name) }

func (a campaignsAPI) nameVersion(c *web.Call, in namedVersion) (campaignVersion, error) {
	if err := a.store.NameVersion(c, a.found(c), in.version(), in.Name); err != nil {
		return campaignVersion{}, err
	}
	v, _, err := a.store.CampaignVersion(c, a.found(c), in.version())
	return campaignVersionOf(&v), err
}

// restoredVersion asks for what a version says.
type restoredVersion struct {
	numberedVersion
	ifMatch
}

func (a campaignsAPI) restore(c *web.Call, in restoredVersion) (campaign, error) {
	e, err := a.edit(c, in.IfMatch, false)
	if err != nil {
		return campaign{}, err
	}
	changed, err := a.store.RestoreVersion(c, e, in.version())
	return a.reply(c, &changed, err)
}
