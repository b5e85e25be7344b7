package identity

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// maxOwners is the maximum number of people who are notified of a new client.
const maxOwners = 50

// A recipient gets at most clientsPer of these emails per tenant and period. Another email at the end of the period
// lists the clients that were created later.
const (
	clientPeriod   = time.Hour
	clientsPer     = 5
	maxClientNames = 10 // names in that email
)

// selectOwners is a query for the verified addresses of user ?3, who comes first, and of a tenant's administrators or
// the server administrators.
const selectOwners = `SELECT u.email FROM user AS u WHERE u.id IN (SELECT user_id FROM role WHERE tenant_id = ?1
	AND role = ?2 AND pending = 0 UNION SELECT ?3) AND u.email_verified = 1 AND u.disabled_at = 0
	ORDER BY u.id = ?3 DESC, u.id LIMIT +?4`

// tellOwners emails the people responsible for a new client's tenant, or for the server, and the user who created the
// client, because a client outlives the session that created it. If a tenant has no administrators, the server
// administrators are responsible.
func tellOwners(tx *db.Tx, c *core.Client) error {
	creator := core.ActorUser(c.CreatedBy)
	var owners []core.Email
	if c.TenantID != core.TenantNone {
		err := tx.All(&owners, selectOwners, c.TenantID, core.RoleTenantAdmin, creator, maxOwners)
		if err != nil {
			return err
		}
	}
	if len(owners) == 0 {
		if err := tx.All(&owners, selectOwners, core.TenantNone, core.RoleOperator, creator, maxOwners); err != nil {
			return err
		}
	}
	for _, email := range owners {
		n, until, err := tx.Tally("clients "+c.TenantID+" "+email.Key(), clientPeriod, c.CreatedAt)
		if err != nil {
			return err
		}
		m := core.Mail{Kind: core.MailClientAdded, TenantID: c.TenantID, Email: email, TokenID: c.ID}
		switch {
		case n > clientsPer+1:
			continue // the waiting email will list this client too
		case n > clientsPer:
			m = core.ClientsMail(email, c.TenantID, c.CreatedAt, until)
		}
		if err := tenants.AddMail(tx, m, c.CreatedAt); err != nil {
			return err
		}
	}
	return nil
}

// ClientsMail returns the contents of the email about the clients of a tenant, or of the server, that were created
// since the given time. If none of them remains, it returns core.ErrNotFound.
func (s *Store) ClientsMail(ctx context.Context, tenantID string, since core.Instant) (m core.ClientMail, err error) {
	var names []string
	err = s.All(ctx, &names, "SELECT name FROM client INDEXED BY client_tenant WHERE tenant_id = ? AND created_at >= ? "+
		"AND deleted_at = 0 ORDER BY created_at, id", tenantID, int64(since))
	if err == nil && len(names) == 0 {
		err = core.ErrNotFound
	}
	m = core.ClientMail{Name: strings.Join(names[:min(len(names), maxClientNames)], ", "), At: since}
	if more := len(names) - maxClientNames; more > 0 {
		m.Name += ", … (" + strconv.Itoa(len(names)) + ")"
	}
	return m, err
}

// ClientMail returns the contents of the email about a new client. If the client no longer exists, it returns
// core.ErrNotFound.
func (s *Store) ClientMail(ctx context.Context, id string) (m core.ClientMail, err error) {
	c, err := s.Client(ctx, id)
	if err != nil {
		return m, err
	}
	m = core.ClientMail{Name: c.Name, Scopes: strings.Join(c.Scopes, ", "), At: c.CreatedAt}
	kind, creator, _ := strings.Cut(c.CreatedBy, ":")
	switch kind {
	case "user":
		u, err := s.User(ctx, creator)
		if errors.Is(err, core.ErrNotFound) {
			return m, nil
		}
		m.By = u.NameInMails()
		return m, err
	case "client":
		by, err := s.Client(ctx, creator)
		if errors.Is(err, core.ErrNotFound) {
			return m, nil
		}
		m.By = by.Name
		return m, err
	}
	return m, nil
}

var (
	clientsKept = tenants.KeptBy + "SELECT " + clientTable.Columns + " FROM client WHERE id IN (SELECT id FROM kept) " +
		"AND disabled_at = 0 AND deleted_at = 0 ORDER BY id"
	endpointsKept = tenants.KeptBy + "SELECT " + tenants.EndpointColumns + " FROM webhook_endpoint WHERE id IN " +
		"(SELECT id FROM kept) AND disabled_at = 0 ORDER BY id"
)

func keptBy(q db.Querier, userID string) (m core.Made, err error) {
	err = q.All(&m.Clients, clientsKept, core.UserActor(userID))
	if err == nil {
		err = q.All(&m.Endpoints, endpointsKept, core.UserActor(userID))
	}
	return m, err
}

// KeptBy returns the clients and endpoints that a user is a keeper of, sorted by id. The only error is core.ErrStorage.
func (s *Store) KeptBy(ctx context.Context, userID string) (core.Made, error) {
	return keptBy(s.Reads(ctx), userID)
}

// DisableKeptBy disables the clients and endpoints that a user is a keeper of, if the rules client and endpoint allow
// it. It returns the disabled ones and those that are still active. The only error is core.ErrStorage.
func (s *Store) DisableKeptBy(ctx context.Context, userID, actor string, now core.Instant,
	client func(*core.Client) bool, endpoint func(*core.Endpoint) bool,
) (disabled, active core.Made, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		all, err := keptBy(tx, userID)
		if err != nil {
			return err
		}
		disabled, active = all.Only(client, endpoint)
		for i := range disabled.Clients {
			if err := disableClient(tx, &disabled.Clients[i], actor, now); err != nil {
				return err
			}
		}
		for i := range disabled.Endpoints {
			if err := disableEndpoint(tx, &disabled.Endpoints[i], actor, now); err != nil {
				return err
			}
		}
		return nil
	})
	return disabled, active, err
}

func disableEndpoint(tx *db.Tx, e *core.Endpoint, actor string, now core.Instant) error {
	if err := tx.Watch("webhook_endpoint", e.ID); err != nil {
		return err
	}
	e.DisabledAt, e.DisabledReason, e.UpdatedAt = now, core.DisabledByPerson, now
	err := tx.One("UPDATE webhook_endpoint SET disabled_at = ?1, disabled_reason = ?2, failing_since = 0, updated_at = ?1 "+
		"WHERE id = ?3", int64(now), e.DisabledReason, e.ID)
	if err != nil {
		return err
	}
	tx.Kick(db.TopicRecords)
	tx.Kick(db.TopicEndpoints)
	return tx.Audit(now, actor, "webhook-endpoint.update", e.TenantID, e.ID)
}

func disableClient(tx *db.Tx, c *core.Client, actor string, now core.Instant) error {
	if err := tx.Watch("client", c.ID); err != nil {
		return err
	}
	c.DisabledAt, c.UpdatedAt = now, now
	if err := db.UpdateRow(tx, &clientTable, c, c.ID); err != nil {
		return err
	}
	if err := endTokensOf(tx, c.ID, now); err != nil {
		return err
	}
	tx.Kick(db.TopicIdentity)
	return tx.Audit(now, actor, "client.update", c.TenantID, c.ID)
}
