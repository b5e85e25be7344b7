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

// Masked stands in the audit trail for a value that is not shown: a secret, or a word about a person.
const Masked = "***"

// MaxAudited is how many bytes of a value the audit trail keeps.
const MaxAudited = 1000

// watched is the row whose changes the next entry of the audit trail tells.
type watched struct {
	table, id string
	before    map[string]any              // nil: there was none
	masked    []string                    // instead of a table: fields of which only the names are told
	told      map[string]core.AuditChange // what an operation says itself, of rows of other tables
}

// keyColumns are the columns by which rows are watched that have no column id.
var keyColumns = map[string]string{"provider": "name", "signing_key": "kid"}

// maskedColumns are the columns of watched tables that hold secrets or words about persons as text: the audit trail
// tells only that they changed. It never shows a BLOB.
var maskedColumns = map[string][]string{
	"user":       {"email", "email_key", "name", "password_hash"},
	"invitation": {"email", "email_key"},
	"mail":       {"email", "email_key", "token_id", "params"},
	"model":      {"name", "description"},
	"share":      {"email", "email_key", "holder"},
	"outbox":     {"body"},
	"tenant":     {"test_addresses"}, // of people, who need no role
}

// unaudited are the columns of watched tables that each change moves.
var unaudited = []string{
	"id", "kid", "no", "file_no", "model_no", "created_at", "updated_at", "queued_at", "touched_at", "epoch", "revision",
	"last_login_at", "waiting", "waiting_bytes", "dropped_id",
}

// Watch makes the next entry of the audit trail tell how this row changes from now on.
func (tx *Tx) Watch(table, id string) error {
	row, err := tx.row(table, id)
	tx.watched = watched{table: table, id: id, before: row}
	return err
}

// Tell makes the next entry of the audit trail tell a change that is none of a column of the watched row. Values are
// what it shows; nil or an empty text: none.
func (tx *Tx) Tell(name string, before, after any) {
	if before == "" {
		before = nil
	}
	if tx.watched.told == nil {
		tx.watched.told = map[string]core.AuditChange{}
	}
	tx.watched.told[name] = core.AuditChange{Before: before, After: after}
}

// TellAll is tell for changes as the audit trail has them, in the place of what was told before.
func (tx *Tx) TellAll(told map[string]core.AuditChange) { tx.watched.told = told }

// Aside runs what watches rows of its own, after which the operation watches what it did before.
func (tx *Tx) Aside(fn func() error) error {
	outer := tx.watched
	if err := fn(); err != nil {
		return err
	}
	tx.watched = outer
	return nil
}

// Touched makes the next entry of the audit trail name fields of a person's record that change, without their values.
func (tx *Tx) Touched(fields ...string) { tx.watched = watched{masked: fields} }

// row returns a row by its columns; nil where there is none.
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

// changes returns how the watched row has changed, as the audit trail keeps it; empty: nothing is watched, or nothing
// changed that it tells.
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

// either returns the row that has columns.
func either(a, b map[string]any) map[string]any {
	if a != nil {
		return a
	}
	return b
}

// same reports whether two values of a column are the same; none is the same as an empty one.
func same(a, b any) bool {
	x, isBytes := a.([]byte)
	y, areBytes := b.([]byte)
	if isBytes || areBytes {
		return bytes.Equal(x, y)
	}
	return a == b || empty(a) && empty(b)
}

// empty reports whether a value says nothing.
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

// masked returns what stands for a value that is not shown.
func masked(v any) any {
	if empty(v) {
		return nil
	}
	return Masked
}

// audited returns a value as the audit trail shows it: nil for one that says nothing, instants as such, lists and
// objects as they are, URLs without their queries, and long texts cut.
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
		if column == "url" { // an endpoint's
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
