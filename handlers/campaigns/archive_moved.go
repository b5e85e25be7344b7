package campaigns

import (
	"context"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store/campaigns"
)

// home returns the path of a list's archive, with a trailing slash.
func (r *Room) home(list *core.ListWithTenant) string { return page.ArchivePath(list, r.Origin) }

// path returns an issue's path. If the archive is at the root of its host and another page already has the path there,
// the issue stays below the list.
func (r *Room) path(list *core.ListWithTenant, slug string) string {
	if r.Taken[slug] {
		return list.ArchivePath() + slug
	}
	return r.home(list) + slug
}

func (r *Room) url(list *core.ListWithTenant) string { return page.ArchiveURL(list, r.Origin) }

func (r *Room) issueURL(list *core.ListWithTenant, slug string) string {
	return list.Tenant.Origin(r.Origin) + r.path(list, slug)
}

// Inside maps a path at the root of a tenant's own host to the path below the tenant's list. This requires that the
// tenant has only one archive. It maps the archive's start page and feed, issues, and their emails. For any other path
// it returns an empty string.
func (r *Room) Inside(c *web.Call, path string) (string, error) {
	slug, _ := strings.CutSuffix(strings.TrimPrefix(path, "/"), "/mail")
	root := path == "/" || slug == page.FeedName
	if !root && slug != core.Slug(slug) {
		return "", nil
	}
	archives, err := r.archivesAt(c)
	if err != nil || len(archives) != 1 {
		return "", err
	}
	if !root {
		if _, err := r.Store.Issue(c, archives[0], slug); err != nil {
			return "", absent(err)
		}
	}
	return "/a/" + archives[0] + path, nil
}

// archivesAt returns the ids of the lists with an archive at the requested host, oldest first. The server's own host
// has none at its root.
func (r *Room) archivesAt(c *web.Call) ([]string, error) {
	host := web.HostOf(c.Request.Host)
	if host == core.OriginHost(r.Origin) {
		return nil, nil
	}
	return r.Store.ArchivesAt(c, host)
}

// absent returns err, or nil if err is a not-found error.
func absent(err error) error {
	if core.KindOf(err) == core.NotFound {
		return nil
	}
	return err
}

// Moved returns the current URL of an issue or feed that used to be at path on its tenant's host. Imported issues were
// there with another tool. Other issues were there while their archive was at the root of the host. If there is no such
// issue or feed, or its archive is off, Moved returns an empty string.
func (r *Room) Moved(c *web.Call, path string) (string, error) {
	old := core.AsOldPath(path)
	if path == "/"+page.FeedName {
		return r.fromRoot(c, page.FeedName)
	}
	if old == "" {
		return "", nil
	}
	owners, err := r.Store.TenantsAt(c, web.HostOf(c.Request.Host))
	if err != nil {
		return "", err
	}
	for k := range owners {
		issues, err := campaigns.IssuesAt(c, r.Store.DB, owners[k].ID, old)
		if err != nil {
			return "", err
		}
		for _, i := range issues {
			list, err := r.Store.ListWithTenant(c, i.ListID)
			if core.KindOf(err) == core.NotFound || err == nil && !list.Archive {
				continue
			}
			if err != nil {
				return "", err
			}
			return r.issueURL(list, i.Slug), nil
		}
	}
	return r.fromRoot(c, strings.TrimPrefix(old, "/"))
}

// fromRoot returns the current URL of an issue or feed that used to be at the root of the requested host. It moved when
// a second list of the tenant got an archive. If several archives have such an issue, fromRoot returns the URL in the
// oldest list's archive.
func (r *Room) fromRoot(c *web.Call, name string) (string, error) {
	archives, err := r.archivesAt(c)
	if err != nil || len(archives) < 2 || name != page.FeedName && name != core.Slug(name) {
		return "", err
	}
	for _, id := range archives {
		if name != page.FeedName {
			_, err = r.Store.Issue(c, id, name)
		}
		if err == nil {
			return r.urlOf(c, id, name)
		}
		if err = absent(err); err != nil {
			return "", err
		}
	}
	return "", nil
}

func (r *Room) urlOf(ctx context.Context, listID, name string) (string, error) {
	list, err := r.Store.ListWithTenant(ctx, listID)
	if err != nil {
		return "", absent(err)
	}
	return r.url(list) + name, nil
}
