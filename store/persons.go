package store

import (
	"context"

	"newsletterd/core"
)

// UserData is everything that the identity part of the database holds about a user, but for hashes.
type UserData struct {
	User       core.User      `json:"user"`
	Browsers   []Browser      `json:"browsers"`
	SignIns    []ClientSignIn `json:"sign_ins"` // ended ones too, while they are kept
	Allowances []Allowance    `json:"allowances"`
	Mails      []core.Mail    `json:"mails"`
}

// UserData reads a user's data in one snapshot, for the user who asks for them.
func (s *Store) UserData(ctx context.Context, id string) (d UserData, err error) {
	d = UserData{Browsers: []Browser{}, SignIns: []ClientSignIn{}, Allowances: []Allowance{}, Mails: []core.Mail{}}
	err = s.view(ctx, func(r *Reader) error {
		if err := r.get(&d.User, "SELECT "+userColumns+" FROM user WHERE id = ?", id); err != nil {
			return err
		}
		d.User.Roles = []core.Role{}
		for _, read := range []struct {
			dest  any
			query string
			arg   string
		}{
			{&d.User.Roles, "SELECT role, tenant_id FROM role WHERE user_id = ? ORDER BY role, tenant_id", id},
			{&d.Browsers, "SELECT " + browserColumns + " FROM browser b WHERE b.user_id = ? ORDER BY b.auth_at", id},
			{&d.SignIns, "SELECT " + familyColumns + `, coalesce(c.name, f.client_id) AS client_name FROM family f LEFT JOIN client c ON c.id = f.client_id
				WHERE f.user_id = ? ORDER BY f.created_at`, id},
			{&d.Allowances, `SELECT a.client_id, coalesce(c.name, '') AS client_name, a.scope, a.created_at FROM client_consent a
				LEFT JOIN client c ON c.id = a.client_id WHERE a.user_id = ? ORDER BY a.created_at`, id},
			{&d.Mails, `SELECT id, kind, tenant_id, list_id, email, token_id, params, tries, due_at, created_at FROM mail
				WHERE email_key = ? AND list_id = '' ORDER BY id`, d.User.Email.Key()},
		} {
			if err := r.all(read.dest, read.query, read.arg); err != nil {
				return err
			}
		}
		return nil
	})
	return d, err
}

// EraseUser removes a user and everything of UserData, counters and mails of the account included. Subscriptions of
// the address are no part of the account: they stay.
func (s *Store) EraseUser(ctx context.Context, id string) error {
	return s.update(ctx, func(tx *Tx) error {
		tx.kick(TopicIdentity)
		var key string
		if err := tx.get(&key, "SELECT email_key FROM user WHERE id = ?", id); err != nil {
			return err
		}
		for _, q := range []string{
			"DELETE FROM code WHERE user_id = ?1",
			"DELETE FROM family WHERE user_id = ?1",
			"DELETE FROM mail WHERE email_key = ?2 AND list_id = ''",
			"DELETE FROM throttle WHERE key IN ('login ' || ?2, 'register ' || ?2, 'forgot ' || ?2, 'verify ' || ?2)",
			"DELETE FROM throttle WHERE key > 'login ' || ?2 || ' ' AND key < 'login ' || ?2 || '!'",
		} {
			if _, err := tx.exec(q, id, key); err != nil {
				return err
			}
		}
		return tx.one("DELETE FROM user WHERE id = ?", id)
	})
}
