package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// listRoutes adds the routes for lists.
func (o *Console) listRoutes(t *web.Table) {
	const read, change = core.ActionListRead, core.ActionListSettings
	o.get(t, "/lists", read, o.lists, "The console: lists")
	o.get(t, "/new-list", change, o.newList, "The console: a new list")
	o.post(t, "/new-list", change, o.newList, "The console: create a list")
	o.get(t, "/lists/:id", read, o.list, "The console: a list with its statistics")
	o.get(t, "/lists/:id/left", read, o.listLeft, "The console: the unsubscribe reasons of a list")
	o.get(t, "/lists/:id/hygiene", read, o.hygiene, "The console: the cleanup of a list")
	o.get(t, "/lists/:id/ask-again", core.ActionPeopleChange, o.askAgain,
		"The console: confirm sending reminders")
	o.post(t, "/lists/:id/ask-again", core.ActionPeopleChange, o.askAgain, "The console: send reminders")
	o.get(t, "/lists/:id/unsubscribe-silent", core.ActionPeopleChange, o.unsubscribeSilent,
		"The console: confirm unsubscribing people who didn't answer")
	o.post(t, "/lists/:id/unsubscribe-silent", core.ActionPeopleChange, o.unsubscribeSilent,
		"The console: unsubscribe people who didn't answer")
	o.get(t, "/lists/:id/remove-unconfirmed", core.ActionPeopleChange, o.removeUnconfirmed,
		"The console: confirm removing unconfirmed people")
	o.post(t, "/lists/:id/remove-unconfirmed", core.ActionPeopleChange, o.removeUnconfirmed,
		"The console: remove unconfirmed people")
	o.get(t, "/lists/:id/form", read, o.listForm, "The console: the signup form of a list")
	o.get(t, "/lists/:id/questions", read, o.listQuestions, "The console: the fields of a list")
	o.post(t, "/lists/:id/questions", change, o.listQuestions, "The console: change the fields of a list")
	o.get(t, "/lists/:id/mails", read, o.listMails, "The console: the texts of a list's emails")
	o.post(t, "/lists/:id/mails", change, o.listMails, "The console: change the texts of a list's emails")
	o.get(t, "/lists/:id/settings", change, o.listSettings, "The console: settings of a list")
	o.post(t, "/lists/:id/settings", change, o.listSettings, "The console: change the settings of a list")
	o.get(t, "/lists/:id/issues", change, o.importedIssues, "The console: the imported issues of a list")
	o.post(t, "/lists/:id/issues", change, o.importedIssues, "The console: remove an imported issue")
	o.get(t, "/lists/:id/delete", change, o.listDelete, "The console: confirm deleting a list")
	o.post(t, "/lists/:id/delete", change, o.listDelete, "The console: delete a list")
	o.post(t, "/lists/:id/restore", change, o.restoreList, "The console: restore a deleted list")
}

const apiLists = "/api/admin/newsletter-lists"

// lists shows the tenant's lists with their counts.
func (o *Console) lists(p *Page) (web.HTML, error) {
	var found []core.CountedList
	next, err := p.Get(apiLists, p.ofTenant("limit", "50", "cursor", p.Query("cursor")), &found)
	if err != nil {
		return web.HTML{}, err
	}
	deleted, err := p.deletedLists()
	if err != nil {
		return web.HTML{}, err
	}
	return p.Show("lists", View{
		Title: p.T("Lists"), Data: struct {
			Lists   []core.CountedList
			Pager   pager
			Deleted []core.Deleted
		}{found, p.Pager(next), deleted},
	})
}

// ListBadge returns the badge for a list's state. A regular state has none.
func (p *Page) ListBadge(l core.List) Badge {
	if !l.Active() {
		return Badge{p.T("Inactive"), "warn"}
	}
	return Badge{}
}

// PageLanguages returns the languages for pages and emails to subscribers, after an empty choice with the label none.
func (p *Page) PageLanguages(none string) []option {
	return append([]option{{"", none}}, p.Languages()...)
}

// Languages returns the languages for pages and emails.
func (*Page) Languages() (all []option) {
	for _, lang := range core.Languages {
		all = append(all, option{lang, cmp.Or(languageNames[lang], lang)})
	}
	return all
}

// newList shows and saves the form for a new list.
func (o *Console) newList(p *Page) (web.HTML, error) {
	show := func(f filled, v View) (web.HTML, error) {
		v.Title, v.State = p.T("New list"), p.T("People subscribe to a list. You can send a campaign to one or more "+
			"lists.")
		v.Within = []Link{{p.T("Lists"), p.Path("lists")}}
		v.Data = f
		return p.Show("list-new", v)
	}
	if p.isGet() {
		return show(filled{}, View{})
	}
	body := p.sent("name", "description", "language")
	body["tenant_id"] = p.Tenant.ID
	var made core.List
	if err := p.Do("POST", apiLists, body, &made); err != nil {
		return p.refused(err, show)
	}
	return p.Redirect(p.Path("lists", made.ID), "list-created")
}

