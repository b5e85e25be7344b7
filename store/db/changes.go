package db

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"newsletterd/core"
)

// Masked replaces a value that the audit log must not show: a secret or personal data.
const Masked = "***"

// MaxAudited is the maximum size of a value in the audit log, in bytes.
const MaxAudited = 1000

// watched is the row whose changes the next audit entry records.
type watched struct {
	table, id string
	before    map[string]any              // the row before the change; nil if it did not exist
	masked    []string                    // names of changed fields, to record without values or a row
	told      map[string]core.AuditChange // changes in other tables that the operation itself reports
}

// keyColumns holds the key columns of the watched tables that have no id column.
var keyColumns = map[string]string{"provider": "name", "signing_key": "kid"}

// maskedColumns holds the columns of watched tables that contain secrets or personal data as text. The audit log
// records only that they changed. It never shows a BLOB.
var maskedColumns = map[string][]string{
	"user":       {"email", "email_key", "name", "password_hash"},
	"invitation": {"email", "email_key"},
	"mail":       {"email", "email_key", "token_id", "params"},
	"model":      {"name", "description"},
	"share":      {"email", "email_key", "holder"},
	"outbox":     {"body"},
	"tenant":     {"test_addresses"}, // addresses of people, who need no role
}

// unaudited holds columns of watched tables that the audit log leaves out, because every change updates them.
var unaudited = []string{
	"id", "kid", "no", "file_no", "model_no", "created_at", "updated_at", "queued_at", "touched_at", "epoch", "revision",
	"last_login_at", "waiting", "waiting_bytes", "dropped_id", "changed_by", "name_key",
}

// Watch makes the next audit entry record later changes to this row.
func (tx *Tx) Watch(table, id string) error {
	row, err := tx.row(table, id)
	tx.watched = watched{table: table, id: id, before: row}
	return err
}

// Tell adds to the next audit entry a change that is not in a column of the watched row. The entry shows before and
// after as given. Nil or an empty string means no value.
func (tx *Tx) Tell(name string, before, after any) {
	if before == "" {
		before = nil
	}
	if tx.watched.told == nil {
		tx.watched.told = map[string]core.AuditChange{}
	}
	tx.watched.told[name] = core.AuditChange{Before: before, After: after}
}

// TellAll replaces the changes added by Tell with told, which has the form that the audit log stores.
func (tx *Tx) TellAll(told map[string]core.AuditChange) { tx.watched.told = told }

// Aside runs fn, which may watch other rows. Afterwards the operation watches the same row as before.
func (tx *Tx) Aside(fn func() error) error {
	outer := tx.watched
	if err := fn(); err != nil {
		return err
	}
	tx.watched = outer
	return nil
}

// Touched makes the next audit entry list the names of the changed fields of a person's record, without their values.
func (tx *Tx) Touched(fields ...string) { tx.watched = watched{masked: fields} }

// row returns a row as a map from column to value. It returns nil if the row doesn't exist.
func (tx *Tx) row(table, id string) (map[string]any, error) {
	key := keyColumns[table]
	if key == "" {
		key = "id"
	}
	s, err := tx.Stmt("SELECT * FROM " + table + " WHERE " + key + " = ?")
	if err != nil {
		return nil, err
	}
	row := map[string]any{}
	err = tx.Translate(s.QueryRowx(id).MapScan(row))
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	return row, err
}

// changes returns the changes to the watched row in the form that the audit log stores. It returns an empty string if
// no row is watched or no recorded column has changed.
func (tx *Tx) changes() (string, error) {
	w := tx.watched
	tx.watched = watched{}
	changed := map[string]core.AuditChange{}
	maps.Copy(changed, w.told)
	for _, name := range w.masked {
		changed[name] = core.AuditChange{Before: Masked, After: Masked}
	}
	if w.table == "" {
		return changesText(changed)
	}
	after, err := tx.row(w.table, w.id)
	if err != nil {
		return "", err
	}
	for column := range either(w.before, after) {
		was, is := w.before[column], after[column]
		if slices.Contains(unaudited, column) || same(was, is) {
			continue
		}
		c := core.AuditChange{Before: audited(column, was), After: audited(column, is)}
		if slices.Contains(maskedColumns[w.table], column) {
			c = core.AuditChange{Before: masked(was), After: masked(is)}
		}
		changed[column] = c
	}
	return changesText(changed)
}

func changesText(changed map[string]core.AuditChange) (string, error) {
	if len(changed) == 0 {
		return "", nil
	}
	text, err := json.Marshal(changed)
	return string(text), err
}

// either returns a, or b if a is nil.
func either(a, b map[string]any) map[string]any {
	if a != nil {
		return a
	}
	return b
}

// same reports whether two values of a column are equal. A missing value equals an empty one.
func same(a, b any) bool {
	x, isBytes := a.([]byte)
	y, areBytes := b.([]byte)
	if isBytes || areBytes {
		return bytes.Equal(x, y)
	}
	return a == b || empty(a) && empty(b)
}

// empty reports whether a value is missing, empty or zero.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == "" || v == "[]" || v == "{}"
	case int64:
		return v == 0
	case []byte:
		return len(v) == 0
	}
	return false
}

// masked returns Masked, or nil for an empty value.
func masked(v any) any {
	if empty(v) {
		return nil
	}
	return Masked
}

// audited returns a value as the audit log shows it. Empty values become nil and instants keep their type. Lists and
// objects are shown as JSON, URLs without their queries, and long strings shortened.
func audited(column string, v any) any {
	if empty(v) {
		return nil
	}
	switch v := v.(type) {
	case []byte:
		return Masked
	case int64:
		if strings.HasSuffix(column, "_at") || strings.HasSuffix(column, "_since") || strings.HasSuffix(column, "_until") {
			return core.Instant(v)
		}
	case string:
		if column == "url" { // URL of an endpoint
			v = core.MaskURL(v)
		}
		if len(v) > MaxAudited {
			return strings.ToValidUTF8(v[:MaxAudited], "") + "…"
		}
		if (v[0] == '[' || v[0] == '{') && json.Valid([]byte(v)) {
			return json.RawMessage(v)
		}
		return v
	}
	return v
}
