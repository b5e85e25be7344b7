package tenants

import (
	"errors"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/store"
)

// templates serves /api/admin/templates.
type templates struct{ store *store.Store }

// TemplateInput is the body for creating or changing a template. Missing fields stay unchanged.
type TemplateInput struct {
	TenantID string  `json:"tenant_id" like:"tenant"` // only for creation
	Name     *string `json:"name" like:"template_name" min:"1" max:"100"`
	Layout   *string `json:"layout"`
	BodyHTML *string `json:"body_html"`
	BodyText *string `json:"body_text"`
}

// templateRoutes adds the routes for templates and layouts.
func (r *Room) templateRoutes(t *web.Table) {
	a := templates{r.Store}
	const all = "/api/admin/templates"
	read, write := core.ActionTemplateRead, core.ActionTemplateWrite
	rows := web.Crud(t, all, "Template", "a template", "templates, without their bodies", web.Resource{
		Find: a.find, Missing: web.ErrNotFound, List: web.List(a.list, templateHead.key),
		Create: web.JSON(a.create).MaxBody(maxTemplate).Fails(core.NotFound, core.Conflict), Show: web.Path(a.show),
		Update: web.JSON(a.update).MaxBody(maxTemplate).Fails(core.Conflict),
		Remove: web.Query(a.remove).Fails(core.Conflict),
		May:    web.Rights{Read: read, Create: write, Change: write, Remove: write},
	})
	rows.List.Refuses(web.TenantNamed)
	rows.Create.Requires("name").
		Limits(hasBody).
		Example(web.Object{
			"tenant_id": web.ExampleID, "name": "frame", "body_html": "<h1>Acme</h1>{{content}}",
			"body_text": "Acme\n\n{{content}}",
		}).
		Refuses(saidByTemplate...)
	rows.Update.Example(web.Object{"body_html": "<h1>Acme Gardens</h1>{{content}}"}).
		Refuses(saidByTemplate...)
	rows.Remove.Refuses(web.Clashing("template_in_use", "", "The template is in use; set force to delete it anyway"))
	t.Add("GET", all+"/:id/uses", web.Admin(read), web.Member, web.Path(a.uses).Find(a.find).Missing(web.ErrNotFound),
		"List where a template is used").Named("listTemplateUses")
	t.Add("POST", "/api/admin/template-preview", web.Admin(read), web.Member,
		web.JSON(a.try).MaxBody(maxTemplate).Fails(core.NotFound, core.Conflict),
		"Render an unsaved template with its layout").Named("tryTemplate").
		Example(web.Object{"tenant_id": web.ExampleID, "layout": "", "body_html": "<p>Hello {{email}}</p>"}).
		Refuses(saidByTemplate...)
	t.Add("POST", all+"/:id/preview", web.Admin(read), web.Member,
		web.Path(a.preview).Find(a.find).Missing(web.ErrNotFound).Fails(core.Conflict),
		"Render a template with its layout").Named("previewTemplate").
		Refuses(web.Clashing("layout_missing", "", "The layout isn't one of the tenant's templates"))
}

// hasBody holds the OpenAPI limits for a new template, which needs HTML or text.
var hasBody = web.Never(web.Never(
	web.Where(web.Object{"body_html": web.Filled}), web.Where(web.Object{"body_text": web.Filled}),
))

// maxTemplate is the maximum size of a template. Each of its two bodies may take up a fifth.
const maxTemplate = 5 * web.MiB

func (in *TemplateInput) record() core.TemplateInput {
	return core.TemplateInput{Name: in.Name, Layout: in.Layout, BodyHTML: in.BodyHTML, BodyText: in.BodyText}
}

// templateHead is a template without its bodies.
type templateHead struct {
	ID        string       `json:"id"`
	TenantID  string       `json:"tenant_id"`
	Name      string       `json:"name"`
	Layout    string       `json:"layout,omitempty"`
	CreatedAt core.Instant `json:"created_at"`
	UpdatedAt core.Instant `json:"updated_at"`
}

func (t templateHead) key() string { return t.Name }

func (a templates) find(c *web.Call) error {
	t, err := a.store.TemplateByID(c, c.ID())
	return web.OwnRecord(c, t.TenantID, core.ActionTemplateRead, err, web.ErrNotFound)
}

