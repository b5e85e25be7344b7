package tenants

import (
	"context"
	"math"
	"strconv"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// EndpointPatience is the time after which an endpoint is disabled if all deliveries to it fail.
const EndpointPatience = 5 * 24 * time.Hour

// EndpointColumns are the columns of a webhook endpoint without its secrets.
const EndpointColumns = "id, tenant_id, list_id, name, url, events, old_until, failing_since, disabled_at, " +
	"disabled_reason, created_by, created_at, updated_at, waiting, waiting_bytes, dropped_id > 0 AS dropping" + endpointCreator +
	RecordKeepers

// endpointCreator is the SQL expression for the column with the name of the user or client that created an endpoint.
const endpointCreator = `, coalesce(CASE WHEN webhook_endpoint.created_by LIKE 'user:%' THEN (SELECT ` + UserName + `
	FROM user AS r WHERE r.id = substr(webhook_endpoint.created_by, 6))
	WHEN webhook_endpoint.created_by LIKE 'client:%' THEN (SELECT r.name FROM client AS r
	WHERE r.id = substr(webhook_endpoint.created_by, 8)) END, '') AS created_by_name`

var (
	insertEndpoint = db.InsertInto("webhook_endpoint",
		"id, tenant_id, list_id, name, url, events, secret, disabled_at, disabled_reason, created_by, created_at, "+
			"updated_at")
	insertEndpointAttempt = db.InsertInto("endpoint_attempt",
		"endpoint_id, event_id, event_type, at, outcome, status, took_ms, reason")
)

// EndpointsOf returns the active endpoints of a tenant. The caller must not change the result.
func EndpointsOf(tx *db.Tx, tenantID string) ([]core.Endpoint, error) {
	tenants, age := gatheredIn(tx).store.endpoints.Get("")
	if tenants == nil {
		var all []core.Endpoint
		if err := tx.All(&all,
			"SELECT "+EndpointColumns+" FROM webhook_endpoint WHERE disabled_at = 0 ORDER BY id"); err != nil {
			return nil, err
		}
		tenants = map[string][]core.Endpoint{}
		for _, e := range all {
			tenants[e.TenantID] = append(tenants[e.TenantID], e)
		}
		if !tx.Kicked(db.TopicRecords) { // don't cache: this operation's own changes may be rolled back
			gatheredIn(tx).store.endpoints.Put("", tenants, age)
		}
	}
	return tenants[tenantID], nil
}

// AddToEndpoints adds an event to the outbox for each endpoint of its tenant that wants it.
func AddToEndpoints(tx *db.Tx, e *core.Event, now core.Instant) error {
	endpoints, err := EndpointsOf(tx, e.TenantID)
	for i := range endpoints {
		if err == nil && endpoints[i].Wants(e.ListID, e.Type) {
			err = putToEndpoint(tx, e, endpoints[i].ID, now)
		}
	}
	return err
}

// logAttempt logs an attempt to deliver an event to an endpoint. It disables the endpoint if it has failed for too long
// or its receiver wants no more events.
func logAttempt(tx *db.Tx, r *EventResult, now core.Instant) error {
	e, outcome := r.Event, core.AttemptRetry
	switch {
	case r.Done:
		outcome = core.AttemptDelivered
	case r.Dead:
		outcome = core.AttemptDead
	}
	// The response may contain the address, and the person may be erased before the log expires.
	told := core.MaskAddresses(r.Reason)
	err := addEndpointAttempt(tx, core.EndpointAttempt{
		EndpointID: e.EndpointID, EventID: e.EventID, EventType: e.EventType, At: now, Outcome: outcome,
		Status: r.Status, TookMS: r.Took.Milliseconds(), Reason: told,
	})
	if err != nil {
		return err
	}
	if r.Done {
		_, err = tx.Exec("UPDATE webhook_endpoint SET failing_since = 0 WHERE id = ? AND failing_since > 0",
			e.EndpointID)
		return err
	}
	_, err = tx.Exec("UPDATE webhook_endpoint SET failing_since = ? WHERE id = ? AND failing_since = 0", int64(now),
		e.EndpointID)
	if err != nil {
		return err
	}
	reason, before := "no delivery has succeeded for five days, the last: "+told, now.Add(-EndpointPatience)
	if r.Gone {
		reason, before = "it wants no more events: "+told, now
	}
	n, err := tx.Exec(`UPDATE webhook_endpoint SET disabled_at = ?1, disabled_reason = ?2, updated_at = ?1
		WHERE id = ?3 AND disabled_at = 0 AND failing_since <= ?4`, int64(now), reason, e.EndpointID, int64(before))
	if err != nil || n == 0 {
		return err
	}
	tx.Kick(db.TopicRecords)
	tx.Tell("disabled_at", nil, now)
	tx.Tell("disabled_reason", nil, reason)
	return tx.Audit(now, "daemon", "webhook-endpoint.disable", e.TenantID, e.EndpointID)
}

func addEndpointAttempt(tx *db.Tx, a core.EndpointAttempt) error {
	_, err := tx.Exec(insertEndpointAttempt, a.EndpointID, a.EventID, a.EventType, int64(a.At), a.Outcome, a.Status,
		a.TookMS, a.Reason)
	return err
}

// AddEndpointAttempt logs an attempt that delivers no event from the outbox, such as a test. The attempt doesn't affect
// how long the endpoint counts as failing. The only error is core.ErrStorage.
func (s *Store) AddEndpointAttempt(ctx context.Context, a core.EndpointAttempt) error {
	return s.Update(ctx, func(tx *db.Tx) error { return addEndpointAttempt(tx, a) })
}

// ExpireEvents turns up to limit events of an endpoint into dead letters. It takes events that were already waiting at
// the given instant. It is needed because a failing endpoint is tried with only one event, so the others would never
// expire. The only error is core.ErrStorage.
func (s *Store) ExpireEvents(ctx context.Context, endpointID, reason string, before, now core.Instant,
	limit int,
) (n int64, err error) {
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		var rows []struct {
			ID    int64 `db:"id"`
			Bytes int64 `db:"bytes"`
		}
		err = tx.All(&rows, `SELECT id, octet_length(body) AS bytes FROM outbox INDEXED BY outbox_age WHERE dead_at = 0 AND endpoint_id = ? AND
			endpoint_id > '' AND max(occurred_at, revived_at) < ? LIMIT +?`, endpointID, int64(before), limit)
		n = int64(len(rows))
		for _, r := range rows {
			if err == nil {
				_, err = tx.Exec("UPDATE outbox SET dead_at = ?, last_error = ? WHERE id = ?", int64(now), reason, r.ID)
			}
			WaitsNoMore(tx, endpointID, r.Bytes)
		}
		return err
	})
	return n, err
}

