package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"newsletterd/core"
)

// Marks of restore tests: the string that a test looks for in the restored database, and the result of the last test.
const (
	drillMark      = "drill"
	drillStartMark = "drill_start"
)

// StartDrill writes a new string into the database and returns it. A database restored afterwards must contain it. The
// only error is core.ErrStorage.
func (s *DB) StartDrill(ctx context.Context) (text string, err error) {
	text = core.NewID()
	return text, s.Update(ctx, func(tx *Tx) error { return tx.SetMark(drillStartMark, text) })
}

// DrillStarted returns the string that the last StartDrill wrote, or an empty string if there was none. The only error
// is core.ErrStorage.
func (s *DB) DrillStarted(ctx context.Context) (string, error) { return s.Mark(ctx, drillStartMark) }

// DrillCounts returns the row counts used to compare a restored database with this one. The only error is
// core.ErrStorage.
func (s *DB) DrillCounts(ctx context.Context) (n core.DrillCounts, err error) {
	err = s.Get(ctx, &n, `SELECT (SELECT count(*) FROM tenant) AS tenants, (SELECT count(*) FROM list) AS lists,
		(SELECT count(*) FROM user) AS users, (SELECT count(*) FROM subscription) AS subscriptions,
		(SELECT count(*) FROM campaign) AS campaigns, (SELECT count(*) FROM send_job) AS jobs`)
	return n, err
}

// KeepDrill stores the result of a restore test. It replaces the previous result. The only error is core.ErrStorage.
func (s *DB) KeepDrill(ctx context.Context, d core.Drill) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return s.Update(ctx, func(tx *Tx) error { return tx.SetMark(drillMark, string(b)) })
}

// LastDrill returns the last stored restore test, or nil if there is none. The only error is core.ErrStorage.
func (s *DB) LastDrill(ctx context.Context) (*core.Drill, error) {
	text, err := s.Mark(ctx, drillMark)
	if err != nil || text == "" {
		return nil, err
	}
	d := &core.Drill{}
	if err := json.Unmarshal([]byte(text), d); err != nil {
		return nil, core.ErrStorage.With(fmt.Errorf("result of the last restore test: %w", err))
	}
	return d, nil
}

// Mark returns the value of a mark, or an empty string if it is not set.
func (s *DB) Mark(ctx context.Context, name string) (value string, err error) {
	err = s.Get(ctx, &value, "SELECT value FROM mark WHERE name = ?", name)
	if errors.Is(err, core.ErrNotFound) {
		return "", nil
	}
	return value, err
}

// SetMark sets the value of a mark.
func (tx *Tx) SetMark(name, value string) error {
	_, err := tx.Exec("INSERT INTO mark (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = "+
		"excluded.value", name, value)
	return err
}
