package tenants

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

const webhookClientColumns = "id, tenant_id, name, disabled_at, created_at, updated_at"

// WebhookSender returns a webhook client with its keys, even if it is disabled. If it doesn't exist, it returns
// core.ErrNotFound.
func (s *Store) WebhookSender(ctx context.Context, id string) (*core.WebhookSender, error) {
	w, age := s.senders.Get(id)
	if w != nil {
		return w, nil
	}
	var row struct {
		core.WebhookClient
		Secret    []byte `db:"secret"`
		OldSecret []byte `db:"old_secret"`
	}
	err := s.Get(ctx, &row, "SELECT "+webhookClientColumns+", secret, old_secret FROM webhook_client WHERE id = ?", id)
	if err != nil {
		return nil, err
	}
	w = &core.WebhookSender{WebhookClient: row.WebhookClient}
	for _, sealed := range [][]byte{row.Secret, row.OldSecret} {
		if len(sealed) == 0 {
			continue
		}
		key, err := s.OpenSecret(sealed)
		if err != nil {
			return nil, err
		}
		w.Keys = append(w.Keys, key)
	}
	s.senders.Put(id, w, age)
	return w, nil
}

// WebhookClients returns a page of webhook clients, sorted by id. The only error is core.ErrStorage.
func (s *Store) WebhookClients(ctx context.Context, page core.Page) ([]core.WebhookClient, error) {
	var w []core.WebhookClient
	err := s.All(ctx, &w, "SELECT "+webhookClientColumns+" FROM webhook_client WHERE id > ? ORDER BY id LIMIT +?",
		page.After, page.Limit)
	return w, err
}

var webhookClientList = ListByTenant(webhookClientColumns, "webhook_client", "webhook_client_tenant", "true", false)

// WebhookClientsAmong is like WebhookClients, but covers only the given tenants unless all is set. It always includes
// clients that serve every tenant. The only error is core.ErrStorage.
func (s *Store) WebhookClientsAmong(ctx context.Context, tenants []string, all bool, page core.Page) (
	ws []core.WebhookClient, err error,
) {
	err = s.AllOf(ctx, &ws, &webhookClientList, tenants, all, page.After, page.Limit)
	return ws, err
}

// WebhookClient returns a client. If it doesn't exist, WebhookClient returns core.ErrNotFound.
func (s *Store) WebhookClient(ctx context.Context, id string) (w core.WebhookClient, err error) {
	err = s.Get(ctx, &w, "SELECT "+webhookClientColumns+" FROM webhook_client WHERE id = ?", id)
	return w, err
}

// AddWebhookClient adds a client of a tenant with its 32-byte key. An empty tenantID means a client for all tenants.
// If the tenant doesn't exist, it returns core.ErrNotFound. If the tenant already has core.MaxWebhookClients, it
// returns a Conflict.
func (s *Store) AddWebhookClient(ctx context.Context, tenantID, name string, key []byte, actor string,
	now core.Instant,
) (w core.WebhookClient, err error) {
	w = core.WebhookClient{ID: core.NewID(), TenantID: tenantID, Name: name, CreatedAt: now, UpdatedAt: now}
	sealed := s.Seal(key)
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("webhook_client", w.ID); err != nil {
			return err
		}
		if tenantID != "" {
			if _, err := ReadTenant(tx, tenantID); err != nil {
				return err
			}
			n, err := tx.Number("SELECT count(*) FROM webhook_client WHERE tenant_id = ?", tenantID)
			if err != nil {
				return err
			}
			if n >= core.MaxWebhookClients {
				return core.Conflictf("conflict",
					"A tenant can have at most %d webhook clients. Delete one first.", n)
			}
		}
		if err := addWebhookClient(tx, w, sealed); err != nil {
			return err
		}
		return tx.Audit(now, actor, "webhook-client.create", tenantID, w.ID)
	})
	return w, err
}

func addWebhookClient(tx *db.Tx, w core.WebhookClient, sealed []byte) error {
	tx.Kick(db.TopicRecords)
	_, err := tx.Exec("INSERT INTO webhook_client (id, tenant_id, name, secret, created_at, updated_at) VALUES (?, "+
		"?, ?, ?, ?, ?)",
		w.ID, w.TenantID, w.Name, sealed, int64(w.CreatedAt), int64(w.UpdatedAt))
	return err
}

