package core

import "time"

// RestorableFor is how long a deleted tenant or list can be restored. Housekeeping then removes its rows.
const RestorableFor = 30 * 24 * time.Hour

// Deleted is a deleted tenant or list that can be restored.
type Deleted struct {
	ID        string  `json:"id" db:"id"`
	TenantID  string  `json:"tenant_id" db:"tenant_id"` // of a tenant: its own id
	Name      string  `json:"name" db:"name"`
	DeletedAt Instant `json:"deleted_at" db:"deleted_at"`
	Until     Instant `json:"restorable_until" db:"-"`
}

// Restorable returns d with the time until which it can be restored.
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

// LeftOut is a unique value that a restored tenant or list did not get back, because another tenant or list now has it.
type LeftOut struct {
	Kind string `json:"kind" db:"kind" enum:"domain|dkim_key|slug|public_url|mail_from"`
	Name string `json:"name" db:"name"` // domain, selector._domainkey.domain, slug, origin or address
}

// Restored summarizes what was restored with a tenant or list.
type Restored struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Lists     int       `json:"lists"`     // restored with a tenant; 1 for a list
	Clients   int       `json:"clients"`   // restored, but disabled
	Endpoints int       `json:"endpoints"` // restored, but disabled
	LeftOut   []LeftOut `json:"left_out"`
}
