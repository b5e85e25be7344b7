package segments

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
)

const allTags = "/api/tags"

// tagInput holds the field that a caller can set on a tag.
type tagInput struct {
	Name string `json:"name" is:"required" max:"60" about:"Unique, ignoring case; without commas and semicolons"`
}

// newTag is the body of POST /api/tags.
type newTag struct {
	TenantID string `json:"tenant_id" like:"tenant"`
	tagInput
}

func (r *Room) tagRoutes(t *web.Table) {
	tag := core.ActionPeopleTag
	rows := web.Crud(t, allTags, "Tag", "a tag", "tags", web.Resource{
		Find: r.findTag, Missing: core.ErrTagNotFound, Who: web.Sent,
		List:   web.List(r.listTags, func(t core.Tag) string { return t.ID }),
		Create: web.JSON(r.createTag).Fails(core.NotFound, core.Conflict), Show: web.Path(r.showTag),
		Update: web.JSON(r.renameTag).Fails(core.Conflict), Remove: web.Path(r.removeTag).Fails(core.Conflict),
		May: web.Rights{Read: core.ActionSegmentRead, Create: tag, Change: tag, Remove: tag},
	})
	named := []web.Refusal{
		web.Refused("name", "Empty, too long, an ID, or contains control characters, a comma or a semicolon"),
		web.ThereIsOne,
	}
	rows.List.Refuses(web.TenantNamed)
	rows.Create.Example(web.Object{"tenant_id": web.ExampleID, "name": "Press"}).
		Refuses(named...).
		Refuses(web.TenantNamed, web.Clash("The tenant has reached its limit for tags"))
	rows.Update.Example(web.Object{"name": "Regular customer"}).Refuses(named...)
	rows.Remove.Refuses(web.Clashing("tag_in_use", "", "A segment or a list uses it"))
}

type foundTag struct{}

// findTag returns a 404 error if the caller may not see the tag.
func (r *Room) findTag(c *web.Call) error {
	t, err := r.Store.Tag(c, c.ID())
	c.Keep(foundTag{}, &t)
	return web.OwnRecord(c, t.TenantID, core.ActionSegmentRead, err, core.ErrTagNotFound)
}

func (r *Room) listTags(c *web.Call, in web.TenantFilter, page core.Page) ([]core.Tag, error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return nil, err
	}
	return r.Store.Tags(c, tenant, page)
}

func (r *Room) createTag(c *web.Call, in newTag) (t core.Tag, err error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err == nil {
		t, err = core.NewTag(tenant, in.Name, c.Now)
	}
	if err != nil {
		return t, err
	}
	return t, web.UnknownTenant(r.Store.AddTag(c, t, web.Actor(c)))
}

func (r *Room) showTag(c *web.Call, _ string) (core.Tag, error) {
	return *c.Value(foundTag{}).(*core.Tag), nil
}

func (r *Room) renameTag(c *web.Call, in tagInput) (core.Tag, error) {
	return r.Store.RenameTag(c, c.ID(), in.Name, web.Actor(c), c.Now)
}

func (r *Room) removeTag(c *web.Call, id string) (web.None, error) {
	return web.None{}, r.Store.DeleteTag(c, id, web.Actor(c), c.Now)
}