// ActiveEndpoints returns the ids of all endpoints that are not disabled. The only error is core.ErrStorage.
func (s *Store) ActiveEndpoints(ctx context.Context) (ids []string, err error) {
	err = s.All(ctx, &ids, "SELECT id FROM webhook_endpoint WHERE disabled_at = 0 ORDER BY id")
	return ids, err
}

// DisabledEndpoints returns the number of disabled endpoints. The only error is core.ErrStorage.
func (s *Store) DisabledEndpoints(ctx context.Context) (n int64, err error) {
	err = s.Get(ctx, &n, "SELECT count(*) FROM webhook_endpoint WHERE disabled_at > 0")
	return n, err
}

// Endpoint returns an endpoint. If it doesn't exist, Endpoint returns core.ErrNotFound.
func (s *Store) Endpoint(ctx context.Context, id string) (e core.Endpoint, err error) {
	err = s.Get(ctx, &e, "SELECT "+EndpointColumns+" FROM webhook_endpoint WHERE id = ?", id)
	return e, err
}

// EndpointKeys returns an endpoint with its keys. If it doesn't exist, EndpointKeys returns core.ErrNotFound.
func (s *Store) EndpointKeys(ctx context.Context, id string, now core.Instant) (*core.EndpointKeys, error) {
	var row struct {
		core.Endpoint
		Secret    []byte `db:"secret"`
		OldSecret []byte `db:"old_secret"`
	}
	if err := s.Get(ctx, &row, "SELECT "+EndpointColumns+", secret, old_secret FROM webhook_endpoint WHERE id = ?",
		id); err != nil {
		return nil, err
	}
	e := &core.EndpointKeys{Endpoint: row.Endpoint}
	secrets := [][]byte{row.Secret}
	if row.OldUntil > now && len(row.OldSecret) > 0 {
		secrets = append(secrets, row.OldSecret)
	}
	for _, sealed := range secrets {
		key, err := s.OpenSecret(sealed)
		if err != nil {
			return nil, err
		}
		e.Keys = append(e.Keys, key)
	}
	return e, nil
}

