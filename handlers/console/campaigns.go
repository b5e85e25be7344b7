package console

import (
	"net/http"
	"slices"
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// campaignRoutes are the pages of campaigns.
func (o *Console) campaignRoutes(t *web.Table) {
	o.get(t, "/campaigns", core.ActionFiguresRead, o.campaigns, "The console: campaigns")
}

// campaignStates in the order of a campaign's life.
var campaignStates = []core.CampaignState{
	core.CampaignDraft, core.CampaignInReview, core.CampaignApproved, core.CampaignScheduled, core.CampaignSending,
	core.CampaignSent, core.CampaignArchived,
}

// CampaignBadge is the state of a campaign in a word.
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

// Opens reports whether the visitor may open a campaign: those who see figures alone, once there are some.
func (p *Page) Opens(c core.CampaignView) bool {
	return p.May(core.ActionCampaignRead) || c.JobID != ""
}

// campaigns lists the campaigns, the newest first.
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

// campaignRow is a campaign in the list, with when it was sent.
type campaignRow struct {
	core.CampaignView
	SentAt    core.Instant // 0: its mailing has not begun
	Transport string       // where its emails went, as the job has it
}

// RowBadge is the state of a campaign in the list in a word.
func (p *Page) RowBadge(c *campaignRow) Badge {
	if c.State == core.CampaignSent {
		return p.sentBadge(c.Transport)
	}
	return p.CampaignBadge(c.State)
}

// maxRowJobs is how many of the last mailings are read at once for a page of the list. Older ones are asked for by
// their id.
const maxRowJobs = 100

func (p *Page) campaignRows(found []core.CampaignView) (rows []campaignRow, err error) {
	begun, rest, transport := map[string]core.Instant{}, map[string]bool{}, map[string]string{} // by the ids of mailings
	if slices.ContainsFunc(found, func(c core.CampaignView) bool { return c.JobID != "" }) {
		jobs, _, err := p.jobs(p.ofTenant("limit", strconv.Itoa(maxRowJobs)))
		if err != nil {
			return nil, err
		}
		for i := range jobs {
			begun[jobs[i].ID], rest[jobs[i].ID] = jobs[i].StartedAt, jobs[i].Rest()
			transport[jobs[i].ID] = jobs[i].Transport
		}
	}
	for _, c := range found {
		row := campaignRow{CampaignView: c}
		at, known := begun[c.JobID]
		if row.SentAt = at; c.JobID != "" && !known && !written(c.State) {
			var j core.JobView
			if _, err := p.Get("/api/send-jobs/"+c.JobID, nil, &j); err != nil {
				return nil, err
			}
			row.SentAt, transport[c.JobID] = j.StartedAt, j.Transport
		}
		row.Transport = transport[c.JobID]
		if written(c.State) { // what was taken back was not sent
			row.SentAt = 0
		}
		if rest[c.JobID] {
			row.State = core.CampaignSent
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// campaignPage is a campaign as its pages have it.
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
	TestAddresses      []string       `json:"test_addresses"`
	Attachments        []string       `json:"attachments"`
	Audience           *core.FollowUp `json:"audience"`

	Permissions core.CampaignPermissions `json:"permissions"` // of the visitor

	Revision string `json:"-"` // the ETag that a change names
}

// Title is what the campaign is called.
func (c *campaignPage) Title(p *Page) string {
	switch {
	case c.Name != "":
		return c.Name
	case c.Subject != "":
		return p.Listed(c.Subject)
	}
	return p.T("Untitled")
}

// Archived reports whether the archives of the lists are to show the campaign. It stays as the lists have it where
// nothing was said.
func (c *campaignPage) Archived() bool { return c.Archive == nil || *c.Archive }

// campaign reads the campaign of the path.
func (p *Page) campaign() (*campaignPage, error) {
	a, err := p.Ask(web.Question{Method: http.MethodGet, Path: "/api/campaigns/" + p.ID()})
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

// listChoice is a list of the tenant, to choose.
type listChoice struct {
	core.CountedList
	On, Out bool // it is sent to; who is on it is left out
}

// lists reads the lists of the tenant, of which a campaign has chosen some.
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