func (a templates) list(c *web.Call, in web.TenantFilter, page core.Page) ([]templateHead, error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return nil, err
	}
	found, err := a.store.TemplateHeads(c, tenant, page)
	heads := make([]templateHead, len(found))
	for i, t := range found {
		heads[i] = templateHead{t.ID, t.TenantID, t.Name, t.Layout, t.CreatedAt, t.UpdatedAt}
	}
	return heads, err
}

func (a templates) create(c *web.Call, in TemplateInput) (t core.Template, err error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return t, err
	}
	if t, err = core.NewTemplate(tenant, in.record(), c.Now); err == nil {
		err = memberFault(drafts.TryTemplate(&t))
	}
	if err != nil {
		return t, err
	}
	return t, web.UnknownTenant(a.store.AddTemplate(c, t, web.Actor(c)))
}

func (a templates) show(c *web.Call, id string) (core.Template, error) {
	return a.store.TemplateByID(c, id)
}

func (a templates) update(c *web.Call, in TemplateInput) (core.Template, error) {
	return a.store.UpdateTemplate(c, c.ID(), web.Actor(c), func(t *core.Template) error {
		if err := t.Change(in.record(), c.Now); err != nil {
			return err
		}
		return memberFault(drafts.TryTemplate(t))
	})
}

// memberFault gives an Invalid error about content the member service's error code.
func memberFault(err error) error {
	fault, ok := errors.AsType[*core.Error](err)
	if !ok || fault.Kind != core.Invalid {
		return err
	}
	again := fault.With(err)
	again.Code = "invalid_request"
	return again
}

// templateRemoval is the query of a request to delete a template.
type templateRemoval struct {
	Force bool `query:"force" about:"Delete the template even if a record uses it"`
}

func (a templates) remove(c *web.Call, in templateRemoval) (web.None, error) {
	return web.None{}, a.store.DeleteTemplate(c, c.ID(), in.Force, web.Actor(c), c.Now)
}

// maxTemplateUses is the maximum number of uses listed in a response, for each kind.
const maxTemplateUses = 50

func (a templates) uses(c *web.Call, id string) ([]core.TemplateUse, error) {
	uses, err := a.store.TemplateUses(c, id, maxTemplateUses)
	return append([]core.TemplateUse{}, uses...), err
}

func (a templates) preview(c *web.Call, id string) (out drafts.Preview, err error) {
	t, err := a.store.TemplateByID(c, id)
	if err != nil {
		return out, err
	}
	return a.rendered(c, &t)
}

// try renders a template without storing it. The template needs no name.
func (a templates) try(c *web.Call, in TemplateInput) (out drafts.Preview, err error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return out, err
	}
	if in.Name == nil {
		in.Name = new("Template")
	}
	t, err := core.NewTemplate(tenant, in.record(), c.Now)
	if err == nil {
		err = memberFault(drafts.TryTemplate(&t))
	}
	if err != nil {
		return out, err
	}
	out, err = a.rendered(c, &t)
	return out, web.UnknownTenant(err)
}

// rendered renders a sample email with a template and its layout.
func (a templates) rendered(c *web.Call, t *core.Template) (out drafts.Preview, err error) {
	content := drafts.SampleContent(t)
	if content.Tenant, err = a.store.Tenant(c, t.TenantID); err != nil {
		return out, err
	}
	if t.Layout != "" {
		content.Layout, err = a.store.Template(c, t.TenantID, t.Layout)
		if core.KindOf(err) == core.NotFound {
			err = core.Conflictf("layout_missing", "layout: template %s not found. Choose a template of the tenant.",
				t.Layout)
		}
		if err != nil {
			return out, err
		}
	}
	bulk, err := mail.CompileShown(t.ID, &content)
	if err != nil {
		return out, err
	}
	r := drafts.SampleRecipient(c.PublicURL(), c.Now)
	out.Subject, out.Text, out.HTML, err = bulk.Parts(&r)
	return out, err
}

// saidByTemplate holds the refusals for a template's content.
var saidByTemplate = []web.Refusal{
	web.TenantNamed, web.FixedTenant, web.Refused("layout", "No other template has this name"),
	web.Refused("body_html", "The placeholders are malformed, or the template would have no body"),
	web.Refused("body_text", "The placeholders are malformed"),
	web.Refused("subject", "The placeholders are malformed"), web.ThereIsOne,
}
