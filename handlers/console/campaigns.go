package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

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

// campaignRow is a campaign in the list, with when it was sent and what came of it.
type campaignRow struct {
	core.CampaignView
	SentAt    core.Instant // 0: its mailing has not begun
	Transport string       // where its emails went, as the job has it
	Result    *core.Stats  // of all its mailings; nil: none has begun, or it reached no one
}

// RowBadge is the state of a campaign in the list in a word.
func (p *Page) RowBadge(c *campaignRow) Badge {
	if c.State == core.CampaignSent {
		return p.sentBadge(c.Transport)
	}
	return p.CampaignBadge(c.State)
}

// campaignRows reads what came of campaigns, of all of them at once.
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
			j := &of[i] // what was undone was not sent
			row.SentAt, row.Transport = j.StartedAt, j.Transport
			if j.StartedAt != 0 && j.Transport == "" {
				row.Result = new(sumJobs(of))
			}
			if j.Rest() {
				row.State = core.CampaignSent
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Figures of jobsByCampaign.
const (
	jobsPage     = 100 // jobs that the API answers at once
	jobsPageMost = 5   // pages of them: who has retried so often has the figures of the newest
)

// jobsByCampaign reads the mailings of campaigns, the newest of each first.
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

// Got is to how many the mails of campaigns were delivered.
func (p *Page) Got(s *core.Stats) string { return p.Number(got(s, cameBack(s))) }

// campaignFigures are what came of a campaign, for the cells of a table.
type campaignFigures struct{ Delivered, Opened, Clicked namedFigure }

// namedFigure is a figure and what it is; without text it is not known.
type namedFigure struct{ Text, Name string }

// Figures returns them: a figure with the word that says what it is where the table has no head.
func (p *Page) Figures(s *core.Stats) (f campaignFigures) {
	if s == nil {
		return f
	}
	f.Delivered = namedFigure{p.Got(s), p.T("delivered")}
	if s.Opens != nil && s.Opens.Measured {
		f.Opened = namedFigure{p.Opened(s), p.T("opened")}
	}
	if s.Clicks != nil && s.Clicks.Measured {
		f.Clicked = namedFigure{p.Clicked(s), p.T("clicked")}
	}
	return f
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
