package campaigns

import (
	"context"
	"net/http"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/tenants"
)

// maxFullSync is the maximum size of a full-sync batch.
const maxFullSync = 8 * web.MiB

// webhookRoutes adds the routes for signed webhooks from the member service.
func (r *Room) webhookRoutes(t *web.Table) {
	t.Add("POST", "/webhooks/subscriptions", web.Signed(), web.Send,
		web.JSON(r.subscription).Fails(core.Conflict), "Accept a subscription event").
		Named("receiveSubscriptionEvent").
		Example(web.Object{
			"event_id": web.ExampleID, "event_type": "subscription.activated", "tenant_id": web.ExampleID,
			"list_id": web.ExampleID,
			"subscriber": web.Object{
				"id": web.ExampleID, "email": "reader@example.org", "status": "active",
				"preferences": web.Object{"first_name": "Ada"},
			},
			"occurred_at": "2026-11-21T08:00:00.000Z",
		}).
		Refuses(
			web.Clashing("duplicate_event", "", "The event was already accepted"),
			web.Clashing("replayed_nonce", "", "The nonce was already used"),
			web.Refused("list_id", "The tenant has no such list"),
			web.Coded("invalid_email", "subscriber.email", "Not a valid email address"),
		)
	t.Add("POST", "/webhooks/lists/full-sync", web.Signed(), web.Send,
		web.JSON(r.fullSync).MaxBody(maxFullSync).Fails(core.Conflict), "Accept a batch of a full sync").
		Named("receiveFullSyncBatch").
		Example(web.Object{
			"sync_id": web.ExampleID, "batch_no": 1, "batch_total": 1, "tenant_id": web.ExampleID,
			"list_id":     web.ExampleID,
			"subscribers": []web.Object{{"id": web.ExampleID, "email": "reader@example.org", "status": "active"}},
			"occurred_at": "2026-11-21T08:00:00.000Z",
		}).
		Refuses(
			web.Clashing("duplicate_batch", "", "The event was already accepted"),
			web.Clashing("replayed_nonce", "", "The nonce was already used"),
			web.Refused("list_id", "The tenant has no such list, or the sync belongs to another list"),
			web.Refused("batch_no", "Greater than batch_total"),
			web.Refused("batch_total", "Doesn't match the sync's number of batches"),
			web.Coded("invalid_email", "subscribers[].email", "Not a valid email address"),
		)
}

// SignedBy returns a function that checks signed webhooks against the webhook clients in the store. It checks the
// headers, the time and that the client exists before the body is read. The function that it returns checks the
// signature over the raw body and, if that is valid, that the client is not disabled. The response for an unknown
// client is the same as for a wrong signature, but its body is not read.
func SignedBy(s *store.Store) func(context.Context, http.Header, string,
	core.Instant) (func([]byte) (core.Caller, error), error) {
	return func(ctx context.Context, h http.Header, path string, now core.Instant) (func([]byte) (core.Caller, error),
		error,
	) {
		sig, err := auth.ParseSignature(h, now)
		if err != nil {
			return nil, err
		}
		sender, err := s.WebhookSender(ctx, sig.ClientID)
		if core.KindOf(err) == core.NotFound {
			return nil, core.ErrInvalidSignature
		}
		if err != nil {
			return nil, err
		}
		return func(body []byte) (core.Caller, error) {
			if err := auth.VerifySignature(sig, path, body, sender.Keys...); err != nil {
				return core.Caller{}, err
			}
			if sender.DisabledAt != 0 {
				return core.Caller{}, core.Forbiddenf("The webhook client is disabled. Enable it first.")
			}
			return core.Caller{ClientID: sig.ClientID, ClientTenant: sender.TenantID}, nil
		}, nil
	}
}

// accepted is the response to a webhook request that took effect.
type accepted struct {
	Status string `json:"status" enum:"accepted" about:"Always accepted"`
}

type subscriptionEvent struct{ core.Event }

func (e *subscriptionEvent) CheckInput() error { return e.Event.Validate() }

// subscription processes a subscription event from a member service.
func (r *Room) subscription(c *web.Call, in subscriptionEvent) (out accepted, err error) {
	if err := speaksFor(c, in.TenantID); err != nil {
		return out, err
	}
	return accepted{"accepted"}, r.Store.ApplyEvent(c, nonceOf(c), in.Event, c.Now)
}

type fullSyncBatch struct{ core.FullSync }

func (f *fullSyncBatch) CheckInput() error { return f.FullSync.Validate() }

// fullSync processes a full-sync batch from a member service.
func (r *Room) fullSync(c *web.Call, in fullSyncBatch) (out accepted, err error) {
	if err := speaksFor(c, in.TenantID); err != nil {
		return out, err
	}
	return accepted{"accepted"}, r.Store.ApplyBatch(c, nonceOf(c), in.FullSync, c.Now)
}

// speaksFor returns an error if the webhook client belongs to a different tenant.
func speaksFor(c *web.Call, tenantID string) error {
	c.Tenant = tenantID
	if t := c.Caller.ClientTenant; t != "" && t != tenantID {
		return core.Forbiddenf("The webhook client belongs to another tenant. Use a client of this tenant.")
	}
	return nil
}

// nonceOf returns a signed request's nonce. The headers must have been checked.
func nonceOf(c *web.Call) tenants.Nonce {
	return tenants.Nonce{ClientID: c.Caller.ClientID, Nonce: c.Request.Header.Get(auth.HeaderNonce)}
}
