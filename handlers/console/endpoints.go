package console

import (
	"net/url"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// endpointRoutes adds the routes for webhooks. A secret is shown only once, on the page after the form.
func (o *Console) endpointRoutes(t *web.Table) {
	const may = core.ActionEndpointManage
	o.get(t, "/settings/endpoints", may, o.endpoints, "The console: webhooks")
	o.post(t, "/settings/endpoints", may, o.addEndpoint, "The console: create a webhook")
	o.get(t, "/settings/endpoints/:id", may, o.endpoint, "The console: a webhook with its delivery log")
	o.post(t, "/settings/endpoints/:id", may, o.changeEndpoint, "The console: change a webhook")
	o.post(t, "/settings/endpoints/:id/test", may, o.testEndpoint, "The console: send a test event to a webhook")
	o.post(t, "/settings/endpoints/:id/rotate", may, o.rotateEndpoint, "The console: rotate the secret of a webhook")
	o.post(t, "/settings/endpoints/:id/end", may, o.endOldSecret, "The console: revoke the previous secret of a "+
		"webhook")
	o.post(t, "/settings/endpoints/:id/delete", may, o.deleteEndpoint, "The console: delete a webhook")
}

const apiEndpoints = "/api/admin/webhook-endpoints"

// receiver is a webhook as returned by the API.
type receiver struct {
	ID             string       `json:"id"`
	TenantID       string       `json:"tenant_id"`
	ListID         string       `json:"list_id"`
	Name           string       `json:"name"`
	URL            string       `json:"url"`
	Events         core.Strings `json:"events"`
	OldSecretUntil core.Instant `json:"old_secret_until"`
	FailingSince   core.Instant `json:"failing_since"`
	DisabledAt     core.Instant `json:"disabled_at"`
	DisabledReason string       `json:"disabled_reason"`
	CreatedByName  string       `json:"created_by_name"`
	CreatedAt      core.Instant `json:"created_at"`
	Waiting        int64        `json:"waiting"`
	Dropping       bool         `json:"dropping"`
	Secret         string       `json:"secret"`
}

// delivery is an entry in a webhook's delivery log.
type delivery struct {
	At        core.Instant `json:"at"`
	EventType string       `json:"event_type"`
	Outcome   string       `json:"outcome"`
	Status    int          `json:"status"`
	TookMS    int64        `json:"took_ms"`
	Reason    string       `json:"reason"`
}

// ReceiverBadge returns the badge for the state of a webhook.
func (p *Page) ReceiverBadge(r receiver) Badge {
	switch {
	case r.DisabledAt != 0:
		return Badge{p.T("Disabled"), ""}
	case r.Dropping:
		return Badge{p.T("Dropping events"), "bad"}
	case r.FailingSince != 0:
		return Badge{p.T("Failing"), "bad"}
	}
	return Badge{p.T("Active"), "good"}
}

// DeliveryBadge returns the badge for the outcome of a delivery attempt.
func (p *Page) DeliveryBadge(outcome string) Badge {
	switch outcome {
	case core.AttemptDelivered:
		return Badge{p.T("Delivered"), "good"}
	case core.AttemptDead:
		return Badge{p.T("Failed"), "bad"}
	}
	return Badge{p.T("Retrying"), "warn"}
}

// eventTypes returns the event types that a webhook can receive.
func (p *Page) eventTypes() []option {
	return []option{
		{core.EventActivated, p.T("Someone subscribes")},
		{core.EventUnsubscribed, p.T("Someone unsubscribes")},
		{core.EventPreferences, p.T("Someone changes their data")},
	}
}

// endpointsData holds the data for the webhook pages.
type endpointsData struct {
	Receivers []receiver
	One       receiver
	Events    []option
	Lists     []option
	Log       []delivery
	Failed    bool // whether only failures are shown
	Test      *core.EndpointTest
	Pager     pager
}

func (p *Page) endpointsData() (d endpointsData, err error) {
	lists, err := p.peopleLists()
	d.Events = p.eventTypes()
	d.Lists = listOptions(lists, option{"", p.T("All lists")})
	return d, err
}

func (o *Console) endpoints(p *Page) (web.HTML, error) { return p.showEndpoints(filled{}, View{}) }

func (p *Page) showEndpoints(f filled, v View) (web.HTML, error) {
	d, err := p.endpointsData()
	if err == nil {
		d.Receivers, err = all[receiver](p, apiEndpoints, p.ofTenant("limit", "100"), 2*core.MaxEndpoints)
	}
	if err != nil {
		return web.HTML{}, err
	}
	v.State = p.T("Notify your apps when someone subscribes, unsubscribes or changes their data")
	return p.showSettings("endpoints", "endpoints", v, f, d)
}

// sentEndpoint returns the API request body for a submitted webhook form.
func (p *Page) sentEndpoint() map[string]any {
	body := p.sent("name", "list_id")
	p.sentAddresses(body, "url")
	events := []string{}
	for _, e := range p.eventTypes() {
		if p.Form["event."+e.Value] == "1" {
			events = append(events, e.Value)
		}
	}
	if len(events) == len(p.eventTypes()) {
		events = events[:0] // includes types that are added later
	}
	body["events"] = events
	return body
}

func (o *Console) addEndpoint(p *Page) (web.HTML, error) {
	body := p.sentEndpoint()
	body["tenant_id"] = p.Tenant.ID
	var made receiver
	if err := p.Do("POST", apiEndpoints, body, &made); err != nil {
		return p.refused(err, p.showEndpoints)
	}
	return p.showSecret(made.Secret, p.T("Signing secret"), p.Path("settings", "endpoints", made.ID), "endpoints")
}

// showSecret shows a secret on the page after the form. The secret is neither in a URL nor stored.
func (p *Page) showSecret(secret, title, next, tab string) (web.HTML, error) {
	return p.showSettings("secret", tab, View{
		Title: title, State: p.T("Copy it now. It won't be shown again."), Status: 201,
	}, filled{}, secretPage{Secret: secret, Next: next})
}

// theEndpoint reads the webhook in the path.
func (p *Page) theEndpoint() (r receiver, err error) {
	_, err = p.Get(apiEndpoints+"/"+url.PathEscape(p.Param("id")), nil, &r)
	if err == nil && r.TenantID != p.Tenant.ID {
		err = web.ErrNotFound
	}
	return r, err
}

// endpointForm returns the values of a webhook's form.
func endpointForm(r *receiver, events []option) filled {
	f := filled{values: map[string]string{"name": r.Name, "url": r.URL, "list_id": r.ListID}}
	for _, e := range events {
		f.values["event."+e.Value] = tickWord(len(r.Events) == 0 ||
			strings.Contains(" "+strings.Join(r.Events, " ")+" ", " "+e.Value+" "))
	}
	f.values["enabled"] = tickWord(r.DisabledAt == 0)
	return f
}

func (o *Console) endpoint(p *Page) (web.HTML, error) {
	return p.showEndpoint(filled{}, View{}, nil)
}

func (p *Page) showEndpoint(f filled, v View, test *core.EndpointTest) (web.HTML, error) {
	r, err := p.theEndpoint()
	if err != nil {
		return web.HTML{}, err
	}
	d, err := p.endpointsData()
	if err != nil {
		return web.HTML{}, err
	}
	d.One, d.Test, d.Failed = r, test, p.Query("failed") == "1"
	q := url.Values{"limit": {"30"}}
	if d.Failed {
		q.Set("failed", "true")
	}
	if cursor := p.Query("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	next, err := p.Get(apiEndpoints+"/"+r.ID+"/log", q, &d.Log)
	if err != nil {
		return web.HTML{}, err
	}
	d.Pager = p.Pager(next)
	if f.values == nil {
		f = endpointForm(&r, d.Events)
	}
	v.Title, v.Badge = r.Name, p.ReceiverBadge(r)
	if v.Title == "" {
		v.Title = core.MaskURL(r.URL)
	}
	if r.Waiting > 0 {
		v.State = p.N("1 event waiting|{{n}} events waiting", r.Waiting)
	}
	v.Within = []Link{{p.T("Settings"), p.Path("settings")}, {p.T("Webhooks"), p.Path("settings", "endpoints")}}
	return p.showSettings("endpoint", "endpoints", v, f, d)
}

func (p *Page) endpointAgain(f filled, v View) (web.HTML, error) { return p.showEndpoint(f, v, nil) }

// endpointOtherwise shows a webhook's page again if an action other than saving its form fails.
func (p *Page) endpointOtherwise(_ filled, v View) (web.HTML, error) {
	return p.showEndpoint(filled{}, v, nil)
}

func (o *Console) changeEndpoint(p *Page) (web.HTML, error) {
	r, err := p.theEndpoint()
	if err != nil {
		return web.HTML{}, err
	}
	body := p.sentEndpoint()
	body["disabled"] = p.Form["enabled"] != "1"
	if err := p.Do("PUT", apiEndpoints+"/"+r.ID, body, nil); err != nil {
		return p.refused(err, p.endpointAgain)
	}
	return p.Redirect(p.Path("settings", "endpoints", r.ID), "saved")
}

func (o *Console) testEndpoint(p *Page) (web.HTML, error) {
	r, err := p.theEndpoint()
	if err != nil {
		return web.HTML{}, err
	}
	var test core.EndpointTest
	if err := p.Do("POST", apiEndpoints+"/"+r.ID+"/test", nil, &test); err != nil {
		return p.refused(err, p.endpointOtherwise)
	}
	return p.showEndpoint(filled{}, View{}, &test)
}

func (o *Console) rotateEndpoint(p *Page) (web.HTML, error) {
	r, err := p.theEndpoint()
	if err != nil {
		return web.HTML{}, err
	}
	var changed receiver
	if err := p.Do("POST", apiEndpoints+"/"+r.ID+"/rotate-secret", nil, &changed); err != nil {
		return p.refused(err, p.endpointOtherwise)
	}
	return p.showSecret(changed.Secret, p.T("Signing secret"), p.Path("settings", "endpoints", r.ID), "endpoints")
}

func (o *Console) endOldSecret(p *Page) (web.HTML, error) {
	r, err := p.theEndpoint()
	if err != nil {
		return web.HTML{}, err
	}
	if err := p.Do("POST", apiEndpoints+"/"+r.ID+"/end-old-secret", nil, nil); err != nil {
		return p.refused(err, p.endpointOtherwise)
	}
	return p.Redirect(p.Path("settings", "endpoints", r.ID), "saved")
}

func (o *Console) deleteEndpoint(p *Page) (web.HTML, error) {
	if _, err := p.theEndpoint(); err != nil {
		return web.HTML{}, err
	}
	return p.deleteFrom(apiEndpoints, p.Path("settings", "endpoints"), p.endpointOtherwise)
}
