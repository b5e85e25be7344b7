package campaigns

import (
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store/campaigns"
)

// Moved returns the URL of an imported issue that was at a path at another tool. Only the host of the issue's tenant
// has old paths. If there is no such issue, or its archive is off, Moved returns an empty string.
func (r *Room) Moved(c *web.Call, path string) (string, error) {
	old := core.AsOldPath(path)
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
			return page.ArchiveURL(list, r.Origin) + i.Slug, nil
		}
	}
	return "", nil
}
