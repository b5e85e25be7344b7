package tenants

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/report"
	"newsletterd/store/tenants"
)

// providers serves /api/admin/mail-providers: the services that may report the outcomes of emails. Providers in the
// configuration override those in the database, and can be changed only there.
type providers struct{ *Room }

// provider is a mail provider as shown to server administrators. Its secret is set only in the response to the request
// that generated it.
type provider struct {
	Name       string          `json:"name" about:"Name in its webhook path, /webhooks/NAME"`
	Kind       string          `json:"kind" about:"Kind of provider, such as ses or postmark"`
	TenantID   string          `json:"tenant_id,omitempty" about:"Tenant for which it can report; absent: every tenant"`
	Topics     []string        `json:"topics,omitempty"` // topics, for the kind ses
	Source     string          `json:"source" enum:"database|configuration" about:"Where the provider is set"`
	URL        string          `json:"url" about:"URL of its webhook"`
	DisabledAt core.Instant    `json:"disabled_at,omitzero"`
	CreatedAt  core.Instant    `json:"created_at,omitzero" about:"Creation time; absent if set in the configuration file"`
	UpdatedAt  core.Instant    `json:"updated_at,omitzero"`
	Secret     string          `json:"secret,omitempty" about:"Secret that newsletterd generated; only in the response that creates or rotates it; for postmark and mailjet: name:password; for generic: key that signs the webhooks"`
	LastEvent  *core.LastEvent `json:"last_event,omitempty" about:"Newest accepted event; absent: none recently"`
}

// mailProviderRoutes adds the routes for mail providers.
func (r *Room) mailProviderRoutes(t *web.Table) {
	p := providers{r}
	const all, item = "/api/admin/mail-providers", "/api/admin/mail-providers/:provider"
	may := web.Admin(core.ActionProviderManage)
	one := func(e web.Endpoint) web.Endpoint { return e.Find(p.find).Missing(web.ErrNotFound) }
	t.Add("GET", all, may, web.Member, web.List(p.list, provider.key), "List mail providers").
		Named("listMailProviders")
	t.Add("POST", all, may, web.Member, web.JSON(p.create).Created().Fails(core.NotFound, core.Conflict),
		"Create a mail provider").Named("createMailProvider").
		Limits(web.Never(refusedProviders()...)).
		Example(web.Object{"name": "eu-mailer", "kind": "generic"}).
		Refuses(
			web.ThereIsOne,
			web.Clash("A provider in the configuration file has this name"),
			web.Refused("name", "The name is used by another webhook"),
			web.Refused("secret", "Not valid for this kind of provider"),
			web.Refused("topics[]", "Not valid for this kind of provider"),
			web.Refused("topics", "Not valid for this kind of provider"),
		)
	t.Add("GET", item, may, web.Member, one(web.Query(p.show)), "Show a mail provider").Named("getMailProvider")
	t.Add("PUT", item, may, web.Member, one(web.JSON(p.update)).Fails(core.Conflict),
		"Update a mail provider; fields you leave out stay unchanged").Named("updateMailProvider").
		Example(web.Object{"disabled": false}).
		Refuses(
			web.Refused("topics", "This kind of provider takes no topics, or needs at least one"),
			web.Refused("topics[]", "Not valid for this kind of provider"),
			web.Clash("The provider is set in the configuration file, or its kind is unknown"),
		)
	t.Add("DELETE", item, may, web.Member, one(web.Query(p.remove)).Fails(core.Conflict), "Delete a mail provider").
		Named("deleteMailProvider").
		Refuses(web.Clash("The provider is set in the configuration file or created at startup"))
	t.Add("POST", item+"/rotate-secret", may, web.Member, one(web.JSON(p.rotate).BodyOptional()).Fails(core.Conflict),
		"Rotate the secret of a mail provider; the previous one stays valid until you revoke it").
		Named("rotateMailProviderSecret").
		Example(web.Object{"secret": "whsec_bmV3c2xldHRlcmQtZXhhbXBsZS1zZWNyZXQtMzJiISE="}).
		Refuses(
			web.TwoSecrets,
			web.Refused("secret", "Not valid for this kind of provider, or missing although the secret comes from "+
				"the provider"),
			web.Clash("This kind of provider has no secret, or the configuration file sets it"),
		)
	t.Add("POST", item+"/end-old-secret", may, web.Member, one(web.Query(p.endOld)).Fails(core.Conflict),
		"Revoke the previous secret of a mail provider").Named("endOldMailProviderSecret").
		Refuses(web.Clash("The provider is set in the configuration file"))
}

func (a providers) row(p *core.Provider, source, secret string) provider {
	return provider{
		p.Name, p.Kind, p.TenantID, p.Topics, source, a.Origin + "/webhooks/" + p.Name, p.DisabledAt, p.CreatedAt,
		p.UpdatedAt, secret, nil,
	}
}

