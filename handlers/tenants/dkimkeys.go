package tenants

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/dkim"
	"newsletterd/store"
)

// dkimKeys serves /api/admin/dkim-keys.
type dkimKeys struct {
	store  *store.Store
	lookup auth.LookupTXT
	turn   web.Turn // held while a key is generated, so that key generation uses only one core
}

// dkimKey is a key without its private part, and the DNS record to publish.
type dkimKey struct {
	core.DKIMKey
	Record dkimRecord `json:"record" about:"DNS record to publish"`
}

// dkimRecord is the DNS record for a key, with its state.
type dkimRecord struct {
	Name   string `json:"name" about:"Full name of the record"`
	Type   string `json:"type" enum:"TXT" about:"Always TXT"`
	Value  string `json:"value" about:"Value of the record"`
	State  string `json:"state" enum:"published|missing|other|unknown" about:"Whether DNS has the record"`
	Reason string `json:"reason,omitempty" about:"Why the record is not published; absent: it is"`
}

// dkimRoutes adds the routes for DKIM keys.
func (r *Room) dkimRoutes(t *web.Table) {
	a := dkimKeys{r.Store, r.LookupTXT, web.NewTurn()}
	const one, many = "a DKIM key", "DKIM keys with the status of their DNS records"
	rows := web.Crud(t, "/api/admin/dkim-keys", "DKIMKey", one, many, web.Resource{
		Find: a.find, Missing: web.ErrNotFound, List: web.List(a.list, dkimKey.key),
		Create: web.JSON(a.create).Fails(core.NotFound, core.Conflict, core.TooMany),
		Show:   web.Path(a.show), Update: web.JSON(a.update), Remove: web.Path(a.remove),
		May: web.Rights{
			Read: core.ActionDKIMRead, Create: core.ActionDKIMManage, Change: core.ActionDKIMManage,
			Remove: core.ActionDKIMManage,
		},
	})
	rows.Create.
		Example(web.Object{"domain": "acme.example", "selector": "news", "algorithm": "rsa", "status": "inactive"}).
		Refuses(
			web.Refused("domain", "Not a domain name, or not one of the tenant's domains"),
			web.Refused("selector", "Not a valid selector, or the domain isn't verified"),
			web.Refused("status", "The domain isn't verified"),
			web.Refused("algorithm", "The domain has no RSA key, which large email providers require"),
			web.Clashing("already_exists", "", "The domain already has a key with this selector"),
			web.Clash("The tenant has reached its limit for keys"),
		)
	rows.Update.Example(web.Object{"status": "active"}).
		Refuses(web.Refused("domain", "The domain no longer belongs to the tenant, so the key can't be active"))
}

func (k dkimKey) key() string { return k.ID }

const (
	dkimLookups    = 5 * time.Second // maximum total time for a response
	dkimLookupsRun = 8               // number of concurrent lookups
)

