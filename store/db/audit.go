package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"

	"newsletterd/core"
)

// auditEntry says who changed what. It is a row of the database, and a line in the daemon's log after the commit, be it
// its own or a command's.
type auditEntry struct {
	actor, action, tenantID, object string
}

// OriginKey is the key under which a context holds the address that a request came from, a *netip.Addr. The audit trail
// keeps it for a while (originKept).
type OriginKey struct{}

// ClientKey is the key under which a context holds the id of the OAuth client that a user acts through, a string; empty
// or none: no client. The audit trail keeps it.
type ClientKey struct{}

// ActingClient returns how the audit trail names that client as an actor; empty: there is none.
func ActingClient(ctx context.Context) string {
	id, _ := ctx.Value(ClientKey{}).(string)
	if id == "" {
		return ""
	}
	return core.ClientActor(id)
}

// Audit writes down who changed what: actor is "user:<id>", "client:<id>" or "command:<name>". The entry tells how the
// row that watch named has changed, and where the request came from.
func (tx *Tx) Audit(now core.Instant, actor, action, tenantID, object string) error {
	detail, err := tx.changes()
	if err != nil {
		return err
	}
	return tx.Enter(now, actor, action, tenantID, object, detail)
}

// errUnchanged is what undoes an update that has left the watched row as it was.
var errUnchanged = errors.New("store: nothing changed")

// AuditUpdate is audit for an update that may change nothing but the time of the last one: then there is no entry, and
// errUnchanged undoes the operation, which asItStood turns into success.
func (tx *Tx) AuditUpdate(now core.Instant, actor, action, tenantID, object string) error {
	detail, err := tx.changes()
	switch {
	case err != nil:
		return err
	case detail == "":
		return errUnchanged
	}
	return tx.Enter(now, actor, action, tenantID, object, detail)
}

// AsItStood makes a success of errUnchanged; a record of which updatedAt is the time of the last change gets back the
// one that it had.
func AsItStood(err error, updatedAt *core.Instant, was core.Instant) error {
	if !errors.Is(err, errUnchanged) {
		return err
	}
	*updatedAt = was
	return nil
}

// Enter writes an entry of the audit trail.
func (tx *Tx) Enter(now core.Instant, actor, action, tenantID, object, detail string) error {
	origin := ""
	if tx.origin.IsValid() {
		origin = tx.origin.String()
	}
	tx.audited = append(tx.audited, auditEntry{actor, action, tenantID, object})
	_, err := tx.Exec(insertAudit, now, actor, action, tenantID, object, detail, origin, tx.client)
	return err
}

var insertAudit = InsertInto("audit", "at, actor, action, tenant_id, object, detail, origin, client_id")

// ChangeRecord changes a record of a table whose records are tenants', and notes who did; an update that changes
// nothing leaves it as it was. core.ErrNotFound.
func (s *DB) ChangeRecord(ctx context.Context, table, id, action, actor string, now core.Instant,
	change func(*Tx) error,
) error {
	return AsItStood(s.TouchRecord(ctx, table, id, action, actor, now, change), new(core.Instant), 0)
}

// TouchRecord is changeRecord, but for errUnchanged, which it returns.
func (s *DB) TouchRecord(ctx context.Context, table, id, action, actor string, now core.Instant,
	change func(*Tx) error,
) error {
	return s.Update(ctx, func(tx *Tx) error {
		var tenantID string
		if err := tx.Get(&tenantID, "SELECT tenant_id FROM "+table+" WHERE id = ?", id); err != nil {
			return err
		}
		tx.Kick(TopicRecords)
		if err := tx.Watch(table, id); err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		if strings.HasSuffix(action, ".update") {
			return tx.AuditUpdate(now, actor, action, tenantID, id)
		}
		return tx.Audit(now, actor, action, tenantID, id)
	})
}