func (p provider) key() string { return p.Name }

const fromDatabase, fromConfiguration = "database", "configuration"

// list returns a page of providers from both sources, sorted by name.
func (a providers) list(c *web.Call, _ struct{}, page core.Page) ([]provider, error) {
	kept, err := a.Store.Providers(c, page)
	if err != nil {
		return nil, err
	}
	byName := map[string]provider{}
	for i := range kept {
		byName[kept[i].Name] = a.row(&kept[i], fromDatabase, "")
	}
	last := ""
	if len(kept) == page.Limit { // names after these belong to the next page
		last = kept[len(kept)-1].Name
	}
	for name, p := range a.Providers { // they take precedence over those in the database
		if name > page.After && (last == "" || name <= last) {
			byName[name] = a.row(&p.Provider, fromConfiguration, "")
		}
	}
	names := slices.Sorted(maps.Keys(byName))
	rows := make([]provider, 0, len(names))
	for _, name := range names[:min(len(names), page.Limit)] {
		rows = append(rows, byName[name])
	}
	return rows, a.withEvents(c, rows)
}

// withEvents adds each provider's last event to rows.
func (a providers) withEvents(c *web.Call, rows []provider) error {
	last, err := a.Store.LastProviderEvents(c)
	for i := range rows {
		if e, ok := last[rows[i].Name]; ok {
			rows[i].LastEvent = &e
		}
	}
	return err
}

// providerName holds the provider's name from the path.
type providerName struct {
	Provider string `path:"provider,text"`
}

// find returns a 404 error if no provider has the name or the caller isn't a server administrator.
func (a providers) find(c *web.Call) (err error) {
	if name := c.Param("provider"); a.Providers[name] == nil {
		_, err = a.Store.ProviderSecrets(c, name)
	}
	return web.OwnRecord(c, core.TenantNone, core.ActionProviderManage, err, web.ErrNotFound)
}

func (a providers) show(c *web.Call, in providerName) (provider, error) {
	row, err := a.with(c, in.Provider, "")
	if err != nil {
		return row, err
	}
	rows := []provider{row}
	err = a.withEvents(c, rows)
	return rows[0], err
}

func (a providers) with(c *web.Call, name, secret string) (provider, error) {
	if p := a.Providers[name]; p != nil {
		return a.row(&p.Provider, fromConfiguration, ""), nil
	}
	p, err := a.Store.ProviderSecrets(c, name)
	if err != nil {
		return provider{}, err
	}
	return a.row(&p.Provider, fromDatabase, secret), nil
}

// kept returns a provider in the database and its kind. If the provider is in the configuration, it returns a conflict.
func (a providers) kept(c *web.Call, name string) (*core.ProviderSecrets, *report.Kind, error) {
	if a.Providers[name] != nil {
		return nil, nil, core.Conflictf("conflict",
			"The provider %s is defined in the configuration file. Change it there.", name)
	}
	p, err := a.Store.ProviderSecrets(c, name)
	if err != nil {
		return nil, nil, err
	}
	kind := report.KindOf(p.Kind)
	if kind == nil {
		return nil, nil, core.Conflictf("conflict",
			"This version of newsletterd does not support the kind %s. Upgrade newsletterd, or delete the provider.",
			p.Kind)
	}
	return p, kind, nil
}

// newProvider is the body of POST /api/admin/mail-providers. If it has no secret, one is generated if the kind allows
// that.
type newProvider struct {
	Name     string   `json:"name" is:"required" like:"provider_name" about:"Name in its webhook path, /webhooks/NAME"`
	Kind     string   `json:"kind" like:"provider" about:"Kind of provider; generic (default): newsletterd's own format"`
	TenantID string   `json:"tenant_id" about:"Tenant for which it can report; empty: every tenant"`
	Topics   []string `json:"topics"`
	Secret   string   `json:"secret" like:"provider_secret"`
}

func (a providers) create(c *web.Call, in newProvider) (out provider, err error) {
	if err := core.CheckProviderName(in.Name); err != nil {
		return out, err
	}
	if a.Providers[in.Name] != nil {
		return out, core.Conflictf("conflict",
			"The name %s is already used by a provider in the configuration file. Choose another name.", in.Name)
	}
	kind := report.KindOf(cmp.Or(in.Kind, report.KindGeneric))
	if kind == nil {
		return out, core.Invalidf("kind", "kind must be one of %s.", strings.Join(report.Names(), ", "))
	}
	secret, fresh, err := providerSecretOf(kind, in.Secret)
	if err == nil {
		err = kind.CheckTopics(in.Topics)
	}
	if err != nil {
		return out, err
	}
	err = a.Store.AddProvider(c, core.Provider{
		Name: in.Name, Kind: kind.Name, TenantID: in.TenantID, Topics: in.Topics,
	}, secret, web.Actor(c), c.Now)
	if err != nil {
		return out, web.UnknownTenant(err)
	}
	return a.with(c, in.Name, fresh)
}

