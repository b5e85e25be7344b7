package console

import (
	"net/http"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// importedPosts holds the posts of an export for the page of the import.
type importedPosts struct {
	Shown        []core.ImportedPost // the first posts
	All          int64
	Skipped      int64
	Drafts, Paid bool  // whether there are drafts, and posts for paid subscribers
	Issues       int64 // number of posts that are issues
	Second       bool  // whether another person has to import them
}

// shownPosts is the number of posts on the page of an import.
const shownPosts = 200

// postsOf returns the posts of an import, or nil if it has none or they are no longer stored.
func (p *Page) postsOf(j *core.ImportJob) *importedPosts {
	var all []core.ImportedPost
	if j.Posts == 0 {
		return nil
	}
	if _, err := p.Get(p.importPath("posts"), nil, &all); err != nil || len(all) == 0 {
		return nil
	}
	posts := &importedPosts{All: int64(len(all)), Skipped: j.PostsSkipped, Shown: all[:min(len(all), shownPosts)]}
	posts.Second = p.Tenant.AsksSecondPerson() && j.CreatedBy == core.UserActor(p.Who.User.ID)
	for i := range all {
		posts.Drafts, posts.Paid = posts.Drafts || all[i].Draft, posts.Paid || all[i].Paid
		if all[i].Issue != "" {
			posts.Issues++
		}
	}
	return posts
}

// importPosts adds the posts of an export to the archive, or removes them.
func (o *Console) importPosts(p *Page) (web.HTML, error) {
	var j core.ImportJob
	if _, err := p.Get(p.importPath(), nil, &j); err != nil {
		return web.HTML{}, err
	}
	if j.TenantID != p.Tenant.ID {
		return web.HTML{}, web.ErrNotFound
	}
	path, in := p.importPath("posts"), any(core.PostsInput{Drafts: p.Form["drafts"] != "", Paid: p.Form["paid"] != ""})
	if p.Form["do"] == "remove" {
		path, in = p.importPath("posts", "undo"), nil
	}
	if err := p.Do(http.MethodPost, path, in, nil); err != nil && core.KindOf(err) != core.Conflict {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("imports", j.ID), "")
}
