package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// tagRoutes adds the routes for tags.
func (o *Console) tagRoutes(t *web.Table) {
	o.get(t, "/tags", core.ActionSegmentRead, o.tags, "The console: tags")
	o.post(t, "/tags", core.ActionPeopleTag, o.changeTags, "The console: create, rename or delete a tag")
	o.post(t, "/people/:id/tags", core.ActionPeopleTag, o.tagPerson, "The console: tag a person")
}

// tagsData holds the data for templates/tags.html.
type tagsData struct {
	Tags []listedTag
	New  field
}

// listedTag is a tag in the table.
type listedTag struct {
	core.Tag
	To, Count string // To is empty if the visitor may not see the people
}

// allTags reads the tenant's tags, sorted by name.
func (p *Page) allTags() ([]core.Tag, error) {
	found, err := all[core.Tag](p, "/api/tags", p.ofTenant("limit", "100"), core.MaxTags)
	slices.SortFunc(found, func(a, b core.Tag) int { return strings.Compare(core.TagKey(a.Name), core.TagKey(b.Name)) })
	return found, err
}

// signupTags returns options for the tag of new subscribers. The first option is no tag.
func (p *Page) signupTags() (options []option, err error) {
	tags, err := p.allTags()
	options = []option{{"", p.T("No tag")}}
	for i := range tags {
		options = append(options, option{tags[i].ID, tags[i].Name})
	}
	return options, err
}

func (o *Console) tags(p *Page) (web.HTML, error) { return p.showTags(View{}) }

func (p *Page) showTags(v View) (web.HTML, error) {
	d := tagsData{New: field{
		Name: "name", Label: p.T("New tag"), Value: p.Form["name"], Required: true, Max: 60, Complete: "off",
	}}
	tags, err := p.allTags()
	if err != nil {
		return web.HTML{}, err
	}
	lists, err := p.peopleLists()
	if err != nil {
		return web.HTML{}, err
	}
	begun := time.Now()
	for i := range tags {
		row := listedTag{Tag: tags[i], Count: "–"}
		if p.May(core.ActionSegmentWrite) && i < countedSegments && time.Since(begun) < countingTime {
			rule := map[string]any{"tag": row.ID}
			if row.Count, err = p.listedCount(map[string]any{"rule": rule}, listIDs(lists)); err != nil {
				return web.HTML{}, err
			}
		}
		if p.May(core.ActionPeopleRead) {
			row.To = p.Path("people") + "?" + (&peopleFilter{Tagged: row.ID}).query().Encode()
		}
		d.Tags = append(d.Tags, row)
	}
	v.Title, v.Data = p.T("Tags"), &d
	v.State = p.T("Labels that your team gives to people. Subscribers don't see them.")
	return p.Show("tags", v)
}

// changeTags creates, renames or deletes a tag.
func (o *Console) changeTags(p *Page) (web.HTML, error) {
	id, notice := p.Form["id"], "saved"
	var err error
	switch {
	case p.Form["do"] == "delete":
		err, notice = p.deleteTag(id), "tag-deleted"
	case id != "":
		err = p.Do(http.MethodPut, "/api/tags/"+url.PathEscape(id), map[string]any{"name": p.Form["name"]}, nil)
	default:
		_, err = p.createTag(p.Form["name"])
	}
	if err == nil {
		return p.Redirect(p.Path("tags"), notice)
	}
	fault, status, ok := p.FaultOf(err)
	if !ok {
		return web.HTML{}, err
	}
	if id != "" {
		delete(p.Form, "name")
	}
	return p.showTags(View{Fault: fault, Status: status})
}

func (p *Page) createTag(name string) (t core.Tag, err error) {
	body := map[string]any{"tenant_id": p.Tenant.ID, "name": name}
	return t, p.Do(http.MethodPost, "/api/tags", body, &t)
}

func (p *Page) deleteTag(id string) error {
	return p.Do(http.MethodDelete, "/api/tags/"+url.PathEscape(id), nil, nil)
}

// tagPerson adds a tag to a person or removes one. If the tag to add doesn't exist, it creates the tag.
func (o *Console) tagPerson(p *Page) (web.HTML, error) {
	return p.personPage(func(d *personData, _ core.Fields) (to, notice string, err error) {
		return p.Path("people", d.ID), "saved", p.changeTag()
	})
}

func (p *Page) changeTag() error {
	if name, ok := p.Form["remove"]; ok {
		return p.Do(http.MethodPatch, p.personPath("tags"), map[string]any{"remove": []string{name}}, nil)
	}
	t, _, err := p.tagNamed(p.Form["tag"])
	if err != nil {
		return err
	}
	return p.Do(http.MethodPatch, p.personPath("tags"), map[string]any{"add": []string{t.Name}}, nil)
}

// tagNamed returns the tag with this name. If there is none, it creates the tag and sets created to true.
func (p *Page) tagNamed(name string) (t core.Tag, created bool, err error) {
	known, err := p.allTags()
	if err != nil {
		return t, false, err
	}
	name = strings.TrimSpace(name)
	same := func(t core.Tag) bool { return core.TagKey(t.Name) == core.TagKey(name) }
	if at := slices.IndexFunc(known, same); at >= 0 {
		return known[at], false, nil
	}
	t, err = p.createTag(name)
	return t, true, err
}