// providerSecretOf returns the given secret. If there is none, it generates a secret and returns it also as fresh. Both
// are empty if the kind has no secrets.
func providerSecretOf(kind *report.Kind, given string) (secret, fresh string, err error) {
	switch {
	case given != "":
		return given, "", kind.CheckSecrets([]string{given})
	case kind.Secret.Check == nil:
		return "", "", nil
	case kind.Secret.Fresh == nil:
		return "", "", kind.CheckSecrets(nil)
	}
	fresh = kind.Secret.Fresh()
	return fresh, fresh, nil
}

// providerChange is the body of PUT /api/admin/mail-providers/:provider. Absent fields stay unchanged.
type providerChange struct {
	providerName
	TenantID *string   `json:"tenant_id" about:"Tenant for which it can report; empty: every tenant"`
	Topics   *[]string `json:"topics"`
	Disabled *bool     `json:"disabled"`
}

func (a providers) update(c *web.Call, in providerChange) (out provider, err error) {
	_, kind, err := a.kept(c, in.Provider)
	if err == nil && in.Topics != nil {
		err = kind.CheckTopics(*in.Topics)
	}
	if err == nil && in.TenantID != nil && *in.TenantID != "" {
		_, err = a.Store.Tenant(c, *in.TenantID)
		err = web.UnknownTenant(err)
	}
	if err != nil {
		return out, err
	}
	p, err := a.Store.UpdateProvider(c, in.Provider, tenants.ProviderChange{
		TenantID: in.TenantID, Topics: in.Topics, Disabled: in.Disabled,
	}, web.Actor(c), c.Now)
	return a.row(&p, fromDatabase, ""), err
}

func (a providers) remove(c *web.Call, in providerName) (web.None, error) {
	if _, _, err := a.kept(c, in.Provider); err != nil {
		return web.None{}, err
	}
	return web.None{}, a.Store.DeleteProvider(c, in.Provider, web.Actor(c), c.Now)
}

// anotherSecret is the body of POST /api/admin/mail-providers/:provider/rotate-secret.
type anotherSecret struct {
	providerName
	Secret string `json:"secret" about:"New secret from the provider; generated if left out for generic, postmark and mailjet"`
}

// rotate sets a provider's new secret. The previous secret stays valid until endOld. Before that, the secret can't be
// rotated again.
func (a providers) rotate(c *web.Call, in anotherSecret) (out provider, err error) {
	_, kind, err := a.kept(c, in.Provider)
	if err != nil {
		return out, err
	}
	secret, fresh, err := providerSecretOf(kind, in.Secret)
	if err == nil {
		err = kind.CheckSecrets([]string{secret}) // some kinds have none
	}
	if err != nil {
		return out, err
	}
	p, err := a.Store.UpdateProvider(c, in.Provider, tenants.ProviderChange{NewSecret: &secret}, web.Actor(c), c.Now)
	return a.row(&p, fromDatabase, fresh), err
}

func (a providers) endOld(c *web.Call, in providerName) (out provider, err error) {
	if _, _, err := a.kept(c, in.Provider); err != nil {
		return out, err
	}
	p, err := a.Store.UpdateProvider(c, in.Provider, tenants.ProviderChange{EndOldSecret: true}, web.Actor(c), c.Now)
	return a.row(&p, fromDatabase, ""), err
}

// refusedProviders describes, for the OpenAPI document, providers that lack a field that their kind needs, or have a
// field that their kind doesn't use.
func refusedProviders() (refused []web.Object) {
	var listening, silent, given, secretless []string
	for _, name := range report.Names() {
		kind := report.KindOf(name)
		if kind.Topics {
			listening = append(listening, name)
		} else {
			silent = append(silent, name)
		}
		if form := kind.Secret.Pattern; form != "" {
			malformed := web.Where(web.Object{
				"kind": web.Word(name), "secret": web.Object{"minLength": 1, "not": web.Object{"pattern": form}},
			})
			if name == report.KindGeneric { // the default kind
				malformed["required"] = []string{"secret"}
			}
			refused = append(refused, malformed)
		}
		switch {
		case kind.Secret.Check == nil:
			secretless = append(secretless, name)
		case kind.Secret.Fresh == nil:
			given = append(given, name)
		}
	}
	some := web.Object{"minItems": 1}
	return append(refused,
		web.Object{ // also if the kind is missing
			"required": []string{"topics"}, "properties": web.Object{"kind": web.Word(silent...), "topics": some},
		},
		web.Without(web.Where(web.Object{"kind": web.Word(listening...)}), web.Object{"topics": some}),
		web.Without(web.Where(web.Object{"kind": web.Word(given...)}), web.Object{"secret": web.Filled}),
		web.Where(web.Object{"kind": web.Word(secretless...), "secret": web.Filled}),
	)
}
