package console

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// templateRoutes adds the routes for templates: the content of API clients' emails, and layouts.
func (o *Console) templateRoutes(t *web.Table) {
	read, write := core.ActionTemplateRead, core.ActionTemplateWrite
	o.get(t, "/looks/templates", read, o.showTemplates, "The console: the templates of a tenant")
	o.post(t, "/looks/templates", write, o.addTemplate, "The console: create a template")
	o.get(t, "/looks/templates/:id", read, o.template, "The console: a template")
	o.post(t, "/looks/templates/:id", write, o.changeTemplate, "The console: change or delete a template")
	o.get(t, "/looks/template-preview", read, o.templatePreview, "The console: preview a template, in a frame")
	o.post(t, "/looks/template-preview", read, o.templatePreview,
		"The console: preview an unsaved template, in a frame")
}

// maxLayouts is the maximum number of layouts that a form offers.
const maxLayouts = 500

// templatesData holds the data for templates/mail-templates.html.
type templatesData struct {
	Templates []core.Template // without bodies
	Pager     pager
	Name      string
	Kinds     []option
	Kind      string
}

func (o *Console) showTemplates(p *Page) (web.HTML, error) { return p.showTemplates(nil) }

func (p *Page) showTemplates(fault error) (web.HTML, error) {
	d := templatesData{Name: p.Form["name"], Kind: p.Form["kind"], Kinds: []option{
		{"frame", p.T("Layout (header and footer)")}, {"mail", p.T("Complete email")},
	}}
	next, err := p.Get("/api/admin/templates", p.ofTenant("limit", "50", "cursor", p.Query("cursor")), &d.Templates)
	if err != nil {
		return web.HTML{}, err
	}
	d.Pager = p.Pager(next)
	v := View{
		Title: p.T("Design"), Data: &d,
		State: p.T("HTML for emails sent through the API, and layouts: a header and footer around the text.") + " " +
			p.T("Campaigns from the visual editor use a theme instead."),
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	return p.Show("mail-templates", v)
}

// firstBody returns the initial body of a new template.
func (p *Page) firstBody(kind string) string {
	if kind == "mail" {
		return "<h1>{{tenant.name}}</h1>\n<p>" + p.T("Hello, this is the first line of your text.") + "</p>\n"
	}
	return `<div style="max-width:600px; margin:0 auto; padding:24px; font-family:Arial, sans-serif; font-size:16px; line-height:1.5">
<p style="font-size:20px; font-weight:bold">{{tenant.name}}</p>
{{content}}
<p style="font-size:13px; color:#63656d">{{tenant.postal_address}}<br>
<a href="{{unsubscribe_url}}" style="color:#63656d">` + p.T("Unsubscribe") + "</a></p>\n</div>\n"
}

func (o *Console) addTemplate(p *Page) (web.HTML, error) {
	body := map[string]any{"tenant_id": p.Tenant.ID, "name": p.Form["name"], "body_html": p.firstBody(p.Form["kind"])}
	var made core.Template
	if err := p.Do(http.MethodPost, "/api/admin/templates", body, &made); err != nil {
		return p.showTemplates(err)
	}
	return p.Redirect(p.Path("looks", "templates", made.ID), "template-created")
}

// placeholder is a name in a template that emails replace with a value.
type placeholder struct {
	Name, Text string
	Used       bool
	Unknown    bool // whether no list has this field
}

// templateData holds the data for templates/mail-template.html.
type templateData struct {
	core.Template
	Layouts []option
	Names   []placeholder
	Uses    []templateUse
	Wrong   map[string]string
}

// templateUse is an object that uses a template, and its URL.
type templateUse struct {
	core.TemplateUse
	To, What string
}

func (o *Console) template(p *Page) (web.HTML, error) { return p.showTemplate(nil) }

func (p *Page) showTemplate(fault error) (web.HTML, error) {
	d := templateData{Wrong: map[string]string{}}
	path := "/api/admin/templates/" + p.ID()
	if _, err := p.Get(path, nil, &d.Template); err != nil {
		return web.HTML{}, err
	}
	v := View{
		Title: d.Name, Data: &d, Frames: true,
		Within: []Link{{p.T("Design"), p.Path("looks")}, {p.T("Templates"), p.Path("looks", "templates")}},
		State:  p.T("Changes don't affect emails already sent or being sent"),
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	if e, is := errors.AsType[*core.Error](fault); is && e.Code == "template_in_use" {
		v.Fault = p.T("This template is still in use. First remove it from everything listed under “Used by”.")
	} else if is && p.Form["do"] == "" {
		d.Wrong[e.Field] = v.Fault
		d.Name, d.Layout, d.BodyHTML, d.BodyText = p.Form["name"], p.Form["layout"], p.Form["body_html"], p.Form["body_text"]
	}
	if err := p.layoutsOf(&d); err != nil {
		return web.HTML{}, err
	}
	var uses []core.TemplateUse
	if _, err := p.Get(path+"/uses", nil, &uses); err != nil {
		return web.HTML{}, err
	}
	for _, u := range uses {
		d.Uses = append(d.Uses, p.templateUse(u))
	}
	var err error
	d.Names, err = p.placeholders(d.BodyHTML + d.BodyText)
	if err != nil {
		return web.HTML{}, err
	}
	return p.Show("mail-template", v)
}

// layoutsOf sets the layouts that a template can use.
func (p *Page) layoutsOf(d *templateData) error {
	found, err := all[core.Template](p, "/api/admin/templates", p.ofTenant("limit", "100"), maxLayouts)
	d.Layouts = []option{{"", p.T("No layout")}}
	for _, t := range found {
		if t.ID != d.ID {
			d.Layouts = append(d.Layouts, option{t.Name, t.Name})
		}
	}
	if !slices.ContainsFunc(d.Layouts, func(l option) bool { return l.Value == d.Layout }) {
		d.Layouts = append(d.Layouts, option{d.Layout, p.T("{{name}} (deleted)", "name", d.Layout)})
	}
	return err
}

func (p *Page) templateUse(u core.TemplateUse) templateUse {
	out := templateUse{TemplateUse: u}
	switch u.Kind {
	case "template":
		out.What, out.To = p.T("Template"), p.Path("looks", "templates", u.ID)
	case "campaign":
		out.What, out.To = p.T("Campaign"), p.Path("campaigns", u.ID)
	default:
		out.What, out.To = p.T("Scheduled send"), p.Path("campaigns", u.CampaignID)
	}
	return out
}

// named matches the names in placeholders and conditions. Saving rejects everything that isn't a valid placeholder.
var named = regexp.MustCompile(`{[{%][^}]*?\b((?:preferences|tenant|list|job)\.\w+|content|email|unsubscribe_url|preferences_url|view_url)\b`)

// placeholders returns the placeholders that a template may use, starting with those it already uses.
func (p *Page) placeholders(bodies string) (names []placeholder, err error) {
	names = []placeholder{
		{Name: "content", Text: p.T("In layouts: the wrapped content")},
		{Name: "email", Text: p.T("Subscriber's email address")},
		{Name: "unsubscribe_url", Text: p.T("Unsubscribe link")},
		{Name: "preferences_url", Text: p.T("Preference page link")},
		{Name: "view_url", Text: p.T("Web version link")},
		{Name: "list.name", Text: p.T("List name")},
		{Name: "tenant.name", Text: p.T("Organization name")},
		{Name: "tenant.postal_address", Text: p.T("Postal address")},
		{Name: "job.subject", Text: p.T("Email subject")},
	}
	lists, err := p.lists(nil)
	if err != nil {
		return nil, err
	}
	add := func(n placeholder) {
		if !slices.ContainsFunc(names, func(o placeholder) bool { return o.Name == n.Name }) {
			names = append(names, n)
		}
	}
	for i := range lists {
		for _, f := range lists[i].Fields {
			text := p.T("Field: {{question}}", "question", f.Label)
			add(placeholder{Name: "preferences." + f.Name, Text: text})
		}
	}
	used := map[string]bool{}
	for _, m := range named.FindAllStringSubmatch(bodies, -1) {
		if used[m[1]] = true; strings.HasPrefix(m[1], "preferences.") {
			add(placeholder{
				Name: m[1], Text: p.T("None of your lists has this field, so it may be blank."),
				Unknown: true,
			})
		}
	}
	for i := range names {
		names[i].Used = used[names[i].Name]
	}
	slices.SortStableFunc(names, func(a, b placeholder) int {
		switch {
		case a.Used == b.Used:
			return 0
		case a.Used:
			return -1
		}
		return 1
	})
	return names, nil
}

// templateBody returns the API request body for a submitted template form.
func (p *Page) templateBody() map[string]any {
	body := p.sent("name", "layout", "body_html", "body_text")
	for name, value := range body {
		body[name] = strings.ReplaceAll(value.(string), "\r\n", "\n")
	}
	return body
}

// changeTemplate saves a template, or deletes one that isn't in use.
func (o *Console) changeTemplate(p *Page) (web.HTML, error) {
	path := "/api/admin/templates/" + p.ID()
	if p.Form["do"] == "delete" {
		if err := p.Do(http.MethodDelete, path, nil, nil); err != nil {
			return p.showTemplate(err)
		}
		return p.Redirect(p.Path("looks", "templates"), "deleted")
	}
	if err := p.Do(http.MethodPut, path, p.templateBody(), nil); err != nil {
		return p.showTemplate(err)
	}
	return p.Redirect(p.Path("looks", "templates", p.ID()), "saved")
}

// templatePreview renders a template's email for a frame: the stored template (id) or the one in the form.
func (o *Console) templatePreview(p *Page) (web.HTML, error) {
	path, body := "/api/admin/templates/"+url.PathEscape(p.Query("id"))+"/preview", map[string]any(nil)
	if p.IsForm() {
		path, body = "/api/admin/template-preview", p.templateBody()
		body["tenant_id"] = p.Tenant.ID
		if body["name"] == "" {
			delete(body, "name")
		}
	}
	var mail shownMail
	err := p.Do(http.MethodPost, path, body, &mail)
	if text, _, ok := p.FaultOf(err); ok {
		mail, err = shownMail{Text: text}, nil
	}
	if err != nil {
		return web.HTML{}, err
	}
	if p.Query("view") == "text" {
		mail.HTML = ""
	}
	return p.showMail(mail)
}
