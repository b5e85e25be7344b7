package campaigns

import (
	"reflect"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/report"
)

type providerKey struct{}

// provider is the mail provider that sends a request.
type provider struct {
	record *core.ProviderSecrets
	kind   *report.Kind
	hook   *report.Hook
}

// providerEventRoutes adds the routes for events from mail providers.
func (r *Room) providerEventRoutes(t *web.Table) {
	t.Add("POST", "/webhooks/:provider", r.mailProvider(), web.Send,
		web.Raw(r.takeReports).DescribesJSON(reflect.TypeFor[providerEvent]()),
		"Accept events from a mail provider in the provider's format; for kind generic, a ProviderEvent").
		Named("receiveProviderEvents").
		Example(web.Object{
			"event_type": "delivery", "message_id": "<5f1c.1@example.org>", "tenant_id": web.ExampleID,
			"email":       "reader@example.org",
			"occurred_at": "2026-11-21T08:00:00.000Z",
		}).
		Refuses(
			web.Refused("", "The body isn't in the provider's format"),
			web.Refused("event_type", "Missing or unknown"),
			web.Refused("message_id",
				"Missing or too long"),
			web.Refused("occurred_at", "Missing"),
			web.BadEmail,
		)
}

// admitProvider looks up the provider in the path. It checks the signature over the raw body first, so that only a
// provider with a valid signature learns that it is disabled.
func (r *Room) admitProvider(c *web.Call) error {
	name := c.Param("provider")
	record, ok := r.Providers[name]
	if !ok {
		var err error
		if record, err = c.Store().ProviderSecrets(c, name); err != nil {
			return err
		}
	}
	kind := report.KindOf(record.Kind)
	if kind == nil {
		return web.ErrNoRoute
	}
	hook := &report.Hook{Name: name, Kind: record.Kind, Secrets: record.Secrets, Topics: record.Topics, SNS: r.SNS}
	c.Keep(providerKey{}, &provider{record, kind, hook})
	c.LimitBody(kind.MaxBody)
	c.CheckBody(func(body []byte) error {
		if err := hook.Verify(c, providerRequest(c, body)); err != nil {
			return err
		}
		if record.DisabledAt != 0 {
			return core.Forbiddenf("The provider is disabled. Enable it to accept its events.")
		}
		return nil
	})
	return nil
}

func providerRequest(c *web.Call, body []byte) *report.Request {
	return &report.Request{Header: c.Request.Header, Body: body, Now: c.Now}
}

// providerEvent is the specification's ProviderEvent.
type providerEvent struct {
	EventType  string       `json:"event_type" is:"required" enum:"bounce|hard_bounced|soft_bounced|complaint|suppression|delivery|open|click"`
	MessageID  string       `json:"message_id" is:"required" min:"1" max:"998"`
	TenantID   string       `json:"tenant_id" is:"required,uuid"`
	Email      core.Email   `json:"email" is:"required"`
	OccurredAt core.Instant `json:"occurred_at" is:"required"`
	BounceType string       `json:"bounce_type" enum:"hard|soft"`
}

var readProviderEvent = web.JSONReader[providerEvent]()

// acceptedReports is the response to a mail provider. Ignored is the number of elements in the batch that aren't
// delivery events.
type acceptedReports struct {
	accepted
	Ignored int `json:"ignored,omitempty" about:"Elements of the batch that aren't delivery events; absent: none"`
}

// takeReports processes events from a mail provider.
func (r *Room) takeReports(c *web.Call, body []byte) (out acceptedReports, err error) {
	request, from := providerRequest(c, body), c.Value(providerKey{}).(*provider)
	if err := from.hook.Confirm(c, request); err != nil {
		return out, err
	}
	reports, err := from.reports(request)
	if err != nil {
		return out, err
	}
	if out.Ignored = request.Malformed; out.Ignored > 0 {
		r.Log.WarnContext(c, "part of a mail provider's batch is malformed and was left out", "provider",
			from.record.Name,
			"elements", out.Ignored, "request_id", c.RequestID)
	}
	for i := range reports {
		e := &reports[i]
		if err := r.attribute(c, e); err != nil {
			return out, err
		}
		e.Provider, e.Guess = from.record.Name, from.native()
		e.JobNo, e.Seq = r.Ident.Recipient(e.Names...)
	}
	out.Status = "accepted"
	return out, r.Store.ApplyReports(c, reports, c.Now)
}

func (p *provider) native() bool { return p.kind.Name != report.KindGeneric }

// reports decodes the events in an authenticated request.
func (p *provider) reports(r *report.Request) ([]core.ProviderReport, error) {
	if p.native() {
		return p.kind.Reports(r)
	}
	in, err := readProviderEvent(r.Body)
	if err != nil {
		return nil, err
	}
	e := core.ProviderEvent{
		Type: in.EventType, MessageID: in.MessageID, TenantID: in.TenantID, Email: in.Email, OccurredAt: in.OccurredAt,
		BounceType: in.BounceType,
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	return []core.ProviderReport{{Event: e, Names: []string{e.MessageID}, Key: e.Key()}}, nil
}

// attribute sets the tenant of a report that has none to the provider's tenant. Otherwise, the report's tenant must
// exist and, if the provider has a tenant, match it.
func (r *Room) attribute(c *web.Call, e *core.ProviderReport) error {
	own := c.Value(providerKey{}).(*provider).record.TenantID
	if e.Event.TenantID == "" {
		e.Event.TenantID = own
		return nil
	}
	c.Tenant = e.Event.TenantID
	if own != "" && e.Event.TenantID != own {
		return core.Forbiddenf("This provider belongs to another tenant. Send the event to one of your tenant's " +
			"providers.")
	}
	_, err := r.Store.Tenant(c, e.Event.TenantID)
	if core.KindOf(err) == core.NotFound {
		return core.Forbiddenf("Tenant not found. It may have been deleted, or you don't have access.")
	}
	return err
}

// mailProvider returns the access rule for mail providers. The kind of the provider in the path determines how the raw
// body proves its sender.
func (r *Room) mailProvider() web.Access {
	return web.Proved("provider", "mail providers, authenticated as their kind requires", report.HeaderSignature,
		r.admitProvider)
}