var endpointList = ListByTenant(EndpointColumns, "webhook_endpoint", "webhook_endpoint_tenant", "true", false)

// Endpoints returns a page of endpoints, sorted by id. It covers the given tenants or, if all is set, every tenant. The
// only error is core.ErrStorage.
func (s *Store) Endpoints(ctx context.Context, tenants []string, all bool, page core.Page) (es []core.Endpoint,
	err error,
) {
	err = s.AllOf(ctx, &es, &endpointList, tenants, all, page.After, page.Limit)
	return es, err
}

// AddEndpoint adds an endpoint with its 32-byte key. If the tenant doesn't exist, it returns core.ErrNotFound. If the
// tenant already has core.MaxEndpoints, it returns a Conflict. If the list does not belong to the tenant, it returns an
// Invalid error on list_id.
func (s *Store) AddEndpoint(ctx context.Context, e core.Endpoint, key []byte, actor string) error {
	sealed := s.Seal(key)
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("webhook_endpoint", e.ID); err != nil {
			return err
		}
		if _, err := ReadTenant(tx, e.TenantID); err != nil {
			return err
		}
		if err := checkEndpointList(tx, &e); err != nil {
			return err
		}
		var n int
		err := tx.Get(&n, "SELECT count(*) FROM webhook_endpoint WHERE tenant_id = ?", e.TenantID)
		if err != nil {
			return err
		}
		if n >= core.MaxEndpoints {
			return core.Conflictf("conflict", "A tenant can have at most %d webhook endpoints. Delete one first.", n)
		}
		tx.Kick(db.TopicRecords)
		_, err = tx.Exec(insertEndpoint, e.ID, e.TenantID, e.ListID, e.Name, e.URL, e.Events.Column(), sealed,
			int64(e.DisabledAt), e.DisabledReason, actor, int64(e.CreatedAt), int64(e.UpdatedAt))
		if err != nil {
			return err
		}
		if err := Keep(tx, e.ID, actor); err != nil {
			return err
		}
		return tx.Audit(e.CreatedAt, actor, "webhook-endpoint.create", e.TenantID, e.ID)
	})
}

func checkEndpointList(tx *db.Tx, e *core.Endpoint) error {
	if e.ListID == "" {
		return nil
	}
	_, err := ListOf(tx, e.TenantID, e.ListID)
	return err
}

// EndpointChange is a change to an endpoint's fields, state and keys.
type EndpointChange struct {
	core.EndpointInput
	Disabled *bool
	NewKey   []byte        // nil keeps the key
	Overlap  time.Duration // how long the previous key also signs
	EndOld   bool          // whether the previous key stops signing now
}

