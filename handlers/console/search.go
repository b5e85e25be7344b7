package console

import (
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// searchRoutes are the search over all of a tenant.
func (o *Console) searchRoutes(t *web.Table) {
	o.get(t, "/search", core.ActionListRead, o.search, "The console: search people, campaigns, lists and pages")
}

// found is one thing that a search has found.
type found struct{ Text, More, To, Icon string }

// maxFound is how many of each kind a search shows.
const maxFound = 6

// search looks for people by the beginning of their address, for campaigns and lists by a part of their name, and for
// pages by theirs.
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
	lists, err := p.lists(nil)
	if err != nil {
		return nil, err
	}
	shown := 0
	for i := range lists {
		if l := &lists[i]; shown < maxFound && strings.Contains(strings.ToLower(l.Name), folded) {
			shown++
			all = append(all, found{l.Name, p.N("one reader|{{n}} readers", l.Counts.Mailable), p.Path("lists", l.ID), "list"})
		}
	}
	campaigns, err := p.findCampaigns(q)
	if err != nil {
		return nil, err
	}
	people, err := p.findPeople(q, lists)
	return append(append(all, campaigns...), people...), err
}

func (p *Page) findCampaigns(q string) (all []found, err error) {
	const most = 200 // characters that the API takes
	if len([]rune(q)) > most {
		return nil, nil
	}
	var campaigns []core.CampaignView
	query := p.ofTenant("q", q, "limit", strconv.Itoa(maxFound))
	if _, err = p.Get("/api/campaigns", query, &campaigns); err != nil {
		return nil, err
	}
	for _, c := range campaigns {
		if p.Opens(c) {
			page := campaignPage{CampaignView: c}
			all = append(all, found{page.Title(p), p.CampaignBadge(c.State).Text, p.Path("campaigns", c.ID), "mail"})
		}
	}
	return all, nil
}

// findPeople looks for addresses, for those who may read them. What can't begin an address finds no one.
func (p *Page) findPeople(q string, lists []listChoice) (all []found, err error) {
	if !p.May(core.ActionPeopleRead) || strings.ContainsAny(q, " \t") {
		return nil, nil
	}
	var people []struct {
		ID     string `json:"id"`
		Email  string `json:"email"`
		ListID string `json:"list_id"`
	}
	query := p.ofTenant("email_prefix", q, "limit", strconv.Itoa(maxFound))
	if _, err = p.Get("/api/admin/subscribers", query, &people); err != nil {
		if _, _, ok := p.FaultOf(err); ok {
			return nil, nil
		}
		return nil, err
	}
	names := map[string]string{}
	for i := range lists {
		names[lists[i].ID] = lists[i].Name
	}
	for _, one := range people {
		all = append(all, found{one.Email, names[one.ListID], p.Path("people", one.ID), "user"})
	}
	return all, nil
}
