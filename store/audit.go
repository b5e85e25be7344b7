package store

import (
	"context"
	"log/slog"

	"newsletterd/core"
)

// auditEntry says who changed what. It is a row of the database, and a line in the daemon's log after the commit, be it
// its own or a command's.
type auditEntry struct {
	actor, action, tenantID, object string
}

// audit writes down who changed what: actor is "user:<id>", "client:<id>" or "command:<name>".
func (tx *Tx) audit(now core.Instant, actor, action, tenantID, object string) error {
	tx.audited = append(tx.audited, auditEntry{actor, action, tenantID, object})
	_, err := tx.exec("INSERT INTO audit (at, actor, action, tenant_id, object) VALUES (?, ?, ?, ?, ?)",
		now, actor, action, tenantID, object)
	return err
}

// changeRecord changes a record of a table whose records are tenants', and notes who did. core.ErrNotFound.
func (s *Store) changeRecord(ctx context.Context, table, id, action, actor string, now core.Instant,
	change func(*Tx) error,
) error {
	return s.update(ctx, func(tx *Tx) error {
		var tenantID string
		if err := tx.get(&tenantID, "SELECT tenant_id FROM "+table+" WHERE id = ?", id); err != nil {
			return err
		}
		tx.kick(TopicRecords)
		if err := change(tx); err != nil {
			return err
		}
		return tx.audit(now, actor, action, tenantID, id)
	})
}

// removeRecord is changeRecord for a record that goes for good.
func (s *Store) removeRecord(ctx context.Context, table, id, action, actor string, now core.Instant) error {
	return s.changeRecord(ctx, table, id, action, actor, now, func(tx *Tx) error {
		return tx.one("DELETE FROM "+table+" WHERE id = ?", id)
	})
}

type actorKey struct{}

type actorValue struct {
	actor string
	at    core.Instant
}

// By says on whose behalf the operations with this context are done, for those that users also do for themselves and
// that are worth an entry only when another user did them.
func By(ctx context.Context, actor string, now core.Instant) context.Context {
	return context.WithValue(ctx, actorKey{}, actorValue{actor, now})
}

// by adds an entry to an operation where By named an actor.
func (s *Store) by(ctx context.Context, action, tenantID, object string, fn func(*Tx) error) func(*Tx) error {
	who, ok := ctx.Value(actorKey{}).(actorValue)
	if !ok {
		return fn
	}
	return func(tx *Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return tx.audit(who.at, who.actor, action, tenantID, object)
	}
}

// AuditRow is an entry of the audit trail. Actor is "user:<id>", "client:<id>", "command:<name of the account>" or
// "daemon".
type AuditRow struct {
	At       core.Instant `db:"at" json:"at"`
	Actor    string       `db:"actor" json:"actor"`
	Action   string       `db:"action" json:"action"`
	TenantID string       `db:"tenant_id" json:"tenant_id"`
	Object   string       `db:"object" json:"object"`
}

// Audit is who changed what, the newest limit entries in their order; with a tenant only those of its records. Its only
// error is core.ErrStorage.
func (s *Store) Audit(ctx context.Context, tenantID string, limit int) (rows []AuditRow, err error) {
	err = s.all(ctx, &rows, `SELECT at, actor, action, tenant_id, object FROM (
		SELECT * FROM audit WHERE ? = '' OR tenant_id = ? ORDER BY id DESC LIMIT ?) ORDER BY id`, tenantID, tenantID,
		limit)
	return rows, err
}

// logCommands tells the log what commands have changed since the last look; the daemon's own changes are there already.
func (w *writer) logCommands() error {
	last, err := w.tx.number("SELECT coalesce(max(id), 0) FROM audit")
	if err != nil || last <= w.auditSeen {
		return err
	}
	var rows []AuditRow
	if err := w.tx.all(&rows, "SELECT at, actor, action, tenant_id, object FROM audit WHERE id > ? AND actor LIKE "+
		"'command%' ORDER BY id", w.auditSeen); err != nil {
		return err
	}
	made := make([]auditEntry, len(rows))
	for i, r := range rows {
		made[i] = auditEntry{r.Actor, r.Action, r.TenantID, r.Object}
	}
	w.logAudit(made)
	w.auditSeen = last
	return nil
}

// logAudit tells the log what was committed.
func (w *writer) logAudit(entries []auditEntry) {
	for _, e := range entries {
		w.store.log.Info("audit", slog.String("actor", e.actor), slog.String("action", e.action),
			slog.String("tenant", e.tenantID), slog.String("object", e.object))
	}
}