// listPage holds the data that all of a list's pages share.
type listPage struct {
	List *core.CountedList
	Tabs []tab
	Form filled
	More any
}

// showList shows a list's page. name is the template, and more its data.
func (p *Page) showList(name string, l *core.CountedList, v View, form filled, more any) (web.HTML, error) {
	v.Title, v.Badge = l.Name, p.ListBadge(l.List)
	v.Within = []Link{{p.T("Lists"), p.Path("lists")}}
	links := []Link{
		{p.T("Statistics"), p.Path("lists", l.ID)},
		{p.T("Unsubscribes"), p.Path("lists", l.ID, "left")},
		{p.T("Cleanup"), p.Path("lists", l.ID, "hygiene")},
		{p.T("Signup form"), p.Path("lists", l.ID, "form")},
		{p.T("Fields"), p.Path("lists", l.ID, "questions")},
		{p.T("Emails"), p.Path("lists", l.ID, "mails")},
	}
	if p.May(core.ActionListSettings) {
		links = append(links, Link{p.T("Settings"), p.Path("lists", l.ID, "settings")})
	}
	v.Data = listPage{l, p.tabsOf(links...), form, more}
	return p.Show(name, v)
}

// theList reads the list in the path. Another tenant's list is reported as not found.
func (p *Page) theList() (l core.CountedList, err error) {
	_, err = p.Get(apiLists+"/"+url.PathEscape(p.Param("id")), nil, &l)
	if err == nil && l.TenantID != p.Tenant.ID {
		err = web.ErrNotFound
	}
	return l, err
}

// changeList sends changes to a list to the API and redirects to one of the list's pages.
func (p *Page) changeList(l *core.CountedList, body any, page string, show func(filled, View) (web.HTML, error)) (
	web.HTML, error,
) {
	if err := p.Do("PUT", apiLists+"/"+l.ID, body, nil); err != nil {
		return p.refused(err, show)
	}
	return p.Redirect(p.Path("lists", l.ID, page), p.savedTexts())
}

// listLinks holds the links to a list's public pages.
type listLinks struct {
	Page, Archive, Feed string
	Issues              string // URL prefix for the slug of an issue
	Code                string // HTML of the signup form for other sites
}

// listForm shows how people can subscribe to a list: its signup page, the embed code and the archive.
func (o *Console) listForm(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	links, err := p.linksOf(&l.List)
	if err != nil {
		return web.HTML{}, err
	}
	return p.showList("list-form", &l, View{}, filled{}, links)
}

// linksOf returns a list's public URLs.
func (p *Page) linksOf(l *core.List) (links listLinks, err error) {
	var form struct {
		HTML    string `json:"html"`
		Archive string `json:"archive_url"`
	}
	if _, err := p.Get(apiLists+"/"+l.ID+"/form", nil, &form); err != nil {
		return links, err
	}
	links.Code = form.HTML
	links.Page = actionOf(form.HTML)
	if links.Archive = form.Archive; links.Archive != "" {
		links.Feed = links.Archive + "feed.xml"
		links.Issues = strings.TrimSuffix(links.Page, "/l/"+l.ID) + l.ArchivePath()
	}
	return links, nil
}

// actionOf returns the action URL of the first form in an HTML fragment.
func actionOf(code string) string {
	z := html.NewTokenizer(strings.NewReader(code))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if t := z.Token(); kind == html.StartTagToken && t.Data == "form" {
			for _, a := range t.Attr {
				if a.Key == "action" {
					return a.Val
				}
			}
		}
	}
	return ""
}

