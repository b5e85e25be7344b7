package console

import (
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// searchRoutes adds the routes for searching a tenant.
func (o *Console) searchRoutes(t *web.Table) {
	o.get(t, "/search", core.ActionListRead, o.search, "The console: search people, campaigns, lists and pages")
}

// found is a search result.
type found struct{ Text, More, To, Icon string }

// maxFound is the maximum number of results of each kind.
const maxFound = 6

// search finds people by the beginning of their address or of a word in their name, campaigns and lists by part of
// their name, and pages and their actions by name or topic.
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
	var byWord []found // results by topic, which come after those by name
	for _, one := range p.pagesBelow() {
		// Match only the beginnings of words: Return opens the first result, and "te" should find the team, not
		// "Invite".
		switch {
		case strings.Contains(" "+strings.ToLower(one.Text), " "+folded):
			all = append(all, one.found)
		case strings.Contains(" "+strings.ToLower(one.words), " "+folded):
			byWord = append(byWord, one.found)
		}
	}
	all = append(all, byWord...)
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

// foundPage is a page, or an action on one.
type foundPage struct {
	action core.Action
	found
	words string // topics, in addition to its name
}

// pagesBelow returns the pages below the navigation that the visitor may open, and actions on them, so that the search
// can link to them directly.
func (p *Page) pagesBelow() []foundPage {
	task, page := p.T("Action"), p.T("Page")
	settings := func(text, words string, action core.Action, below ...string) foundPage {
		to := p.Path(append([]string{"settings"}, below...)...)
		return foundPage{action, found{text, page, to, "settings"}, words}
	}
	all := []foundPage{
		{core.ActionCampaignWrite, found{p.T("New campaign"), task, p.Path("new-campaign"), "plus"}, ""},
		{core.ActionPeopleImport, found{p.T("Import people"), task, p.Path("new-import"), "upload"}, "csv"},
		{core.ActionPeopleAdd, found{p.T("Add person"), task, p.Path("new-person"), "plus"}, ""},
		{core.ActionListSettings, found{p.T("New list"), task, p.Path("new-list"), "plus"}, ""},
		{core.ActionTeamManage, found{p.T("Invite person"), task, p.Path("settings", "team"), "send"}, ""},
		{
			core.ActionSuppressionManage,
			found{p.T("Suppression list"), page, p.Path("suppressions"), "ban"},
			p.T("blocked bounces complaints"),
		},
		{core.ActionPeopleImport, found{p.T("Imports"), page, p.Path("imports"), "upload"}, "csv"},
		{
			core.ActionTemplateRead,
			found{p.T("Themes"), page, p.Path("looks", "themes"), "palette"},
			p.T("colors fonts"),
		},
		{core.ActionTemplateRead, found{p.T("Templates"), page, p.Path("looks", "templates"), "palette"}, ""},
		{core.ActionListSettings, found{p.T("Public archive"), page, p.Path("lists"), "list"}, p.T("website feed rss")},
		settings(p.T("Brand and sender"), p.T("logo colors postal address tracking time zone approval privacy"),
			core.ActionTenantSettings),
		settings(p.T("Emails"), p.T("confirmation welcome unsubscribe texts"), core.ActionTenantSettings, "mails"),
		settings(p.T("Sender domains"), "dkim spf dmarc dns", core.ActionDomainPropose, "domains"),
		settings(p.T("Mail server"), p.T("smtp relay bounces complaints"), core.ActionTenantSettings, "relay"),
		settings(p.T("Team"), p.T("roles users permissions"), core.ActionTeamRead, "team"),
		settings(p.T("Webhooks"), "", core.ActionEndpointManage, "endpoints"),
		settings(p.T("API clients"), p.T("api tokens keys oauth"), core.ActionClientManage, "clients"),
		{
			core.ActionListRead,
			found{p.T("API reference"), page, "/openapi", "file-code"},
			p.T("documentation docs openapi developers"),
		},
		settings(p.T("Audit log"), p.T("history changes"), core.ActionAuditRead, "audit"),
	}
	if p.IsOperator() {
		to := operatorPath("providers")
		all = append(all, foundPage{
			core.ActionListRead, found{p.T("Mail providers"), page, to, "server"}, p.T("bounces complaints webhooks"),
		})
	}
	return slices.DeleteFunc(all, func(one foundPage) bool { return !p.May(one.action) })
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

// findPeople finds people by the beginning of their address or of a word in their name, if the visitor may read
// addresses.
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
	for range peopleReads { // an API page can be short or empty even if more pages follow
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
