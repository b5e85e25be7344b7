package store

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
)

// maxOwners is how many people are told of a new client.
const maxOwners = 50

// Of each tenant, one of them gets so many mails in a period, and at its end one about the clients that were created
// after those.
const (
	clientPeriod   = time.Hour
	clientsPer     = 5
	maxClientNames = 10 // in that one
)

// owners of a tenant are its administrators, those of the server the operators; ?3 is told in any case.
const selectOwners = `SELECT u.email FROM user AS u WHERE u.id IN (SELECT user_id FROM role WHERE tenant_id = ?1
	AND role = ?2 AND pending = 0 UNION SELECT ?3) AND u.email_verified = 1 AND u.disabled_at = 0
	ORDER BY u.id = ?3 DESC, u.id LIMIT +?4`

// tellOwners mails those who answer for the tenant of a new client, or for the server, and the user who created it: a
// client outlives the session that has made it. A tenant without administrators is the operators' to look after.
func (tx *Tx) tellOwners(c *core.Client) error {
	creator := core.ActorUser(c.CreatedBy)
	var owners []core.Email
	if c.TenantID != core.TenantNone {
		err := tx.all(&owners, selectOwners, c.TenantID, core.RoleTenantAdmin, creator, maxOwners)
		if err != nil {
			return err
		}
	}
	if len(owners) == 0 {
		if err := tx.all(&owners, selectOwners, core.TenantNone, core.RoleOperator, creator, maxOwners); err != nil {
			return err
		}
	}
	for _, email := range owners {
		n, until, err := tx.tally("clients "+c.TenantID+" "+email.Key(), clientPeriod, c.CreatedAt)
		if err != nil {
			return err
		}
		m := core.Mail{Kind: core.MailClientAdded, TenantID: c.TenantID, Email: email, TokenID: c.ID}
		switch {
		case n > clientsPer+1:
			continue // the one that waits tells of this client, too
		case n > clientsPer:
			m = core.ClientsMail(email, c.TenantID, c.CreatedAt, until)
		}
		if err := tx.addMail(m, c.CreatedAt); err != nil {
			return err
		}
	}
	return nil
}

// ClientsMail reads what the mail about the clients of a tenant, or of the server, that were created since then says. It
// returns core.ErrNotFound where none of them is left.
func (s *Store) ClientsMail(ctx context.Context, tenantID string, since core.Instant) (m core.ClientMail, err error) {
	var names []string
	err = s.all(ctx, &names, "SELECT name FROM client INDEXED BY client_tenant WHERE tenant_id = ? AND created_at >= ? "+
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

// ClientMail reads what the mail about a new client says. It returns core.ErrNotFound where there is no such client any
// more.
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

// ClientsOf reads the clients that a user has created, but for disabled ones, by id. Its only error is core.ErrStorage.
func (s *Store) ClientsOf(ctx context.Context, userID string) (cs []core.Client, err error) {
	err = s.all(ctx, &cs, clientsOf, core.UserActor(userID))
	return cs, err
}

var clientsOf = "SELECT " + clientTable.columns + " FROM client INDEXED BY client_creator WHERE " +
	"created_by = ? AND created_by <> '' AND disabled_at = 0 AND deleted_at = 0 ORDER BY id"

// DisableClientsOf disables the clients that a user has created and that the rule lets go, and returns those and the
// others that are not disabled. Its only error is core.ErrStorage.
func (s *Store) DisableClientsOf(ctx context.Context, userID, actor string, now core.Instant,
	rule func(*core.Client) bool,
) (disabled, active []core.Client, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		var all []core.Client
		disabled, active = nil, nil
		if err := tx.all(&all, clientsOf, core.UserActor(userID)); err != nil {
			return err
		}
		for i := range all {
			c := &all[i]
			if !rule(c) {
				active = append(active, *c)
				continue
			}
			if err := tx.disableClient(c, actor, now); err != nil {
				return err
			}
			disabled = append(disabled, *c)
		}
		return nil
	})
	return disabled, active, err
}

func (tx *Tx) disableClient(c *core.Client, actor string, now core.Instant) error {
	if err := tx.watch("client", c.ID); err != nil {
		return err
	}
	c.DisabledAt, c.UpdatedAt = now, now
	if err := updateRow(tx, &clientTable, c, c.ID); err != nil {
		return err
	}
	if err := tx.endTokensOf(c.ID, now); err != nil {
		return err
	}
	tx.kick(TopicIdentity)
	return tx.audit(now, actor, "client.update", c.TenantID, c.ID)
}
