package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// importedPosts holds the posts from an export, for the page of the import.
type importedPosts struct {
	Shown   []core.ImportedPost // the first posts
	All     int64
	Skipped int64
	More    bool   // whether there are posts that are not shown
	Issues  int64  // number of posts that are issues
	Second  bool   // whether a different person must import them
	Moves   bool   // whether their old URLs redirect to the issues
	Archive string // URL of the archive; empty: not public
	Below   string // URL prefix for the slug of an issue; empty: not public
	Site    field  // input for the URL of the old site
	Paid    bool   // whether there are posts for paid subscribers
	Adds    bool   // whether the page has a form for importing posts or changing the URL of their site
	Choose  bool   // whether posts can be chosen

	Copies core.PictureCounts
	Failed []core.ImportedPicture // the first images that could not be copied
}

// Tried returns the number of images that were copied or failed to copy.
func (b *importedPosts) Tried() int64 { return b.Copies.Stored + b.Copies.Failed }

// Wanted returns the number of images to copy.
func (b *importedPosts) Wanted() int64 { return b.Tried() + b.Copies.Waiting }

// Limits on the posts, and on the images that couldn't be copied, on an import's page.
const (
	shownPosts    = 500
	shownPictures = 50
)

// postsOf returns an import's posts, or nil if it has none or they are no longer stored.
func (p *Page) postsOf(d *importData) *importedPosts {
	j := &d.ImportJob
	var all []core.ImportedPost
	if j.Posts == 0 {
		return nil
	}
	if _, err := p.Get(p.importPath("posts"), nil, &all); err != nil || len(all) == 0 {
		return nil
	}
	posts := &importedPosts{All: int64(len(all)), Skipped: j.PostsSkipped, Shown: all[:min(len(all), shownPosts)]}
	posts.Moves = core.OldPath(j.Tool, "a") != ""
	posts.Second = p.Tenant.AsksSecondPerson() && j.CreatedBy == core.UserActor(p.Who.User.ID)
	posts.More = len(all) > shownPosts
	for i := range all {
		posts.Paid = posts.Paid || all[i].Paid
		if all[i].Issue != "" {
			posts.Issues++
		}
	}
	if posts.Issues > 0 {
		links, err := p.linksOf(&d.List)
		if err != nil {
			p.LogError(err) // show the page without the link
		}
		posts.Archive, posts.Below = links.Archive, links.Issues
	}
	posts.Site = p.siteField(d)
	posts.Copies = d.Copies
	posts.Adds = !posts.Second && !d.copying()
	posts.Choose = posts.Adds && posts.Issues < posts.All
	if d.Copies.Failed > 0 {
		q := url.Values{"state": {core.PictureFailed}, "limit": {strconv.Itoa(shownPictures)}}
		if _, err := p.Get(p.importPath("images"), q, &posts.Failed); err != nil {
			return nil
		}
	}
	return posts
}

// siteField returns the input for the URL of the site that an import's posts come from.
func (p *Page) siteField(d *importData) field {
	f := field{
		Name: "site", Label: p.T("URL of your old site"), Value: string(d.Site), Type: "text", Mode: "url", Max: 2000,
		Placeholder: "https://blog.example.org",
		Hint:        p.T("Links from one post to another will lead to the imported issues."),
	}
	if d.RelativePosts > 0 {
		f.Hint = p.N("1 post has links or images that lack this URL.|{{n}} posts have links or images that lack this "+
			"URL.", d.RelativePosts) + " " + p.T("Enter it so that these images are copied.") + " " + f.Hint
	}
	if v, ok := p.Form["site"]; ok {
		f.Value = v
	}
	return f
}

// Polls reports whether an import's page regularly reloads its state. It doesn't while it shows a form, because
// reloading would discard the visitor's input.
func (d *importData) Polls() bool { return d.Live || d.copying() }

// copying reports whether the page shows the progress of copying images.
func (d *importData) copying() bool { return !d.Open && d.Copies.Waiting > 0 }

