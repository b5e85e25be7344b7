package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// campaignRoutes adds the routes for the campaign list.
func (o *Console) campaignRoutes(t *web.Table) {
	o.get(t, "/campaigns", core.ActionFiguresRead, o.campaigns, "The console: campaigns")
}

// campaignStates lists the states in life cycle order.
var campaignStates = []core.CampaignState{
	core.CampaignDraft, core.CampaignInReview, core.CampaignApproved, core.CampaignScheduled, core.CampaignSending,
	core.CampaignSent, core.CampaignArchived,
}

// CampaignBadge returns the badge for the state of a campaign.
func (p *Page) CampaignBadge(s core.CampaignState) Badge {
	switch s {
	case core.CampaignInReview:
		return Badge{p.T("Awaiting approval"), "warn"}
	case core.CampaignApproved:
		return Badge{p.T("Approved"), "good"}
	case core.CampaignScheduled:
		return Badge{p.T("Scheduled"), "live"}
	case core.CampaignSending:
		return Badge{p.T("Sending"), "live"}
	case core.CampaignSent:
		return Badge{p.T("Sent"), "good"}
	case core.CampaignArchived:
		return Badge{p.T("Archived"), ""}
	}
	return Badge{p.T("Draft"), ""}
}

// Opens reports whether the visitor may open a campaign. A visitor who may see only statistics can't open campaigns
// without statistics.
func (p *Page) Opens(c core.CampaignView) bool {
	return p.May(core.ActionCampaignRead) || c.JobID != ""
}

// campaigns lists the campaigns, newest first.
func (o *Console) campaigns(p *Page) (web.HTML, error) {
	q := p.ofTenant("limit", "30")
	for _, name := range []string{"state", "q", "cursor"} {
		if value := p.Query(name); value != "" {
			q.Set(name, value)
		}
	}
	var found []core.CampaignView
	next, err := p.Get("/api/campaigns", q, &found)
	if err != nil {
		return web.HTML{}, err
	}
	rows, err := p.campaignRows(found)
	if err != nil {
		return web.HTML{}, err
	}
	states := []option{{"", p.T("All statuses")}}
	for _, s := range campaignStates {
		states = append(states, option{string(s), p.CampaignBadge(s).Text})
	}
	return p.Show("campaigns", View{Title: p.T("Campaigns"), Data: struct {
		Campaigns   []campaignRow
		States      []option
		State, Text string
		Pager       pager
	}{rows, states, p.Query("state"), p.Query("q"), p.Pager(next)}})
}

// campaignRow is a campaign in the list, with its send time and results.
type campaignRow struct {
	core.CampaignView
	SentAt    core.Instant // 0: sending has not started
	StartsAt  core.Instant // when a scheduled send starts; 0: none is scheduled
	Retrying  int64        // recipients still being retried; if not 0, State is sent
	Transport string       // transport of its emails, as in the job
	Result    *core.Stats  // results of all its sends; nil: the last send has not started, or only wrote to a folder
}

// RowBadge returns the badge for the state of a campaign in the list.
func (p *Page) RowBadge(c *campaignRow) Badge {
	if c.Retrying > 0 && c.Transport == "" {
		return p.retryingBadge(c.Retrying)
	}
	if c.State == core.CampaignSent {
		return p.sentBadge(c.Transport)
	}
	return p.CampaignBadge(c.State)
}