// withRecords looks up the keys' DNS records and returns the keys with their states.
func (a dkimKeys) withRecords(c *web.Call, keys []core.DKIMKey) []dkimKey {
	ctx, cancel := context.WithTimeout(c, dkimLookups)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(dkimLookupsRun)
	rows := make([]dkimKey, len(keys))
	for i, k := range keys {
		rows[i] = dkimKey{k, dkimRecord{Name: k.RecordName(), Type: "TXT", Value: k.RecordValue()}}
		group.Go(func() error {
			rows[i].Record.State, rows[i].Record.Reason = a.published(ctx, &k)
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	return rows
}

// published returns the state of a key's DNS record and, if the record isn't published, the reason.
func (a dkimKeys) published(ctx context.Context, k *core.DKIMKey) (state, reason string) {
	if ctx.Err() != nil {
		return "unknown", "DNS was not checked."
	}
	texts, err := a.lookup(ctx, k.RecordName()+".") // the dot disables the resolver's search list
	fault, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case slices.ContainsFunc(texts, func(text string) bool { return core.DKIMPublicKey(text) == k.Public }):
		return "published", ""
	case isDNS && fault.IsNotFound || err == nil && len(texts) == 0:
		return "missing", "There is no such TXT record."
	case err != nil:
		return "unknown", "No name server answered."
	}
	return "other", "The TXT record has another key."
}

func (a dkimKeys) find(c *web.Call) error {
	k, err := a.store.DKIMKey(c, c.ID())
	return web.OwnRecord(c, k.TenantID, core.ActionDKIMRead, err, web.ErrNotFound)
}

func (a dkimKeys) list(c *web.Call, in web.TenantFilter, page core.Page) ([]dkimKey, error) {
	found, err := web.PageFor(c, in, page, a.store.DKIMKeys)
	if err != nil {
		return nil, err
	}
	return a.withRecords(c, found), nil
}

// newDKIMKey is the body of POST /api/admin/dkim-keys. Without a tenant, the key belongs to the server.
type newDKIMKey struct {
	TenantID  string `json:"tenant_id" about:"Tenant of the key; empty, for server administrators: the server's own key"`
	Domain    string `json:"domain" is:"required" min:"1" about:"Domain of the sender addresses; one of the tenant's"`
	Selector  string `json:"selector" like:"selector" max:"100"`
	Algorithm string `json:"algorithm" enum:"rsa|ed25519" about:"Type of the key: rsa (default), or ed25519 (RFC 8463)"`
	Status    string `json:"status" enum:"active|inactive" about:"active (default): signs emails from the domain; inactive: doesn't"`
}

func (a dkimKeys) create(c *web.Call, in newDKIMKey) (out dkimKey, err error) {
	tenant, err := web.TheTenant(c, in.TenantID)
	if err != nil {
		return out, err
	}
	k, err := a.chosen(c, tenant, &in)
	if err != nil {
		return out, err
	}
	if err := a.store.AdmitDKIMKey(c, k, !web.IsOperator(c)); err != nil {
		return out, web.UnknownTenant(err)
	}
	private, public, err := a.newKey(c, k.Algorithm)
	if err != nil {
		return out, err
	}
	k.Public = public
	if err := a.store.AddDKIMKey(c, k, private, web.Actor(c)); err != nil {
		return out, web.UnknownTenant(err)
	}
	return a.withRecords(c, []core.DKIMKey{k})[0], nil
}

// chosen returns the requested key, still without a key pair. Until its domain is verified, a key is inactive and has a
// generated selector. A requested selector would reveal which ones other tenants use.
func (a dkimKeys) chosen(c *web.Call, tenant string, in *newDKIMKey) (k core.DKIMKey, err error) {
	k, err = core.NewDKIMKey(core.DKIMKey{
		TenantID: tenant, Domain: in.Domain, Selector: in.Selector, Algorithm: in.Algorithm, Status: in.Status,
	}, c.Now)
	if err != nil || tenant == core.TenantNone {
		return k, err
	}
	proposed, err := a.store.DomainProposed(c, tenant, k.Domain)
	if err != nil || !proposed {
		return k, err
	}
	switch {
	case in.Selector != "":
		return k, core.Invalidf("selector",
			"newsletterd chooses the selector until the domain is verified. Leave it out.")
	case in.Status == core.DKIMActive:
		return k, core.Invalidf("status", "The domain is not verified. Verify it before you activate a key.")
	}
	k.Selector, k.Status = "n"+strings.ToLower(rand.Text()[:10]), core.DKIMInactive
	return k, nil
}

// newKey generates a key. Concurrent requests take turns.
func (a dkimKeys) newKey(ctx context.Context, algorithm string) (private []byte, public string, err error) {
	if err := a.turn.Take(ctx); err != nil {
		return nil, "", err
	}
	defer a.turn.End()
	return dkim.NewKey(algorithm)
}

func (a dkimKeys) show(c *web.Call, id string) (dkimKey, error) {
	k, err := a.store.DKIMKey(c, id)
	if err != nil {
		return dkimKey{}, err
	}
	return a.withRecords(c, []core.DKIMKey{k})[0], nil
}

// dkimChange is the body of PUT /api/admin/dkim-keys/:id. It activates or deactivates a key.
type dkimChange struct {
	Status *string `json:"status" enum:"active|inactive" about:"active: signs emails from the domain; inactive: doesn't"`
}

func (a dkimKeys) update(c *web.Call, in dkimChange) (dkimKey, error) {
	if in.Status != nil {
		if _, err := a.store.SetDKIMStatus(c, c.ID(), *in.Status, web.Actor(c), c.Now); err != nil {
			return dkimKey{}, err
		}
	}
	return a.show(c, c.ID())
}

func (a dkimKeys) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteDKIMKey(c, id, web.Actor(c), c.Now)
}
