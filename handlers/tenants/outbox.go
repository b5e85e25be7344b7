package tenants

import (
	"encoding/json"
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/tenants"
)

// outbox serves /api/admin/outbox and /api/admin/mails: events and emails that are queued or failed permanently.
type outbox struct{ store *store.Store }

// revivedAtOnce is the maximum number of dead letters or emails that one request retries.
const revivedAtOnce = 10_000

// outboxRoutes adds the routes for queued events and emails, for server administrators.
func (r *Room) outboxRoutes(t *web.Table) {
	o := outbox{r.Store}
	const events, item, mails = "/api/admin/outbox", "/api/admin/outbox/:id", "/api/admin/mails"
	may := web.Admin(core.ActionOutboxManage)
	one := func(e web.Endpoint) web.Endpoint { return e.Find(o.find).Missing(web.ErrNotFound) }
	t.Add("GET", events, may, web.Member, web.List(o.list, outboxEvent.key),
		"List queued events and dead letters, oldest first").Named("listOutboxEvents")
	t.Add("GET", item, may, web.Member, one(web.Query(o.show)),
		"Show an event with its payload, once per pending endpoint").Named("getOutboxEvent")
	t.Add("POST", item+"/retry", may, web.Member, one(web.JSON(o.retry).BodyOptional()).Fails(core.Conflict),
		"Retry an event now").Named("retryOutboxEvent").
		Example(web.Object{"endpoint_id": web.ExampleID}).
		Refuses(web.Clash("Too many events are queued for the endpoint"))
	t.Add("POST", events+"/retry", may, web.Member, web.JSON(o.retryAll).BodyOptional(),
		"Retry dead letters, at most 10,000").Named("retryDeadLetters").
		Example(web.Object{"tenant_id": web.ExampleID, "event_type": "subscription.activated"})
	t.Add("GET", mails, may, web.Member,
		web.List(o.mails, func(m core.QueuedMail) string { return strconv.FormatInt(m.ID, 10) }),
		"List transactional emails that are queued or failed, oldest first").Named("listQueuedMails")
	t.Add("POST", mails+"/retry", may, web.Member,
		web.JSON(o.retryMails).BodyOptional().Fails(core.NotFound, core.Conflict),
		"Retry one email or all failed ones, at most 10,000").Named("retryMails").
		Limits(web.Never(
			web.Where(web.Object{"id": web.Positive, "tenant_id": web.Filled}),
			web.Where(web.Object{"id": web.Positive, "kind": web.Filled}),
		)).
		Example(web.Object{"tenant_id": web.ExampleID, "kind": "confirm"}).
		Refuses(web.Clash("The link in the email has expired"))
}

// find returns an error if the event in the path has no undelivered rows.
func (a outbox) find(c *web.Call) error {
	if !c.Caller.May(core.ActionOutboxManage, core.TenantNone) {
		return web.ErrNotFound
	}
	_, err := a.store.OutboxEvent(c, c.ID(), "")
	return err
}

// outboxEvent is an event for one receiver, the send service or a webhook, with its delivery state.
type outboxEvent struct {
	ID             string       `json:"event_id"`
	Type           string       `json:"event_type"`
	State          string       `json:"state" enum:"waiting|dead" about:"waiting: will be delivered; dead: won't, unless you retry it"`
	TenantID       string       `json:"tenant_id"`
	ListID         string       `json:"list_id"`
	SubscriptionID string       `json:"subscription_id"`
	EndpointID     string       `json:"endpoint_id,omitempty" about:"Webhook endpoint that receives it; absent: the send service"`
	OccurredAt     core.Instant `json:"occurred_at"`
	DueAt          core.Instant `json:"due_at"`
	Tries          int          `json:"tries"`
	DeadAt         core.Instant `json:"dead_at,omitzero" about:"Time when newsletterd gave up; absent: it didn't"`
	RevivedAt      core.Instant `json:"revived_at,omitzero" about:"Time of the last retry after newsletterd had given up; absent: never"`
	LastError      string       `json:"last_error,omitempty"`

	Event json.RawMessage `json:"event,omitempty" about:"Body of the event; only in the response for a single event"`

	no int64
}

func (e outboxEvent) key() string { return strconv.FormatInt(e.no, 10) }

func outboxEventOf(e *core.OutboxEvent) outboxEvent {
	return outboxEvent{
		ID: e.EventID, Type: e.EventType, State: e.State(), TenantID: e.TenantID, ListID: e.ListID,
		SubscriptionID: e.SubscriptionID, EndpointID: e.EndpointID, OccurredAt: e.OccurredAt, DueAt: e.DueAt,
		Tries: e.Tries, DeadAt: e.DeadAt, RevivedAt: e.RevivedAt, LastError: e.LastError, no: e.ID,
	}
}

// outboxFilter filters the list of events.
type outboxFilter struct {
	TenantID   string `query:"tenant_id"`
	ListID     string `query:"list_id"`
	EndpointID string `query:"endpoint_id" about:"Only events for this webhook endpoint"`
	Type       string `query:"event_type" enum:"subscription.activated|subscription.unsubscribed|preferences.updated|webhook.events_dropped|import.completed|import.undone|bulk_action.ended"`
	State      string `query:"state" enum:"waiting|dead" about:"Only events in this state"`
}

