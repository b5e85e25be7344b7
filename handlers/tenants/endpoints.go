package tenants

import (
	"strconv"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/tenants"
)

// endpoints serves /api/admin/webhook-endpoints, a tenant's webhooks.
type endpoints struct{ *Room }

// endpoint is a webhook. Its secret is set only in the response to the request that created the secret.
type endpoint struct {
	ID             string       `json:"id"` // X-Client-Id of its requests
	TenantID       string       `json:"tenant_id"`
	ListID         string       `json:"list_id,omitempty" about:"List whose events it gets; absent: all lists"`
	Name           string       `json:"name"`
	URL            string       `json:"url" about:"URL that receives the events"`
	Events         []string     `json:"events" about:"Event types that it gets; empty: all"`
	OldSecretUntil core.Instant `json:"old_secret_until,omitzero"`
	FailingSince   core.Instant `json:"failing_since,omitzero" about:"Time since which deliveries fail; absent: they don't"`
	DisabledAt     core.Instant `json:"disabled_at,omitzero"`
	DisabledReason string       `json:"disabled_reason,omitempty" about:"Why it was disabled; absent: it is enabled"`
	CreatedBy      string       `json:"created_by,omitempty"`      // creator, as in the audit log
	CreatedByName  string       `json:"created_by_name,omitempty"` // name or address of the user, or name of the client
	Keepers        core.Strings `json:"keepers"`                   // actors who created it or changed its url or secret
	CreatedAt      core.Instant `json:"created_at"`
	UpdatedAt      core.Instant `json:"updated_at"`
	Waiting        int64        `json:"waiting" about:"Number of events to deliver"`
	WaitingBytes   int64        `json:"waiting_bytes" about:"Size of these events in bytes"`
	Dropping       bool         `json:"dropping" about:"Whether events were dropped because too many wait"`
	Secret         string       `json:"secret,omitempty"`
}

// endpointRoutes adds the routes for webhook endpoints.
func (r *Room) endpointRoutes(t *web.Table) {
	e := endpoints{r}
	const all, item = "/api/admin/webhook-endpoints", "/api/admin/webhook-endpoints/:id"
	may := core.ActionEndpointManage
	one := func(do web.Endpoint) web.Endpoint { return do.Find(e.find).Missing(web.ErrNotFound) }
	rows := web.Crud(t, all, "WebhookEndpoint", "a webhook endpoint", "webhook endpoints", web.Resource{
		Find: e.find, Missing: web.ErrNotFound, List: web.List(e.list, endpoint.key),
		Create: web.JSON(e.create).Fails(core.NotFound, core.Conflict),
		Show:   web.Path(e.show), Update: web.JSON(e.update), Remove: web.Path(e.remove),
		May: web.Rights{Read: may, Create: may, Change: may, Remove: may},
	})
	rows.Create.Example(web.Object{
		"tenant_id": web.ExampleID, "name": "CRM", "url": "https://crm.example.org/hooks/newsletter",
		"events": []string{"subscription.activated", "subscription.unsubscribed"},
	}).
		Refuses(
			web.TenantNamed,
			web.Refused("url", "Not a URL of a public host, or contains a username, password or fragment"),
			web.Refused("list_id", "The tenant has no such list"),
			web.Clash("The tenant has reached its limit for webhook endpoints"),
		)
	rows.Update.Example(web.Object{"url": "https://crm.example.org/hooks/news", "disabled": false}).
		Refuses(
			web.Refused("url", "Not a URL of a public host, or contains a username, password or fragment"),
			web.Refused("list_id", "The tenant has no such list"),
			web.FixedTenant,
		)
	t.Add("GET", item+"/log", web.Admin(may), web.Member, one(web.List(e.log, attempt.key)),
		"List delivery attempts from the last 14 days, newest first").
		Named("listWebhookEndpointAttempts")
	t.Add("POST", item+"/test", web.Admin(may), web.Member, one(web.Path(e.try)).Fails(core.TooMany),
		"Send a webhook.test event to an endpoint").Named("testWebhookEndpoint")
	t.Add("POST", item+"/rotate-secret", web.Admin(may), web.Member,
		one(web.JSON(e.rotate).BodyOptional()).Fails(core.Conflict),
		"Rotate the secret of a webhook endpoint; both secrets sign for a while").
		Named("rotateWebhookEndpointSecret").
		Example(web.Object{"overlap_seconds": 7200}).
		Refuses(web.TwoSecrets)
	t.Add("POST", item+"/end-old-secret", web.Admin(may), web.Member, one(web.Path(e.endOld)),
		"Revoke the previous secret of a webhook endpoint").Named("endOldWebhookEndpointSecret")
}