// listSettings shows and saves a list's settings.
func (o *Console) listSettings(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	show := func(f filled, v View) (web.HTML, error) {
		confirm := []option{
			{"", p.T("Server default")},
			{core.ConfirmReceipt, p.T("Only the link in the confirmation email")},
			{core.ConfirmTrusted, p.T("The link, or an API client with “Add and unsubscribe people”")},
			{core.ConfirmLive, p.T("The link, or the website where the person signed up")},
		}
		tags, err := p.signupTags()
		if err != nil {
			return web.HTML{}, err
		}
		help := p.T("Added when a subscriber confirms their signup. Only your team sees tags.")
		if len(tags) == 1 {
			help = p.T("You have no tags yet. Create one under People, Tags.")
		}
		links, err := p.linksOf(&l.List)
		if err != nil {
			return web.HTML{}, err
		}
		soon, err := p.wouldBePublic(&l.List)
		if err != nil {
			return web.HTML{}, err
		}
		return p.showList("list-settings", &l, v, f, struct {
			Confirm, Tags    []option
			TagHelp, Archive string
			Soon             publicSoon
		}{confirm, tags, help, links.Archive, soon})
	}
	if p.isGet() {
		values := recordValues(l.List)
		values["active"] = tickWord(l.Active())
		return show(filled{values: values}, View{})
	}
	body := sentTexts[core.ListInput](p)
	p.sentAddresses(body, "subscribe_redirect_url", "confirm_redirect_url", "unsubscribe_redirect_url")
	for _, name := range []string{"require_mailed_proof", "archive", "sync_removes_absent"} {
		body[name] = p.Form[name] == "1"
	}
	body["status"] = core.ListInactive
	if p.Form["active"] == "1" {
		body["status"] = core.ListActive
	}
	return p.changeList(&l, body, "settings", show)
}

// mostPublic is the maximum number of campaigns that wouldBePublic returns.
const mostPublic = 20

// publicSoon holds what becomes public when a list's archive is enabled.
type publicSoon struct {
	Campaigns  []*campaignPage // sent or being sent, newest first
	More       bool            // whether there may be other campaigns
	Issues     int64           // imported issues
	MoreIssues bool
}

// Any reports whether anything becomes public.
func (s publicSoon) Any() bool { return len(s.Campaigns) > 0 || s.More || s.Issues > 0 }

// wouldBePublic returns what becomes public when a list's archive is enabled.
func (p *Page) wouldBePublic(l *core.List) (soon publicSoon, err error) {
	if l.Archive {
		return soon, nil
	}
	var issues []core.ImportedIssue
	next, err := p.Get(apiLists+"/"+l.ID+"/imported-issues", url.Values{"limit": {"100"}}, &issues)
	if err != nil {
		return soon, err
	}
	soon.Issues, soon.MoreIssues = int64(len(issues)), next != ""
	if !p.May(core.ActionCampaignRead) {
		return soon, nil
	}
	for _, state := range []core.CampaignState{core.CampaignSending, core.CampaignSent} {
		if err := p.addPublic(&soon, l, state); err != nil || soon.More {
			return soon, err
		}
	}
	return soon, nil
}

// addPublic adds campaigns in the given state that the list's archive would show.
func (p *Page) addPublic(soon *publicSoon, l *core.List, state core.CampaignState) error {
	q := p.ofTenant("list_id", l.ID, "state", string(state), "limit", "100")
	for range 5 {
		var found []core.CampaignView
		next, err := p.Get("/api/campaigns", q, &found)
		if err != nil {
			return err
		}
		for i := range found {
			if found[i].Archive != nil && !*found[i].Archive {
				continue
			}
			if len(soon.Campaigns) == mostPublic {
				soon.More = true
				return nil
			}
			c, err := p.campaignOf(found[i].ID)
			if err != nil {
				return err
			}
			soon.Campaigns = append(soon.Campaigns, c)
		}
		if next == "" {
			return nil
		}
		q.Set("cursor", next)
	}
	soon.More = true
	return nil
}

// listDelete asks for confirmation and then deletes a list.
func (o *Console) listDelete(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	show := func(f filled, v View) (web.HTML, error) {
		return p.showList("list-delete", &l, v, f, nil)
	}
	if p.isGet() {
		return show(filled{}, View{})
	}
	if strings.TrimSpace(p.Form["name"]) != l.Name {
		return show(filled{values: p.Form, at: "name", text: p.T("The name doesn't match. Type it exactly as shown.")},
			View{Status: 400})
	}
	if err := p.Do("DELETE", apiLists+"/"+l.ID, nil, nil); err != nil {
		return p.refused(err, show)
	}
	return p.Redirect(p.Path("lists"), "deleted")
}

// firstList creates the list for an upload. If the tenant already has a list with this name, for example because the
// form was submitted twice, firstList uses that list. If the visitor's sign-in is too old for the upload, it returns
// core.ErrProofOld and creates nothing.
func (p *Page) firstList(to *uploadTo) error {
	if err := p.fresh(); err != nil {
		return err
	}
	lists, err := p.peopleLists()
	if err != nil {
		return err
	}
	for i := range lists {
		if lists[i].Name == strings.TrimSpace(to.Name) {
			to.List = lists[i].ID
			return nil
		}
	}
	var made core.List
	err = p.Do(http.MethodPost, apiLists, map[string]any{"tenant_id": p.Tenant.ID, "name": to.Name}, &made)
	to.List = made.ID
	return err
}
