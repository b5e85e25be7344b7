package console

import (
	"net/http"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/page"
)

// shell holds the data for the layout around a page.
type shell struct {
	Style   string
	Font    string
	Scripts []string
	Home    string // URL of the overview
	Name    string // name of the tenant
	Initial string // initials of Name
	Nav     []navItem
	Account string
	Logout  string
	Person  string // name of the signed-in user
	Switch  bool   // whether the visitor may have other tenants to switch to

	Operation string // URL of the pages for server administrators; empty for other users
	Undo      []undoRow
	Folder    bool // whether emails aren't sent because there is no mail server
	SetUp     bool // whether to link to the page where a server administrator sets one up
}

// navItem is a navigation entry.
type navItem struct {
	Text, To, Icon string
	Here           bool
	Second         bool // whether it starts the second group
	Tab            bool // whether it is in the tab bar on phones
}

// areas holds a tenant's navigation entries.
var areas = []struct {
	text, path, icon string
	action           core.Action
	second, tab      bool
}{
	{"Overview", "", "house", core.ActionListRead, false, true},
	{"Campaigns", "campaigns", "mail", core.ActionFiguresRead, false, true},
	{"People", "people", "users", core.ActionPeopleMasked, false, true},
	{"Lists", "lists", "list", core.ActionListRead, false, true},
	{"Design", "looks", "palette", core.ActionTemplateRead, true, false},
	{"Settings", "settings", "settings", core.ActionTenantSettings, false, false},
}

// areaOf maps the first segment of a path to its navigation area if their names differ.
var areaOf = map[string]string{
	"new-campaign": "campaigns", "new-person": "people", "new-import": "people", "imports": "people",
	"people-export": "people", "suppressions-export": "people", "suppressions": "people",
	"segments": "people", "new-segment": "people", "tags": "people",
	"bulk": "people", "new-bulk": "people",
	"new-list": "lists",
}

func (p *Page) shell(v *View) shell {
	s := shell{
		Style: styleAddress(p.Tenant.BrandColor), Font: fontAddress, Scripts: scripts, Home: p.Path(),
		Name:    "newsletterd",
		Account: page.AccountPath, Logout: page.LogoutPath, Person: p.Me(),
	}
	if p.Tenant.ID != "" {
		s.Name = p.Tenant.Name
		if p.Tenant.BrandName != "" {
			s.Name = p.Tenant.BrandName
		}
		s.Nav = p.navigation()
		s.Undo = p.undoable()
	}
	if p.IsOperator() {
		s.Operation = OperatorPath
	}
	if p.inOperation() {
		s.Name, s.Home, s.Nav = p.T("Server"), OperatorPath, p.operatorNavigation()
	}
	s.Switch = p.IsOperator() || len(p.Who.User.Roles) > 1
	if p.inOwn() {
		s.Name, s.Home, s.Nav = s.Person, OwnPath, p.ownNavigation(v)
		s.Switch = p.caller.HasRole() // link back to the tenant, even if there is only one
	}
	s.Initial = initials(s.Name)
	s.Folder = !v.Part && !v.Plain && p.folder()
	s.SetUp = p.IsOperator() && p.Request.URL.Path != OperatorPath+mailServerPath
	return s
}

func (p *Page) navigation() (items []navItem) {
	area, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(p.Request.URL.Path, p.Path()), "/"), "/")
	if other, ok := areaOf[area]; ok {
		area = other
	}
	for _, a := range areas {
		if !p.May(a.action) {
			continue
		}
		to := p.Path()
		if a.path != "" {
			to += "/" + a.path
		}
		items = append(items, navItem{
			Text: p.T(a.text), To: to, Icon: a.icon, Here: area == a.path, Second: a.second, Tab: a.tab,
		})
	}
	return items
}

// initials returns the first letters of a name's first two words.
func initials(name string) string {
	out := ""
	for _, word := range strings.Fields(name) {
		for _, r := range word {
			out += strings.ToUpper(string(r))
			break
		}
		if len([]rune(out)) == 2 {
			break
		}
	}
	return out
}

// IsForm reports whether the page responds to a submitted form.
func (p *Page) IsForm() bool { return p.Request.Method == http.MethodPost }
