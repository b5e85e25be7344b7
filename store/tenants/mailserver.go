package tenants

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// The ids of the rows of mail_server.
const (
	serverInForce = 1
	serverBefore  = 2
)

// MailServer returns the daemon's own mail server with its password, or the zero value if none is set. If the password
// can't be decrypted, it returns ErrMasterKey.
func (s *Store) MailServer(ctx context.Context) (core.MailServer, error) {
	return s.mailServer(ctx, serverInForce)
}

// MailServerBefore returns the previous mail server with its password. That server is kept for some hours after a
// change; after that, the result is the zero value. ChangedAt is when the server was replaced. It returns the errors of
// MailServer.
func (s *Store) MailServerBefore(ctx context.Context) (core.MailServer, error) {
	return s.mailServer(ctx, serverBefore)
}

func (s *Store) mailServer(ctx context.Context, id int) (m core.MailServer, err error) {
	var row struct {
		Relay     string
		Secret    []byte
		MailFrom  core.Email   `db:"mail_from"`
		ChangedAt core.Instant `db:"changed_at"`
	}
	err = s.Get(ctx, &row, "SELECT relay, secret, mail_from, changed_at FROM mail_server WHERE id = ?", id)
	if errors.Is(err, core.ErrNotFound) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(row.Relay), &m.Relay); err != nil {
		return m, err
	}
	m.From, m.ChangedAt = row.MailFrom, row.ChangedAt
	if len(row.Secret) == 0 {
		return m, nil
	}
	password, err := s.OpenSecret(row.Secret)
	m.Relay.Password = string(password)
	return m, err
}

// SetMailServer replaces the daemon's own mail server with m, which must have passed core.MailServer.Check. It seals
// the password. Server administrators with a verified address are notified by email. language is for administrators who
// haven't chosen one. The only error is core.ErrStorage.
func (s *Store) SetMailServer(ctx context.Context, m *core.MailServer, language, actor string,
	now core.Instant,
) error {
	relay := m.Relay
	secret := []byte{}
	if relay.Password != "" {
		secret = s.Seal([]byte(relay.Password))
	}
	relay.Password = ""
	settings, err := json.Marshal(relay)
	if err != nil {
		return err
	}
	return s.Update(ctx, func(tx *db.Tx) error {
		before, err := replaceServer(tx, now)
		if err != nil {
			return err
		}
		_, err = tx.Exec("INSERT INTO mail_server (id, relay, secret, mail_from, changed_at) VALUES (?, ?, ?, ?, ?)",
			serverInForce, string(settings), secret, string(m.From), int64(now))
		if err != nil {
			return err
		}
		if err := tellOfServer(tx, relay.Address(), language, actor, now); err != nil {
			return err
		}
		tx.Tell("mail_server", before, relay.Address())
		return tx.Audit(now, actor, "mail-server.set", core.TenantNone, relay.Address())
	})
}

// RemoveMailServer removes the daemon's own mail server, so that emails are saved to a folder again. All server
// administrators are notified through the removed server. language is for administrators who haven't chosen one. If no
// server is set, it returns core.ErrNotFound.
func (s *Store) RemoveMailServer(ctx context.Context, language, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		before, err := replaceServer(tx, now)
		if err != nil {
			return err
		}
		if before == "" {
			return core.ErrNotFound
		}
		if err := tellOfServer(tx, "", language, actor, now); err != nil {
			return err
		}
		tx.Tell("mail_server", before, "")
		return tx.Audit(now, actor, "mail-server.remove", core.TenantNone, before)
	})
}

// replaceServer makes the current mail server the previous one, if there is one, and returns its host and port.
func replaceServer(tx *db.Tx, now core.Instant) (address string, err error) {
	var settings string
	err = tx.Get(&settings, "SELECT coalesce((SELECT relay FROM mail_server WHERE id = ?), '')", serverInForce)
	if err != nil || settings == "" {
		return "", err
	}
	var relay core.Relay
	if err := json.Unmarshal([]byte(settings), &relay); err != nil {
		return "", err
	}
	_, err = tx.Exec("INSERT INTO mail_server (id, relay, secret, mail_from, changed_at) SELECT ?1, relay, secret, "+
		"mail_from, ?2 FROM mail_server WHERE id = ?3 ON CONFLICT (id) DO UPDATE SET relay = excluded.relay, secret = "+
		"excluded.secret, mail_from = excluded.mail_from, changed_at = excluded.changed_at",
		serverBefore, int64(now), serverInForce)
	if err != nil {
		return "", err
	}
	_, err = tx.Exec("DELETE FROM mail_server WHERE id = ?", serverInForce)
	return relay.Address(), err
}

// tellOfServer emails all server administrators that emails are now sent through another server. address is its host
// and port, or an empty string if there is no server anymore. language is for administrators who haven't chosen one.
func tellOfServer(tx *db.Tx, address, language, actor string, now core.Instant) error {
	var told []struct {
		Email    core.Email
		Language string
	}
	err := tx.All(&told, "SELECT u.email, u.language FROM role AS r INDEXED BY role_tenant CROSS JOIN user AS u "+
		"ON u.id = r.user_id WHERE r.tenant_id = '' AND r.role = ? AND r.pending = 0 AND u.email_verified = 1 AND "+
		"u.disabled_at = 0 LIMIT 50",
		core.RoleOperator)
	if err != nil {
		return err
	}
	by := ""
	if id := core.ActorUser(actor); id != "" {
		err := tx.Get(&by, "SELECT coalesce((SELECT email FROM user WHERE id = ?), '')", id)
		if err != nil {
			return err
		}
	}
	of := core.AccountMail{Server: &core.ServerMail{Address: address, By: by}}
	for _, to := range told {
		of.Language = cmp.Or(to.Language, language)
		params, err := json.Marshal(of)
		if err != nil {
			return err
		}
		m := core.Mail{Kind: core.MailServerChanged, Email: to.Email, Params: string(params)}
		if err := AddMail(tx, m, now); err != nil {
			return err
		}
	}
	tx.Kick(db.TopicRecords)
	return nil
}