// numberOf returns the number in a row's key, or 0 if the key has none. No row has the number 0.
func numberOf(key string) int64 {
	n, _ := strconv.ParseInt(key, 10, 64)
	return n
}

func (a outbox) list(c *web.Call, in outboxFilter, page core.Page) ([]outboxEvent, error) {
	found, err := a.store.OutboxEvents(c, tenants.OutboxFilter{
		TenantID: in.TenantID, ListID: in.ListID, Type: in.Type, State: in.State, EndpointID: in.EndpointID,
	}, numberOf(page.After), page.Limit)
	return web.RowsOf(found, outboxEventOf), err
}

// oneReceiver filters an event's deliveries by endpoint.
type oneReceiver struct {
	EndpointID string `query:"endpoint_id" about:"Only the delivery to this webhook endpoint"`
}

// show returns an event's undelivered rows, one for each receiver.
func (a outbox) show(c *web.Call, in oneReceiver) ([]outboxEvent, error) {
	found, err := a.store.OutboxEvent(c, c.ID(), in.EndpointID)
	return web.RowsOf(found, func(e *core.OutboxEvent) outboxEvent {
		row := outboxEventOf(e)
		row.Event = json.RawMessage(e.Body)
		return row
	}), err
}

// revived holds the number of events or emails that will be retried.
type revived struct {
	Retried int64 `json:"retried" about:"Number of events or emails that will be tried again"`
	More    bool  `json:"more" about:"Whether to send the request again for the rest"`
}

// retryEvent is the body of POST /api/admin/outbox/:id/retry.
type retryEvent struct {
	EndpointID string `json:"endpoint_id" about:"Only for this webhook endpoint; empty: all receivers"`
}

func (a outbox) retry(c *web.Call, in retryEvent) (r revived, err error) {
	found, err := a.store.OutboxEvent(c, c.ID(), in.EndpointID)
	for i := range found {
		if err == nil {
			err = a.store.RetryEvent(c, found[i].ID, web.Actor(c), c.Now)
			r.Retried++
		}
	}
	return r, err
}

// retryEvents is the body of POST /api/admin/outbox/retry. It filters the dead letters; an empty body means all.
type retryEvents struct {
	TenantID   string `json:"tenant_id" about:"Only events of this tenant; empty: all tenants"`
	ListID     string `json:"list_id" about:"Only events of this list; empty: all lists"`
	EndpointID string `json:"endpoint_id" about:"Only events for this webhook endpoint; empty: all receivers"`
	Type       string `json:"event_type" enum:"subscription.activated|subscription.unsubscribed|preferences.updated|webhook.events_dropped|import.completed|import.undone|bulk_action.ended" about:"Only events of this type; empty: all types"`
}

func (a outbox) retryAll(c *web.Call, in retryEvents) (r revived, err error) {
	f := tenants.OutboxFilter{TenantID: in.TenantID, ListID: in.ListID, Type: in.Type, EndpointID: in.EndpointID}
	return revive(func(limit int) (int64, error) { return a.store.RetryDead(c, f, limit, web.Actor(c), c.Now) })
}

// revive calls retry until it retries fewer rows than the limit, or until revivedAtOnce rows were retried.
func revive(retry func(limit int) (int64, error)) (r revived, err error) {
	const step = 500
	for r.More = true; r.More && r.Retried < revivedAtOnce && err == nil; {
		var n int64
		n, err = retry(step)
		r.Retried += n
		r.More = n == step
	}
	return r, err
}

// mailFilter filters the list of emails.
type mailFilter struct {
	TenantID string `query:"tenant_id"`
	Kind     string `query:"kind" about:"Only emails of this kind, such as confirm or reset"`
	State    string `query:"state" enum:"waiting|failed" about:"Only emails in this state"`
}

func (a outbox) mails(c *web.Call, in mailFilter, page core.Page) ([]core.QueuedMail, error) {
	return a.store.QueuedMails(c, tenants.MailFilter{TenantID: in.TenantID, Kind: in.Kind, State: in.State},
		numberOf(page.After), page.Limit)
}

// retryMails is the body of POST /api/admin/mails/retry. It identifies one email, or filters those that failed
// permanently; an empty body means all of them.
type retryMails struct {
	ID       int    `json:"id" like:"whole" about:"Number of the email; 0 means all that match the other fields"`
	TenantID string `json:"tenant_id" about:"Only emails of this tenant; empty: all"`
	Kind     string `json:"kind" about:"Only emails of this kind, such as confirm or reset; empty: all kinds"`
}

// CheckInput returns an error if the request has both an id and a filter.
func (in *retryMails) CheckInput() error {
	switch {
	case in.ID < 0:
		return core.Invalidf("id", "id must be the number of a queued email.")
	case in.ID != 0 && (in.TenantID != "" || in.Kind != ""):
		return core.Invalidf("id", "id already selects one email. Leave out tenant_id and kind.")
	}
	return nil
}

func (a outbox) retryMails(c *web.Call, in retryMails) (r revived, err error) {
	if in.ID != 0 {
		return revived{Retried: 1}, a.store.RetryMail(c, int64(in.ID), web.Actor(c), c.Now)
	}
	f := tenants.MailFilter{TenantID: in.TenantID, Kind: in.Kind}
	return revive(func(limit int) (int64, error) { return a.store.RetryFailedMails(c, f, limit, web.Actor(c), c.Now) })
}
