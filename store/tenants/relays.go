package tenants

import (
	"context"
	"encoding/json"

	"newsletterd/core"
	"newsletterd/store/db"
)

// saveRelays writes the relays and limits of a tenant if they have changed. It stores the passwords in a separate
// sealed column and removes them from t.
func saveRelays(tx *db.Tx, t *core.Tenant, was core.Relays, limits core.SendLimits) error {
	if t.SendLimits != limits {
		if err := tx.One("UPDATE tenant SET send_limits = ? WHERE id = ?", t.SendLimits.Column(), t.ID); err != nil {
			return err
		}
	}
	told := false
	for i := range t.Relays {
		told = told || t.Relays[i].Password != ""
	}
	if !told && t.Relays.Column() == was.Column() {
		return nil
	}
	old, err := relayPasswords(tx.DB(), func(dest any) error {
		return tx.Get(dest, "SELECT relay_secrets FROM tenant WHERE id = ?", t.ID)
	})
	if err != nil {
		return err
	}
	secrets := map[string]string{}
	for i := range t.Relays {
		r := &t.Relays[i]
		switch {
		case r.Password != "":
			secrets[r.ID] = r.Password
		case r.HasPassword:
			secrets[r.ID] = old[r.ID]
		}
		r.Password = ""
	}
	sealed := []byte{}
	if len(secrets) > 0 {
		plain, err := json.Marshal(secrets)
		if err != nil {
			return err
		}
		sealed = tx.DB().Seal(plain)
	}
	return tx.One("UPDATE tenant SET relays = ?, relay_secrets = ? WHERE id = ?", t.Relays.Column(), sealed, t.ID)
}

func relayPasswords(s *db.DB, read func(dest any) error) (map[string]string, error) {
	var sealed []byte
	if err := read(&sealed); err != nil || len(sealed) == 0 {
		return nil, err
	}
	plain, err := s.OpenSecret(sealed)
	if err != nil {
		return nil, err
	}
	secrets := map[string]string{}
	return secrets, json.Unmarshal(plain, &secrets)
}

// TenantRelays returns the relays and limits of a tenant. A deleted tenant has none of its own. If the passwords can't
// be decrypted, TenantRelays returns ErrMasterKey.
func (s *Store) TenantRelays(ctx context.Context, tenantID string) (core.TenantRelays, error) {
	t, err := s.Tenant(ctx, tenantID)
	if core.KindOf(err) == core.NotFound {
		return core.TenantRelays{}, nil
	}
	if err != nil || len(t.Relays) == 0 {
		return core.TenantRelays{Limits: t.SendLimits}, err
	}
	secrets, err := relayPasswords(s.DB, func(dest any) error {
		return s.Get(ctx, dest, "SELECT relay_secrets FROM tenant WHERE id = ?", tenantID)
	})
	for i := range t.Relays {
		t.Relays[i].Password = secrets[t.Relays[i].ID]
	}
	return core.TenantRelays{Relays: t.Relays, Limits: t.SendLimits}, err
}

// LeaseQuota takes the wanted number of emails, or as many as are left, from a day's quota. It returns the number that
// it got, which is 0 if the quota is used up. Leased emails count as used immediately, so a crash can't lead to more
// emails than the quota allows. The caller returns unused ones with ReturnQuota. The only error is core.ErrStorage.
func (s *Store) LeaseQuota(ctx context.Context, scope string, day, perDay, want int64) (got int64, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		var used int64
		err := tx.Get(&used, "SELECT coalesce((SELECT used FROM quota WHERE scope = ? AND day = ?), 0)", scope, day)
		if err != nil {
			return err
		}
		if got = min(want, perDay-used); got <= 0 {
			got = 0
			return nil
		}
		_, err = tx.Exec(`INSERT INTO quota (scope, day, used) VALUES (?, ?, ?)
			ON CONFLICT (scope) DO UPDATE SET used = iif(day = excluded.day, used, 0) + excluded.used, day =
			excluded.day`, scope, day, got)
		return err
	})
	return got, err
}

// ReturnQuota returns n leased but unused emails to a day's quota. The only error is core.ErrStorage.
func (s *Store) ReturnQuota(ctx context.Context, scope string, day, n int64) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE quota SET used = max(0, used - ?) WHERE scope = ? AND day = ?", n, scope, day)
		return err
	})
}