func endpointOf(e *core.Endpoint, secret string, now core.Instant) endpoint {
	out := endpoint{
		e.ID, e.TenantID, e.ListID, e.Name, e.URL, append([]string{}, e.Events...), e.OldUntil, e.FailingSince, e.DisabledAt,
		e.DisabledReason, e.CreatedBy, e.CreatedByName, e.Keepers, e.CreatedAt, e.UpdatedAt, e.Waiting, e.WaitingBytes,
		e.Dropping, secret,
	}
	if e.OldUntil <= now {
		out.OldSecretUntil = 0
	}
	return out
}

func (e endpoint) key() string { return e.ID }

func (a endpoints) find(c *web.Call) error {
	e, err := a.Store.Endpoint(c, c.ID())
	return web.OwnRecord(c, e.TenantID, core.ActionEndpointManage, err, web.ErrNotFound)
}

func (a endpoints) list(c *web.Call, in web.TenantFilter, page core.Page) ([]endpoint, error) {
	found, err := web.PageFor(c, in, page, a.Store.Endpoints)
	return web.RowsOf(found, func(e *core.Endpoint) endpoint { return endpointOf(e, "", c.Now) }), err
}

// newEndpoint is the body of POST /api/admin/webhook-endpoints.
type newEndpoint struct {
	TenantID string   `json:"tenant_id" like:"tenant"`
	Name     string   `json:"name" like:"line" max:"100"`
	URL      string   `json:"url" is:"required" like:"receiver" min:"1" max:"2000" about:"URL that receives the events"`
	ListID   string   `json:"list_id" about:"Only events of this list; all lists if empty"`
	Events   []string `json:"events" each:"event" about:"Only these event types; all if empty"`
	Disabled bool     `json:"disabled"` // whether nothing is sent until it is enabled
}

func (a endpoints) create(c *web.Call, in newEndpoint) (out endpoint, err error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return out, err
	}
	e := core.Endpoint{ID: core.NewID(), TenantID: tenant, CreatedBy: web.Actor(c), CreatedAt: c.Now}
	e.Keepers = e.Keepers.With(e.CreatedBy)
	if through := c.Caller.Through(); through != "" {
		e.Keepers = e.Keepers.With(core.ClientActor(through))
	}
	err = e.Change(core.EndpointInput{Name: &in.Name, URL: &in.URL, ListID: &in.ListID, Events: &in.Events}, c.Now)
	if err == nil {
		err = a.checkURL(in.URL)
	}
	if err != nil {
		return out, err
	}
	if in.Disabled {
		e.DisabledAt, e.DisabledReason = c.Now, core.DisabledByPerson
	}
	secret := auth.NewSecret()
	key, err := auth.ParseSecret(secret)
	if err != nil {
		return out, err
	}
	return endpointOf(&e, secret, c.Now), web.UnknownTenant(a.Store.AddEndpoint(c, e, key, web.Actor(c)))
}

// checkURL returns an error if events can't be delivered to the URL.
func (a endpoints) checkURL(url string) error {
	if a.MayPost == nil {
		return nil
	}
	return a.MayPost(url)
}

