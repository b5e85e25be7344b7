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

// auditEntry is a row of the audit log. After the commit, the daemon also logs it as a line, as it does with the
// entries that commands have added.
type auditEntry struct {
	actor, action, tenantID, object string
}

// OriginKey is the context key for the address that a request came from. The value is a *netip.Addr. The audit log
// keeps the address for a limited time (originKept).
type OriginKey struct{}

// ClientKey is the context key for the id of the OAuth client through which a user acts. The value is a string. A
// missing or empty value means no client. The audit log keeps the id.
type ClientKey struct{}

// ActingClient returns the name that the audit log uses for the OAuth client in ctx. It returns an empty string if
// there is none.
func ActingClient(ctx context.Context) string {
	id, _ := ctx.Value(ClientKey{}).(string)
	if id == "" {
		return ""
	}
	return core.ClientActor(id)
}

// Audit writes an entry to the audit log. The actor is "user:<id>", "client:<id>" or "command:<name>". The entry
// records how the row named by Watch has changed and where the request came from.
func (tx *Tx) Audit(now core.Instant, actor, action, tenantID, object string) error {
	detail, err := tx.changes()
	if err != nil {
		return err
	}
	return tx.Enter(now, actor, action, tenantID, object, detail)
}

// errUnchanged undoes an update that has not changed the watched row.
var errUnchanged = errors.New("store: nothing changed")

// AuditUpdate is like Audit, for an update that may change only the time of the last change. If it changes nothing
// else, AuditUpdate writes no entry and returns errUnchanged, which undoes the operation. AsItStood turns that error
// into success.
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

// AsItStood returns nil if err is errUnchanged. In that case, it also restores *updatedAt, the time of the record's
// last change, from was. It returns other errors unchanged.
func AsItStood(err error, updatedAt *core.Instant, was core.Instant) error {
	if !errors.Is(err, errUnchanged) {
		return err
	}
	*updatedAt = was
	return nil
}

// Enter writes an entry with the given detail to the audit log.
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

// ChangeRecord changes a record in a tenant table and writes an audit entry. An update that changes
// nothing leaves the record untouched and succeeds. If the record doesn't exist, ChangeRecord returns
// core.ErrNotFound.
func (s *DB) ChangeRecord(ctx context.Context, table, id, action, actor string, now core.Instant,
	change func(*Tx) error,
) error {
	return AsItStood(s.TouchRecord(ctx, table, id, action, actor, now, change), new(core.Instant), 0)
}

// TouchRecord is like ChangeRecord, but returns errUnchanged if an update changes nothing.
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

// RemoveRecord is like ChangeRecord, but deletes the record.
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

// By returns a context that names the actor of its operations. It is for operations that users also perform on their
// own data, which need an audit entry only if another user performs them.
func By(ctx context.Context, actor string, now core.Instant) context.Context {
	return context.WithValue(ctx, actorKey{}, actorValue{actor, now})
}

// ActorOf returns the actor that By stored in ctx.
func ActorOf(ctx context.Context) (actor string, ok bool) {
	who, ok := ctx.Value(actorKey{}).(actorValue)
	return who.actor, ok
}

// ByActor returns an operation that runs fn and writes an audit entry. If By has stored no actor in ctx, it returns fn
// itself.
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

// AuditBy writes an audit entry in the middle of an operation if By has stored an actor in ctx. The entry records the
// changes in told.
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

// watchedBy returns the table whose row an action changes. It returns an empty string if the audit log records no
// changes for the action.
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
	auditReads  = 2000 // maximum number of entries that are read for one page of the audit log
	selectAudit = "SELECT id, at, actor, iif(actor LIKE 'command%', '" + core.CommandLine +
		"', origin) AS origin, client_id, action, object, tenant_id, detail FROM audit WHERE "
	auditBefore = " AND at >= ?2 AND at < ?3 AND (at, id) < (?4, ?5)"
	auditOrder  = " ORDER BY at DESC, id DESC LIMIT "
	auditWhat   = ` AND (at, id) >= (?6, ?7) AND (?8 = '' OR tenant_id = ?8) AND (?9 = '' OR actor = ?9)
		AND (?10 = '' OR action = ?10 OR substr(action, 1, length(?10) + 1) = ?10 || '.') AND (?11 = '' OR object = ?11)`
)

// auditBy returns a condition of the filter that an index supports, and the value of its parameter.
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

// Audit returns a page of the audit log, newest first. page.After is empty or the next value of an earlier page.
// Because Audit reads a bounded number of entries, a page may be short or empty even if more pages follow. After the
// last page, next is empty. The only error is core.ErrStorage.
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

// NewestAudited is a query for the id of the newest audit entry. The result is 0 if there is none.
const NewestAudited = "SELECT coalesce(max(id), 0) FROM audit"

// logCommands logs the audit entries that commands have added since the last call. The daemon's own entries are
// logged already.
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

// logAudit logs committed audit entries.
func (w *writer) logAudit(entries []auditEntry) {
	for _, e := range entries {
		w.store.log.Info("audit", slog.String("actor", e.actor), slog.String("action", e.action),
			slog.String("tenant", e.tenantID), slog.String("object", e.object))
	}
}
