package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// PacePeriod returns the sending counts of a scope's current period (for scopes, see LeaseQuota). The zero value
// means that nothing is known. The only error is core.ErrStorage.
func (s *Store) PacePeriod(ctx context.Context, scope string) (p core.PacePeriod, err error) {
	var row struct {
		Width int64  `db:"width"`
		Parts string `db:"parts"`
	}
	err = s.Get(ctx, &row, "SELECT width, parts FROM pace WHERE scope = ?", scope)
	if errors.Is(err, core.ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.Width = time.Duration(row.Width) * time.Millisecond
	return p, json.Unmarshal([]byte(row.Parts), &p.Parts)
}

// KeepPacePeriod stores the sending counts of a scope's period. Callers count emails before they send them. The only
// error is core.ErrStorage.
func (s *Store) KeepPacePeriod(ctx context.Context, scope string, p core.PacePeriod) error {
	parts, err := json.Marshal(p.Parts)
	if err != nil {
		return err
	}
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(`INSERT INTO pace (scope, width, parts) VALUES (?1, ?2, ?3)
			ON CONFLICT (scope) DO UPDATE SET width = ?2, parts = ?3`, scope, p.Width.Milliseconds(), string(parts))
		return err
	})
}