// UpdateEndpoint changes an endpoint and returns it. The waiting events of an endpoint that is enabled again are
// delivered. If the endpoint doesn't exist, UpdateEndpoint returns core.ErrNotFound. If c has a new key while an
// earlier one still signs, it returns core.ErrSecretStands.
func (s *Store) UpdateEndpoint(ctx context.Context, id string, c EndpointChange, actor string,
	now core.Instant,
) (e core.Endpoint, err error) {
	var sealed []byte
	if c.NewKey != nil {
		sealed = s.Seal(c.NewKey)
	}
	var at core.Instant
	var url string // URL before the change
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("webhook_endpoint", id); err != nil {
			return err
		}
		err := tx.Get(&e, "SELECT "+EndpointColumns+" FROM webhook_endpoint WHERE id = ?", id)
		if err == nil {
			at, url = e.UpdatedAt, e.URL
			err = e.Change(c.EndpointInput, now)
		}
		if err == nil {
			err = checkEndpointList(tx, &e)
		}
		if err != nil {
			return err
		}
		if c.Disabled != nil {
			e.DisabledAt, e.DisabledReason, e.FailingSince = 0, "", 0
			if *c.Disabled {
				e.DisabledAt, e.DisabledReason = now, core.DisabledByPerson
			}
		}
		if sealed != nil {
			if e.OldUntil > now && !c.EndOld {
				return core.ErrSecretStands
			}
			e.OldUntil = now.Add(c.Overlap)
			if _, err := tx.Exec("UPDATE webhook_endpoint SET old_secret = secret, secret = ? WHERE id = ?", sealed,
				id); err != nil {
				return err
			}
		}
		if c.EndOld {
			e.OldUntil = 0
		}
		tx.Kick(db.TopicRecords)
		tx.Kick(db.TopicEndpoints) // try a failing endpoint again now
		_, err = tx.Exec(`UPDATE webhook_endpoint SET list_id = ?, name = ?, url = ?, events = ?, old_until = ?,
			failing_since = ?, disabled_at = ?,
			disabled_reason = ?, updated_at = ? WHERE id = ?`, e.ListID, e.Name, e.URL, e.Events.Column(),
			int64(e.OldUntil), int64(e.FailingSince),
			int64(e.DisabledAt), e.DisabledReason, int64(now), id)
		if err == nil && (sealed != nil || e.URL != url) {
			e.Keepers = e.Keepers.With(actor, tx.ActingClient())
			err = Keep(tx, id, actor)
		}
		if err != nil {
			return err
		}
		return tx.AuditUpdate(now, actor, "webhook-endpoint.update", e.TenantID, id)
	})
	return e, db.AsItStood(err, &e.UpdatedAt, at)
}

// DeleteEndpoint removes an endpoint. Housekeeping later removes its waiting events. If it doesn't exist,
// DeleteEndpoint returns core.ErrNotFound.
func (s *Store) DeleteEndpoint(ctx context.Context, id, actor string, now core.Instant) error {
	return s.RemoveRecord(ctx, "webhook_endpoint", id, "webhook-endpoint.delete", actor, now)
}

// EndpointAttempts returns a page of an endpoint's log, newest first. If failed is true, it includes only failed
// attempts. page.After is the number of the last attempt on the previous page. If it is not a number, EndpointAttempts
// returns core.ErrInvalidCursor.
func (s *Store) EndpointAttempts(ctx context.Context, endpointID string, failed bool, page core.Page) (
	as []core.EndpointAttempt, err error,
) {
	before := int64(math.MaxInt64)
	if page.After != "" {
		if before, err = strconv.ParseInt(page.After, 10, 64); err != nil {
			return nil, core.ErrInvalidCursor
		}
	}
	err = s.All(ctx, &as,
		`SELECT id, endpoint_id, event_id, event_type, at, outcome, status, took_ms, reason FROM
			endpoint_attempt INDEXED BY
		endpoint_attempt_endpoint
		WHERE endpoint_id = ? AND (NOT ? OR outcome <> 'delivered') AND id < ? ORDER BY id DESC
		LIMIT +?`, endpointID, failed,
		before, page.Limit)
	return as, err
}

// The limit on endpoint tests per tenant and hour. Each test is a request to an address that the tenant chooses.
const (
	endpointTests       = 60
	endpointTestsWindow = time.Hour
)

// CountEndpointTest counts a test of an endpoint. If the tenant is over its limit, it returns core.ErrTooMany.
func (s *Store) CountEndpointTest(ctx context.Context, tenantID string, now core.Instant) error {
	wait, err := s.Throttle(ctx, "endpoint-test:"+tenantID, endpointTests, endpointTestsWindow, now)
	if err != nil || wait == 0 {
		return err
	}
	return &core.Error{
		Kind: core.TooMany, Code: "rate_limited", Message: "Too many webhook endpoint tests. Try again later.",
		RetryAfter: int(wait/time.Second) + 1,
	}
}

// UserName is the SQL expression for the name of the user in the row r or, without a name, the user's address. It
// doesn't replace core.DefaultName with the address, because more people may see the team's names than its addresses.
const UserName = "coalesce(nullif(r.name, ''), r.email)"
