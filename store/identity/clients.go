package identity

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

var clientTable = db.TableOf[core.Client]("client", []string{"suspended", "created_by_name", "keepers"},
	[]string{"tenant_id", "created_by", "created_at"})

const clientCreator = `, coalesce((SELECT ` + tenants.UserName + ` FROM user AS r WHERE r.id = substr(client.created_by, 6)
	AND client.created_by LIKE 'user:%'), '') AS created_by_name` + tenants.RecordKeepers

var (
	// SelectClients is the start of a query for clients, followed by a condition.
	SelectClients = "SELECT " + clientTable.Columns + " FROM client WHERE "
	selectClient  = SelectClients + "id = ? AND deleted_at = 0"
	clientList    = tenants.ListByTenant(clientTable.Columns+clientCreator, "client", "client_tenant", "deleted_at = 0",
		false)

	clientAndTenant = "SELECT " + clientTable.Columns + clientCreator + `,
		EXISTS (SELECT 1 FROM tenant WHERE tenant.id = tenant_id AND tenant.status =
		'` + core.TenantSuspended + `') AS suspended
		FROM client WHERE id = ? AND deleted_at = 0`
)

// Client returns an OAuth client. If it doesn't exist, or it or its tenant was deleted, Client returns
// core.ErrNotFound.
func (s *Store) Client(ctx context.Context, id string) (c core.Client, err error) {
	err = s.Get(ctx, &c, clientAndTenant, id)
	return c, err
}

// client returns an OAuth client inside an operation.
func client(tx *db.Tx, id string) (c core.Client, err error) {
	err = tx.Get(&c, selectClient, id)
	return c, err
}

// Clients returns a page of OAuth clients, sorted by id. It covers the given tenants or, if all is set, every client.
// The only error is core.ErrStorage.
func (s *Store) Clients(ctx context.Context, tenants []string, all bool, page core.Page) (cs []core.Client, err error) {
	err = s.AllOf(ctx, &cs, &clientList, tenants, all, page.After, page.Limit)
	return cs, err
}

// AddClient adds an OAuth client created by actor. If its tenant doesn't exist, it returns core.ErrNotFound.
func (s *Store) AddClient(ctx context.Context, c core.Client, actor string) error {
	c.CreatedBy = actor
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("client", c.ID); err != nil {
			return err
		}
		if c.TenantID != "" {
			if _, err := tenants.ReadTenant(tx, c.TenantID); err != nil {
				return err
			}
		}
		_, err := db.InsertRow(tx, &clientTable, &c)
		if err != nil {
			return err
		}
		tx.Kick(db.TopicIdentity)
		return errors.Join(tenants.Keep(tx, c.ID, actor), tellOwners(tx, &c),
			tx.Audit(c.CreatedAt, actor, "client.create", c.TenantID, c.ID))
	})
}

// UpdateClient changes an OAuth client with rule, which runs inside the transaction, and returns the changed client.
// If no such client exists, it returns core.ErrNotFound. It also returns the errors of rule.
func (s *Store) UpdateClient(ctx context.Context, id, actor string, rule func(*core.Client) error) (c core.Client,
	err error,
) {
	var at core.Instant
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("client", id); err != nil {
			return err
		}
		if c, err = client(tx, id); err != nil {
			return err
		}
		at = c.UpdatedAt
		was := c
		if err := rule(&c); err != nil {
			return err
		}
		if !c.OpensAs(was) {
			if err := tenants.Keep(tx, id, actor); err != nil {
				return err
			}
		}
		if c.DisabledAt != 0 && was.DisabledAt == 0 {
			if err := endTokensOf(tx, id, c.DisabledAt); err != nil {
				return err
			}
		}
		err := db.UpdateRow(tx, &clientTable, &c, id)
		if err != nil {
			return err
		}
		tx.Kick(db.TopicIdentity)
		return tx.AuditUpdate(c.UpdatedAt, actor, "client.update", c.TenantID, id)
	})
	return c, db.AsItStood(err, &c.UpdatedAt, at)
}

// DeleteClient deletes an OAuth client and revokes its tokens. The row remains, marked as deleted. If no such client
// exists, it returns core.ErrNotFound.
func (s *Store) DeleteClient(ctx context.Context, id, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("client", id); err != nil {
			return err
		}
		c, err := client(tx, id)
		if err != nil {
			return err
		}
		if err := tx.One("UPDATE client SET deleted_at = ?, updated_at = ? WHERE id = ?", now, now, id); err != nil {
			return err
		}
		tx.Kick(db.TopicIdentity)
		return tx.Audit(now, actor, "client.delete", c.TenantID, id)
	})
}

// PublicRedirectURIs returns the redirect URIs of all public clients. Scripts on those sites may call the provider. The
// only error is core.ErrStorage.
func (s *Store) PublicRedirectURIs(ctx context.Context) (uris []string, err error) {
	err = s.All(ctx, &uris, "SELECT DISTINCT j.value FROM client c, json_each(c.redirect_uris) j WHERE "+
		"c.client_type = 'public' AND c.deleted_at = 0 AND c.disabled_at = 0")
	return uris, err
}

// endTokensOf revokes all tokens of a client, and the codes that could still be exchanged for tokens.
func endTokensOf(tx *db.Tx, clientID string, now core.Instant) error {
	if _, err := tx.Exec(deleteCodesOf, now, clientID); err != nil {
		return err
	}
	if err := tx.One("UPDATE client SET epoch = epoch + 1 WHERE id = ?", clientID); err != nil {
		return err
	}
	_, err := tx.Exec(endFamiliesOf, now, clientID)
	return err
}

const (
	deleteCodesOf = "DELETE FROM code INDEXED BY code_expires WHERE expires_at > ? AND client_id = ?"
	endFamiliesOf = "UPDATE family INDEXED BY family_client SET revoked_at = ? WHERE client_id = ? AND revoked_at = 0"
)

// RestoreClients restores the clients that were deleted with their tenant. The clients are disabled and their tokens
// are revoked. It returns their number.
func RestoreClients(tx *db.Tx, tenantID string, deletedAt, now core.Instant) (int, error) {
	var ids []string
	err := tx.All(&ids, "SELECT id FROM client INDEXED BY client_tenant WHERE tenant_id = ? AND deleted_at = ?", tenantID,
		int64(deletedAt))
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		err := tx.One("UPDATE client SET deleted_at = 0, disabled_at = iif(disabled_at > 0, disabled_at, ?1), "+
			"updated_at = ?1 WHERE id = ?2", int64(now), id)
		if err == nil {
			err = endTokensOf(tx, id, now)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}