// PictureReason describes why an image couldn't be copied.
func (p *Page) PictureReason(reason string) string {
	switch reason {
	case core.PictureNotFound:
		return p.T("Not found")
	case core.PictureBadStatus:
		return p.T("The server reported an error")
	case core.PictureTooLarge:
		return p.T("Too large")
	case core.PictureNotImage:
		return p.T("Not an image")
	case core.PictureUnsupported:
		return p.T("Unsupported image format")
	case core.PictureDamaged:
		return p.T("Damaged file")
	case core.PictureNotPublic:
		return p.T("The URL isn't public")
	case core.PictureRedirects:
		return p.T("Too many redirects")
	case core.PictureBadAddress:
		return p.T("Invalid URL")
	case core.PictureNoSite:
		return p.T("The URL of your old site is missing")
	case core.PictureStorageFull:
		return p.T("Your image storage is full")
	}
	return p.T("The server didn't respond")
}

// retryPictures retries the images that couldn't be copied.
func (o *Console) retryPictures(p *Page) (web.HTML, error) {
	var j struct {
		core.ImportJob
		Copies core.PictureCounts `json:"image_copies"`
	}
	if _, err := p.Get(p.importPath(), nil, &j); err != nil {
		return web.HTML{}, err
	}
	if j.TenantID != p.Tenant.ID {
		return web.HTML{}, web.ErrNotFound
	}
	err := p.Do(http.MethodPost, p.importPath("images", "retry"), nil, nil)
	if err != nil && (core.KindOf(err) != core.Conflict || j.Copies.Failed > 0) {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("imports", j.ID), "")
}

// importPosts adds posts from an export to the archive, or removes them.
func (o *Console) importPosts(p *Page) (web.HTML, error) {
	d, v, err := p.importView()
	if err != nil {
		return web.HTML{}, err
	}
	notice := ""
	if p.Form["do"] == "remove" {
		err = p.Do(http.MethodPost, p.importPath("posts", "undo"), nil, nil)
	} else {
		notice, err = p.addPosts(d.Site)
	}
	if core.KindOf(err) == core.Invalid {
		fault, status, _ := p.FaultOf(err)
		v.Status = status
		p.readImport(d)
		if d.Blog == nil || !d.Blog.Adds {
			return web.HTML{}, err
		}
		d.Blog.Site.Wrong = fault
		return p.Show("import", v)
	}
	if err != nil && core.KindOf(err) != core.Conflict {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("imports", d.ID), notice)
}

// addPosts adds the chosen posts to the archive. Among the posts that the page doesn't show, it adds the public ones,
// and the others only if the form says so. known is the site stored with the import. addPosts returns the notice for
// the next page, or an empty string.
func (p *Page) addPosts(known core.OldSite) (notice string, err error) {
	in := core.PostsInput{
		Drafts: p.Form["drafts"] != "", Paid: p.Form["paid"] != "", Site: core.OldSite(p.Form["site"]),
	}
	if p.Form["chosen"] != "" {
		var all []core.ImportedPost
		if _, err := p.Get(p.importPath("posts"), nil, &all); err != nil {
			return "", err
		}
		chosen := []int64{}
		for i := range all {
			post := &all[i]
			if i < shownPosts && p.Ticked(post) || i >= shownPosts && in.Wants(post) {
				chosen = append(chosen, post.No)
			}
		}
		in.Posts = &chosen
	}
	var posts []core.ImportedPost
	err = p.Do(http.MethodPost, p.importPath("posts"), in, &posts)
	none := in.Posts != nil && len(*in.Posts) == 0
	switch {
	case err != nil:
	case none && in.Site != "" && in.Site != known:
		notice = "saved"
	case none:
		notice = "none-chosen"
	case !anyIssue(posts):
		notice = "no-posts"
	}
	return notice, err
}

// anyIssue reports whether one of the posts is in the archive.
func anyIssue(posts []core.ImportedPost) bool {
	return slices.ContainsFunc(posts, func(p core.ImportedPost) bool { return p.Issue != "" })
}

// Ticked reports whether a post on the page is chosen. Before the visitor submits the form with the posts, the default
// choice applies.
func (p *Page) Ticked(post *core.ImportedPost) bool {
	if p.Form["chosen"] != "" {
		return p.Form["post."+strconv.FormatInt(post.No, 10)] != ""
	}
	return (&core.PostsInput{}).Wants(post)
}
