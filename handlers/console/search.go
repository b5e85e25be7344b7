package console

import (
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// searchRoutes adds the routes of the search in a tenant.
func (o *Console) searchRoutes(t *web.Table) {
	o.get(t, "/search", core.ActionListRead, o.search, "The console: search people, campaigns, lists and pages")
}

// found is a search result.
type found struct{ Text, More, To, Icon string }

// maxFound is the maximum number of results of each kind.
const maxFound = 6

// search finds people by the beginning of their address or of a word in their name. It finds campaigns and lists by a
// part of their name, and pages and their actions by name.
func (o *Console) search(p *Page) (web.HTML, error) {
	q := strings.TrimSpace(p.Query("q"))
	var all []found
	if q != "" {
		var err error
		if all, err = p.find(q); err != nil {
			return web.HTML{}, err
		}
	}
	v := View{Title: p.T("Search"), Data: struct {
		Text  string
		Found []found
	}{q, all}}
	if target, ok := p.Partial(); ok && target == "found" {
		return p.ShowPart("search", "found", v)
	}
	return p.Show("search", v)
}

func (p *Page) find(q string) (all []found, err error) {
	folded := strings.ToLower(q)
	for _, item := range p.navigation() {
		if strings.Contains(strings.ToLower(item.Text), folded) {
			all = append(all, found{item.Text, p.T("Page"), item.To, item.Icon})
		}
	}
	for _, one := range p.pagesBelow() {
		// Match only beginnings of words: Return opens the first result, and "te" means the team rather than
		// "Invite".
		if strings.Contains(" "+strings.ToLower(one.Text), " "+folded) {
			all = append(all, one)
		}
	}
	lists, err := p.lists(nil)
	if err != nil {
		return nil, err
	}
	shown := 0
	for i := range lists {
		if l := &lists[i]; shown < maxFound && strings.Contains(strings.ToLower(l.Name), folded) {
			shown++
			all = append(all, found{
				l.Name, p.N("1 subscriber|{{n}} subscribers", l.Counts.Mailable), p.Path("lists", l.ID),
				"list",
			})
		}
	}
	campaigns, err := p.findCampaigns(q)
	if err != nil {
		return nil, err
	}
	people, err := p.findPeople(q, lists)
	return append(append(all, campaigns...), people...), err
}

// pagesBelow returns the pages below the navigation that the visitor may open, and the actions on them. With these, the
// search can link to them directly.
func (p *Page) pagesBelow() (all []found) {
	task, page := p.T("Action"), p.T("Page")
	for _, one := range []struct {
		action core.Action
		found
	}{
		{core.ActionCampaignWrite, found{p.T("New campaign"), task, p.Path("new-campaign"), "plus"}},
		{core.ActionPeopleImport, found{p.T("Import file"), task, p.Path("new-import"), "upload"}},
		{core.ActionPeopleAdd, found{p.T("Add person"), task, p.Path("new-person"), "plus"}},
		{core.ActionListSettings, found{p.T("New list"), task, p.Path("new-list"), "plus"}},
		{core.ActionTeamManage, found{p.T("Invite person"), task, p.Path("settings", "team"), "send"}},
		{core.ActionSuppressionManage, found{p.T("Suppression list"), page, p.Path("suppressions"), "ban"}},
		{core.ActionPeopleImport, found{p.T("Imports"), page, p.Path("imports"), "upload"}},
		{core.ActionTemplateRead, found{p.T("Themes"), page, p.Path("looks", "themes"), "palette"}},
		{core.ActionTemplateRead, found{p.T("Templates"), page, p.Path("looks", "templates"), "palette"}},
		{core.ActionTenantSettings, found{p.T("Brand and sender"), page, p.Path("settings"), "settings"}},
		{core.ActionTenantSettings, found{p.T("Emails"), page, p.Path("settings", "mails"), "settings"}},
		{core.ActionDomainPropose, found{p.T("Sender domains"), page, p.Path("settings", "domains"), "settings"}},
		{core.ActionTeamRead, found{p.T("Team"), page, p.Path("settings", "team"), "settings"}},
		{core.ActionEndpointManage, found{p.T("Webhooks"), page, p.Path("settings", "endpoints"), "settings"}},
		{core.ActionClientManage, found{p.T("API clients"), page, p.Path("settings", "clients"), "settings"}},
		{core.ActionAuditRead, found{p.T("Audit log"), page, p.Path("settings", "audit"), "settings"}},
	} {
		if p.May(one.action) {
			all = append(all, one.found)
		}
	}
	return all
}

func (p *Page) findCampaigns(q string) (all []found, err error) {
	const most = 200 // maximum number of characters in the API
	if len([]rune(q)) > most {
		return nil, nil
	}
	var campaigns []core.CampaignView
	query := p.ofTenant("q", q, "limit", strconv.Itoa(maxFound))
	if _, err = p.Get("/api/campaigns", query, &campaigns); err != nil {
		return nil, err
	}
	rows, err := p.campaignRows(campaigns)
	for i := range rows {
		if c := &rows[i]; p.Opens(c.CampaignView) {
			page := campaignPage{CampaignView: c.CampaignView}
			all = append(all, found{page.Title(p), p.RowBadge(c).Text, p.Path("campaigns", c.ID), "mail"})
		}
	}
	return all, err
}

// findPeople searches for the beginning of addresses and of words in names, if the visitor may read them.
func (p *Page) findPeople(q string, lists []listChoice) (all []found, err error) {
	if !p.May(core.ActionPeopleRead) {
		return nil, nil
	}
	var people []person
	query := p.ofTenant("search", q, "limit", strconv.Itoa(maxFound))
	names := map[string]string{}
	for i := range lists {
		names[lists[i].ID] = lists[i].Name
	}
	for range peopleReads { // a page of the API can be short or empty and still have a next page
		next, err := p.Get("/api/admin/subscribers", query, &people)
		if err != nil {
			if _, _, ok := p.FaultOf(err); ok {
				return all, nil
			}
			return nil, err
		}
		for _, one := range people[:min(len(people), maxFound-len(all))] {
			more := names[one.ListID]
			if one.Status != core.SubscriptionActive { // status as in the list of people
				more += " · " + p.PersonBadge(one.Shown()).Text
			}
			all = append(all, found{p.named(&one), more, p.Path("people", one.ID), "user"})
		}
		if next == "" || len(all) == maxFound {
			break
		}
		query.Set("cursor", next)
		people = nil
	}
	if len(all) > 0 {
		return all, nil
	}
	blocks, err := p.blocksOf(q)
	if len(blocks) > 0 {
		all = append(all, found{q, p.SuppressionKind(blocks[0]).Text, p.suppressedPath(q), "ban"})
	}
	return all, err
}