// RemoveRecord is changeRecord for a record that goes for good.
func (s *DB) RemoveRecord(ctx context.Context, table, id, action, actor string, now core.Instant) error {
	return s.ChangeRecord(ctx, table, id, action, actor, now, func(tx *Tx) error {
		return tx.One("DELETE FROM "+table+" WHERE id = ?", id)
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

// ActorOf returns who By says acts.
func ActorOf(ctx context.Context) (actor string, ok bool) {
	who, ok := ctx.Value(actorKey{}).(actorValue)
	return who.actor, ok
}

// ByActor adds an entry to an operation where By named an actor.
func (s *DB) ByActor(ctx context.Context, action, tenantID, object string, fn func(*Tx) error) func(*Tx) error {
	who, ok := ctx.Value(actorKey{}).(actorValue)
	if !ok {
		return fn
	}
	return func(tx *Tx) error {
		if table := watchedBy(action); table != "" {
			if err := tx.Watch(table, object); err != nil {
				return err
			}
		}
		if err := fn(tx); err != nil {
			return err
		}
		tenant, ok := tx.watched.before["tenant_id"].(string)
		if !ok {
			tenant = tenantID
		}
		if strings.HasSuffix(action, ".update") {
			return tx.AuditUpdate(who.at, who.actor, action, tenant, object)
		}
		return tx.Audit(who.at, who.actor, action, tenant, object)
	}
}

// AuditBy adds an entry in the middle of an operation where By named an actor. It tells the changes in told.
func (tx *Tx) AuditBy(ctx context.Context, action, tenantID, object string, told map[string]core.AuditChange) error {
	who, ok := ctx.Value(actorKey{}).(actorValue)
	if !ok {
		return nil
	}
	row := tx.watched
	tx.watched = watched{told: told}
	err := tx.Audit(who.at, who.actor, action, tenantID, object)
	tx.watched = row
	return err
}

// watchedBy returns the table whose row an action is about; empty: its changes are not told.
func watchedBy(action string) string {
	switch noun, _, _ := strings.Cut(action, "."); noun {
	case "user", "role":
		return "user"
	case "job":
		return "send_job"
	case "key":
		return "signing_key"
	}
	return ""
}

const (
	auditReads  = 2000 // entries that one page of the audit trail looks at
	selectAudit = "SELECT id, at, actor, iif(actor LIKE 'command%', '" + core.CommandLine +
		"', origin) AS origin, client_id, action, object, tenant_id, detail FROM audit WHERE "
	auditBefore = " AND at >= ?2 AND at < ?3 AND (at, id) < (?4, ?5)"
	auditOrder  = " ORDER BY at DESC, id DESC LIMIT "
	auditWhat   = ` AND (at, id) >= (?6, ?7) AND (?8 = '' OR tenant_id = ?8) AND (?9 = '' OR actor = ?9)
		AND (?10 = '' OR action = ?10 OR substr(action, 1, length(?10) + 1) = ?10 || '.') AND (?11 = '' OR object = ?11)`
)

// auditBy returns the condition by whose index the entries of a filter are found, and its value.
func auditBy(f *core.AuditFilter) (condition, value string) {
	switch {
	case f.Object != "":
		return "object = ?1", f.Object
	case f.Actor != "":
		return "actor = ?1", f.Actor
	case f.TenantID != "":
		return "tenant_id = ?1", f.TenantID
	}
	return "?1 = ''", ""
}

// Audit reads a page of the audit trail, the newest first, after a place that an earlier page named as next. It looks
// at a bounded number of entries: a page may be short, or empty, while next names a place to go on from. next is empty
// after the last page. Its only error is core.ErrStorage.
func (s *DB) Audit(ctx context.Context, f core.AuditFilter, page core.Page) (found []core.AuditEntry, next string,
	err error,
) {
	condition, value := auditBy(&f)
	at, id, _ := strings.Cut(page.After, " ")
	until := f.Until
	if until == 0 {
		until = math.MaxInt64
	}
	var before, end struct{ At, ID int64 }
	before.At, before.ID = math.MaxInt64, math.MaxInt64
	if page.After != "" {
		before.At, _ = strconv.ParseInt(at, 10, 64)
		before.ID, _ = strconv.ParseInt(id, 10, 64)
	}
	args := []any{value, int64(f.From), int64(until), before.At, before.ID}
	err = s.Get(ctx, &end, "SELECT at, id FROM audit WHERE "+condition+auditBefore+auditOrder+"1 OFFSET ?6",
		append(args, auditReads-1)...)
	more := err == nil
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return nil, "", err
	}
	err = s.All(ctx, &found, selectAudit+condition+auditBefore+auditWhat+auditOrder+"+?12",
		append(args, end.At, end.ID, f.TenantID, f.Actor, f.Action, f.Object, page.Limit)...)
	switch {
	case err == nil && len(found) == page.Limit:
		last := found[len(found)-1]
		next = fmt.Sprint(int64(last.At), " ", last.ID)
	case more:
		next = fmt.Sprint(end.At, " ", end.ID)
	}
	return found, next, err
}

// NewestAudited reads the id of the newest entry of the audit trail; 0: there is none.
const NewestAudited = "SELECT coalesce(max(id), 0) FROM audit"

// logCommands tells the log what commands have changed since the last look; the daemon's own changes are there already.
func (w *writer) logCommands() error {
	last, err := w.tx.Number(NewestAudited)
	if err != nil || last <= w.auditSeen {
		return err
	}
	var rows []core.AuditEntry
	if err := w.tx.All(&rows, "SELECT at, actor, action, tenant_id, object FROM audit WHERE id > ? AND actor LIKE "+
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