// campaignRows returns table rows for campaigns. It reads the results of all campaigns at the same time.
func (p *Page) campaignRows(found []core.CampaignView) (rows []campaignRow, err error) {
	var sent []string
	for i := range found {
		if found[i].JobID != "" {
			sent = append(sent, found[i].ID)
		}
	}
	jobs, err := p.jobsByCampaign(sent)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		row := campaignRow{CampaignView: c}
		of := jobs[c.ID]
		if i := slices.IndexFunc(of, func(j jobRow) bool { return j.ID == c.JobID }); i >= 0 && !written(c.State) {
			j := &of[i] // a job that was undone counts as not sent
			row.SentAt, row.Transport = j.StartedAt, j.Transport
			if c.State == core.CampaignScheduled {
				row.StartsAt = j.StartsAt
			}
			if j.StartedAt != 0 && j.Transport == "" {
				row.Result = new(sumJobs(of))
			}
			if j.Rest() {
				row.State, row.Retrying = core.CampaignSent, j.Stats.Deferred
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Limits for jobsByCampaign.
const (
	jobsPage     = 100 // number of jobs per page of the API
	jobsPageMost = 5   // maximum number of pages; a campaign with more retries shows the results of the newest
)

// jobsByCampaign reads campaigns' send jobs, newest first for each campaign.
func (p *Page) jobsByCampaign(ids []string) (map[string][]jobRow, error) {
	all := map[string][]jobRow{}
	q := p.ofTenant("campaign_id", strings.Join(ids, ","), "limit", strconv.Itoa(jobsPage))
	for range jobsPageMost {
		if len(ids) == 0 {
			break
		}
		rows, next, err := p.jobs(q)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			all[rows[i].CampaignID] = append(all[rows[i].CampaignID], rows[i])
		}
		if next == "" {
			break
		}
		q.Set("cursor", next)
	}
	return all, nil
}

// campaignFigures holds a campaign's results for table cells.
type campaignFigures struct{ Delivered, Opened, Clicked namedFigure }

// namedFigure is a figure with its label. If Text is empty, the figure is unknown.
type namedFigure struct{ Text, Name string }

// Figures returns a campaign's results. Delivered can be higher than in the report, which also reads each bounce.
// Layouts without a table head show the labels.
func (p *Page) Figures(s *core.Stats) (f campaignFigures) {
	if s == nil {
		return f
	}
	f.Delivered = namedFigure{p.Number(got(s, cameBack(s))), p.T("delivered")}
	if s.Opens != nil && s.Opens.Measured {
		f.Opened = namedFigure{p.Opened(s), p.T("opened")}
	}
	if s.Clicks != nil && s.Clicks.Measured {
		f.Clicked = namedFigure{p.Clicked(s), p.T("clicked")}
	}
	return f
}

// campaignPage is a campaign with the data for its pages.
type campaignPage struct {
	core.CampaignView
	Content core.CampaignContent `json:"content"`
	UTM     core.UTM             `json:"utm"`

	ListIDs   []string `json:"list_ids"`
	Preheader string   `json:"preheader"`
	FromName  string   `json:"from_name"`
	FromEmail string   `json:"from_email"`
	ReplyTo   string   `json:"reply_to"`
	Language  string   `json:"language"`
	Tracking  string   `json:"tracking"`
	Theme     string   `json:"theme"`

	ExcludeListIDs     []string       `json:"exclude_list_ids"`
	ExcludeCampaignIDs []string       `json:"exclude_campaign_ids"`
	SegmentID          string         `json:"segment_id"`
	ExcludeSegmentIDs  []string       `json:"exclude_segment_ids"`
	TestAddresses      []string       `json:"test_addresses"`
	Attachments        []string       `json:"attachments"`
	Polls              []core.Poll    `json:"polls"`
	Audience           *core.FollowUp `json:"audience"`

	Permissions core.CampaignPermissions `json:"permissions"` // the visitor's permissions

	Revision string `json:"-"` // ETag for changes

	// Both are read with the facts about its recipients.
	byTag       bool // whether its segment was created for a tag
	withoutTags bool // whether its excluded segments were all created for tags

	archiveWas *bool  // see ArchiveWas
	opened     string // see openedAs; empty: the form is opened now
}

// Segmented reports whether segments determine the campaign's recipients.
func (c *campaignPage) Segmented() bool { return c.SegmentID != "" || len(c.ExcludeSegmentIDs) > 0 }

// Narrowed reports whether the campaign skips some of its lists' subscribers.
func (c *campaignPage) Narrowed() bool {
	return c.Segmented() || c.Audience != nil || len(c.ExcludeListIDs)+len(c.ExcludeCampaignIDs) > 0
}

// Title returns the display name of the campaign.
func (c *campaignPage) Title(p *Page) string { return p.TitleOf(c.CampaignView) }

// Archived reports whether the lists' archives should show the campaign. By default, they show every campaign except
// unsent ones to segments.
func (c *campaignPage) Archived() bool {
	if c.Archive != nil {
		return *c.Archive
	}
	return !c.Segmented() || !written(c.State) && c.State != core.CampaignScheduled
}

// campaign reads the campaign in the path.
func (p *Page) campaign() (*campaignPage, error) { return p.campaignOf(p.ID()) }

// campaignOf reads a campaign. It must belong to the page's tenant.
func (p *Page) campaignOf(id string) (*campaignPage, error) {
	a, err := p.Ask(web.Question{Method: http.MethodGet, Path: "/api/campaigns/" + id})
	if err != nil {
		return nil, err
	}
	c := &campaignPage{Revision: a.Header.Get("ETag")}
	if err := a.Decode(c); err != nil {
		return nil, err
	}
	if c.TenantID != p.Tenant.ID {
		return nil, web.ErrNotFound
	}
	return c, nil
}

// listChoice is one of the tenant's lists, for selection.
type listChoice struct {
	core.CountedList
	On, Out bool // whether its subscribers are recipients, or are excluded
}

// lists reads the tenant's lists and marks the ones used by a campaign.
func (p *Page) lists(c *campaignPage) ([]listChoice, error) {
	var found []listChoice
	_, err := p.Get("/api/admin/newsletter-lists", p.ofTenant("limit", strconv.Itoa(maxOverviewLists)), &found)
	for i := range found {
		if c != nil {
			found[i].On = slices.Contains(c.ListIDs, found[i].ID)
			found[i].Out = slices.Contains(c.ExcludeListIDs, found[i].ID)
		}
	}
	return found, err
}