// EnsureLoopClient creates the client that the daemon uses to send events to itself, unless the client exists. key is
// the new client's key. The only error is core.ErrStorage.
func (s *Store) EnsureLoopClient(ctx context.Context, key []byte, now core.Instant) error {
	sealed := s.Seal(key)
	return s.Update(ctx, func(tx *db.Tx) error {
		var n int
		if err := tx.Get(&n, "SELECT count(*) FROM webhook_client WHERE id = ?",
			core.LoopClientID); err != nil || n > 0 {
			return err
		}
		return addWebhookClient(tx, core.WebhookClient{
			ID: core.LoopClientID, Name: "this daemon", CreatedAt: now,
			UpdatedAt: now,
		}, sealed)
	})
}

// RotateWebhookSecret gives a client a new key. The previous key stays valid until EndWebhookRotation, so no event is
// lost while the sender switches. If no such client exists, it returns core.ErrNotFound. If an earlier key is still
// valid, it returns core.ErrSecretStands.
func (s *Store) RotateWebhookSecret(ctx context.Context, id string, key []byte, actor string, now core.Instant) error {
	sealed := s.Seal(key)
	return s.ChangeRecord(ctx, "webhook_client", id, "webhook-client.rotate", actor, now, func(tx *db.Tx) error {
		if err := NoOldSecret(tx, "webhook_client", "id", id); err != nil {
			return err
		}
		return tx.One("UPDATE webhook_client SET old_secret = secret, secret = ?, updated_at = ? WHERE id = ?", sealed,
			int64(now), id)
	})
}

// NoOldSecret returns core.ErrSecretStands if the record with the given key in a table still has its previous secret.
// Another new secret would invalidate the one in use.
func NoOldSecret(tx *db.Tx, table, key, id string) error {
	var stands bool
	err := tx.Get(&stands, "SELECT length(old_secret) > 0 FROM "+table+" WHERE "+key+" = ?", id)
	if err == nil && stands {
		return core.ErrSecretStands
	}
	return err
}

// EndWebhookRotation invalidates the older key of a client. If no such client exists, it returns core.ErrNotFound.
func (s *Store) EndWebhookRotation(ctx context.Context, id, actor string, now core.Instant) error {
	return s.ChangeRecord(ctx, "webhook_client", id, "webhook-client.end-rotation", actor, now, func(tx *db.Tx) error {
		return tx.One("UPDATE webhook_client SET old_secret = x'', updated_at = ? WHERE id = ?", int64(now), id)
	})
}

// WebhookClientChange is a change to a client. Nil fields stay unchanged.
type WebhookClientChange struct {
	Name     *string
	Disabled *bool // requests of a disabled client get status 403
}

// UpdateWebhookClient renames, disables or enables a client. If no such client exists, it returns core.ErrNotFound.
func (s *Store) UpdateWebhookClient(ctx context.Context, id string, change WebhookClientChange, actor string,
	now core.Instant,
) error {
	return s.ChangeRecord(ctx, "webhook_client", id, "webhook-client.update", actor, now, func(tx *db.Tx) error {
		return tx.One(`UPDATE webhook_client SET name = coalesce(?1, name), updated_at = ?3, disabled_at =
			CASE WHEN ?2 IS NULL OR ?2 = (disabled_at <> 0) THEN disabled_at ELSE ?2 * ?3 END WHERE id = ?4`,
			change.Name, change.Disabled, int64(now), id)
	})
}

// DeleteWebhookClient removes a client. If no such client exists, it returns core.ErrNotFound. For the daemon's own
// client, it returns core.ErrConflict.
func (s *Store) DeleteWebhookClient(ctx context.Context, id, actor string, now core.Instant) error {
	if id == core.LoopClientID {
		return core.Conflictf("conflict",
			"newsletterd uses this webhook client itself. Disable it instead of deleting it.")
	}
	return s.RemoveRecord(ctx, "webhook_client", id, "webhook-client.delete", actor, now)
}