func (a endpoints) show(c *web.Call, id string) (endpoint, error) {
	e, err := a.Store.Endpoint(c, id)
	return endpointOf(&e, "", c.Now), err
}

// endpointChange is the body of PUT /api/admin/webhook-endpoints/:id. Absent fields stay unchanged.
type endpointChange struct {
	Name     *string   `json:"name" like:"line" max:"100"`
	URL      *string   `json:"url" like:"receiver" min:"1" max:"2000" about:"URL that receives the events"`
	ListID   *string   `json:"list_id" about:"Only events of this list; all lists if empty"`
	Events   *[]string `json:"events" each:"event" about:"Only these event types; all if empty"`
	Disabled *bool     `json:"disabled"`
}

func (a endpoints) update(c *web.Call, in endpointChange) (out endpoint, err error) {
	was, err := a.Store.Endpoint(c, c.ID())
	if err != nil {
		return out, err
	}
	if in.URL != nil && *in.URL == was.URL { // the existing URL is always allowed
		in.URL = nil
	}
	if in.URL != nil {
		if err := a.checkURL(*in.URL); err != nil {
			return out, err
		}
	}
	return a.change(c, tenants.EndpointChange{
		EndpointInput: core.EndpointInput{Name: in.Name, URL: in.URL, ListID: in.ListID, Events: in.Events},
		Disabled:      in.Disabled,
	}, "")
}

func (a endpoints) change(c *web.Call, change tenants.EndpointChange, secret string) (endpoint, error) {
	e, err := a.Store.UpdateEndpoint(c, c.ID(), change, web.Actor(c), c.Now)
	return endpointOf(&e, secret, c.Now), err
}

func (a endpoints) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.Store.DeleteEndpoint(c, id, web.Actor(c), c.Now)
}

// attempt is an entry in a webhook's delivery log.
type attempt struct {
	At        core.Instant `json:"at" about:"Time of the attempt"`
	EventID   string       `json:"event_id"`
	EventType string       `json:"event_type"`
	Outcome   string       `json:"outcome" enum:"delivered|retry|dead" about:"delivered; retry: will be tried again; dead: won't"`
	Status    int          `json:"status" about:"HTTP status of the response; 0: no response"`
	TookMS    int64        `json:"took_ms"`
	Reason    string       `json:"reason" about:"Why the attempt failed; empty: it didn't"`

	no int64
}

func (a attempt) key() string { return strconv.FormatInt(a.no, 10) }

// logFilter filters a webhook's delivery log.
type logFilter struct {
	Failed bool `query:"failed" about:"Only failed attempts"`
}

func (a endpoints) log(c *web.Call, in logFilter, page core.Page) ([]attempt, error) {
	found, err := a.Store.EndpointAttempts(c, c.ID(), in.Failed, page)
	return web.RowsOf(found, func(r *core.EndpointAttempt) attempt {
		return attempt{r.At, r.EventID, r.EventType, r.Outcome, r.Status, r.TookMS, r.Reason, r.ID}
	}), err
}

// try sends a test event. If the webhook fails, the response describes the failure.
func (a endpoints) try(c *web.Call, id string) (core.EndpointTest, error) {
	if err := a.Store.CountEndpointTest(c, c.Tenant, c.Now); err != nil {
		return core.EndpointTest{}, err
	}
	return a.TestEndpoint(c, id)
}

func (a endpoints) rotate(c *web.Call, in web.SecretOverlap) (endpoint, error) {
	secret := auth.NewSecret()
	key, err := auth.ParseSecret(secret)
	if err != nil {
		return endpoint{}, err
	}
	return a.change(c, tenants.EndpointChange{NewKey: key, Overlap: in.Or(core.EndpointOverlap)}, secret)
}

func (a endpoints) endOld(c *web.Call, _ string) (endpoint, error) {
	return a.change(c, tenants.EndpointChange{EndOld: true}, "")
}
