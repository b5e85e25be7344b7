package tenants

import (
	"newsletterd/core"
	"newsletterd/store/db"
)

const sameSlug = `SELECT t.public_url FROM list AS l JOIN tenant AS t ON t.id = l.tenant_id
	WHERE l.slug = ? AND l.slug <> '' AND l.id <> ? AND l.deleted_at = 0`

// ErrSlugTaken is returned when another list on the same host has the slug.
var ErrSlugTaken = core.Invalidf("slug", "Another list on this host has this slug. Choose another one.")

// ownSlug returns ErrSlugTaken if another list on the tenant's host has the list's slug.
func ownSlug(tx *db.Tx, l *core.List, t *core.Tenant) error {
	if l.Slug == "" {
		return nil
	}
	var others []string
	if err := tx.All(&others, sameSlug, l.Slug, l.ID); err != nil {
		return err
	}
	for _, other := range others {
		if core.OriginHost(other) == core.OriginHost(t.PublicURL) {
			return ErrSlugTaken
		}
	}
	return nil
}

// ownSlugs returns an Invalid error on public_url if a list on the tenant's new host has the slug of one of the
// tenant's lists.
func ownSlugs(tx *db.Tx, t *core.Tenant) error {
	var lists []core.List
	if err := tx.All(&lists, selectLists+"tenant_id = ? AND slug <> '' AND deleted_at = 0", t.ID); err != nil {
		return err
	}
	for i := range lists {
		switch err := ownSlug(tx, &lists[i], t); {
		case err == nil:
		case err == ErrSlugTaken:
			return core.Invalidf("public_url", "Another list on this host has the slug %s. Choose another one.",
				lists[i].Slug)
		default:
			return err
		}
	}
	return nil
}
