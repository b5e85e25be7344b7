package core

import "time"

// RestorableFor is how long a deleted tenant or list can be restored. Housekeeping then removes its rows.
const RestorableFor = 30 * 24 * time.Hour

// Deleted is a deleted tenant or list that can be restored.
type Deleted struct {
	ID        string  `json:"id" db:"id"`
	TenantID  string  `json:"tenant_id" db:"tenant_id" about:"ID of the tenant; of a deleted tenant, its own ID"`
	Name      string  `json:"name" db:"name"`
	DeletedAt Instant `json:"deleted_at" db:"deleted_at" about:"Time of the deletion"`
	Until     Instant `json:"restorable_until" db:"-"`
}

// Restorable returns d with its restore deadline set.
func (d Deleted) Restorable() Deleted {
	d.Until = d.DeletedAt.Add(RestorableFor)
	return d
}

// The values of LeftOut.Kind.
const (
	LeftOutDomain    = "domain"
	LeftOutDKIMKey   = "dkim_key"
	LeftOutSlug      = "slug"
	LeftOutPublicURL = "public_url"
	LeftOutMailFrom  = "mail_from"
)

// LeftOut is a unique value that was not restored with a tenant or list, because another tenant or list uses it.
type LeftOut struct {
	Kind string `json:"kind" db:"kind" enum:"domain|dkim_key|slug|public_url|mail_from" about:"Kind of value that another tenant or list has now"`
	Name string `json:"name" db:"name" about:"The value: a domain, DKIM record, slug, origin or address"`
}

// Restored summarizes what was restored with a tenant or list.
type Restored struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Lists     int       `json:"lists" about:"Number of restored lists; 1 for a list"`
	Clients   int       `json:"clients" about:"Number of restored API clients; they are disabled"`
	Endpoints int       `json:"endpoints" about:"Number of restored webhook endpoints; they are disabled"`
	LeftOut   []LeftOut `json:"left_out" about:"Values that couldn't be restored, because another tenant or list has them now"`
}
