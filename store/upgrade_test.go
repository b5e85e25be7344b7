package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/schema"
	"newsletterd/store/db"
	"newsletterd/store/db/dbtest"
)

// tables returns every row of every table as text, by column.
func tables(t *testing.T, path string) map[string][]map[string]string {
	t.Helper()
	db, err := sqlx.Open("sqlite", "file:"+path+"?mode=ro")
	must(t, err)
	defer db.Close()
	var names []string
	must(t, db.Select(&names,
		"SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite_%'"))
	all := map[string][]map[string]string{}
	for _, name := range names {
		rows, err := db.Queryx("SELECT * FROM " + name)
		must(t, err)
		all[name] = []map[string]string{}
		for rows.Next() {
			row := map[string]any{}
			must(t, rows.MapScan(row))
			texts := map[string]string{}
			for column, v := range row {
				texts[column] = fmt.Sprintf("%v", v)
			}
			all[name] = append(all[name], texts)
		}
		must(t, errors.Join(rows.Err(), rows.Close()))
	}
	return all
}

// changedByUpgrade lists the tables whose existing rows a migration rewrites, with a description of the change, or the
// test that checks it.
var changedByUpgrade = map[string]string{
	"schema_migration": "a row for each migration",
	"client":           "TestScopesAfterAnUpgrade",
	"family":           "TestScopesAfterAnUpgrade",
}

// renamedByUpgrade maps tables that a migration renames to their new names.
var renamedByUpgrade = map[string]string{"campaign": "campaign_copy"}

// TestUpgradeFromTheFirstVersion checks that no row or value of the first version is lost, that a copy from before the
// upgrade is kept, and that the schema equals that of a new database.
func TestUpgradeFromTheFirstVersion(t *testing.T) {
	path := dbtest.FirstVersion(t, "..")
	before := tables(t, path)
	for name, rows := range before {
		if len(rows) == 0 {
			t.Errorf("the first version's %s has no row", name)
		}
	}
	dry, err := db.Migrate(t.Context(), path, db.MigrateOptions{DryRun: true, Now: time.Now()})
	must(t, err)
	if !reflect.DeepEqual(tables(t, path), before) {
		t.Fatal("a dry run changes something")
	}
	done, err := db.Migrate(t.Context(), path, db.MigrateOptions{Now: time.Now()})
	must(t, err)
	if !reflect.DeepEqual(done.Migrations, dry.Migrations) || len(done.Migrations) != len(schema.Migrations())-7 {
		t.Errorf("did %v, the dry run said %v", done.Migrations, dry.Migrations)
	}
	after := tables(t, path)
	for name, rows := range before {
		if changedByUpgrade[name] != "" {
			continue
		}
		name = cmp.Or(renamedByUpgrade[name], name)
		if len(after[name]) != len(rows) {
			t.Errorf("%s has %d rows, had %d", name, len(after[name]), len(rows))
			continue
		}
		for i, row := range rows {
			for column, was := range row {
				if is, there := after[name][i][column]; is != was || !there {
					t.Errorf("%s.%s of row %d: %s\nwas %s", name, column, i, is, was)
				}
			}
		}
	}
	if len(done.Migrations) > 0 {
		fi, err := os.Stat(done.Copy)
		must(t, err)
		if fi.Mode().Perm() != 0o600 || !strings.HasSuffix(done.Copy, filepath.Join("backup", "newsletterd.db.before-0008")) {
			t.Errorf("%s has mode %s", done.Copy, fi.Mode())
		}
		if !reflect.DeepEqual(tables(t, done.Copy), before) { // the first version could still open it
			t.Error("the copy is not what was there")
		}
	}
	s, err := Open(t.Context(), db.Options{Path: path})
	must(t, err)
	found, err := s.Check(t.Context())
	if err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
	must(t, s.Close())
}

// statements splits a migration into statements. A trigger ends with END;.
func statements(text string) (all []string) {
	var part strings.Builder
	for line := range strings.Lines(text) {
		part.WriteString(line)
		code, _, _ := strings.Cut(line, "--")
		code = strings.TrimSpace(code)
		if !strings.HasSuffix(code, ";") || strings.Contains(part.String(),
			"CREATE TRIGGER") && !strings.HasSuffix(code, "END;") {
			continue
		}
		all = append(all, part.String())
		part.Reset()
	}
	return all
}

// TestCrashInsideAMigration leaves the files as a kill after each statement of each migration would. The next start
// must find the old schema, not a state in between, and migrate it.
func TestCrashInsideAMigration(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	must(t, db.PrepareProcess())
	images, path := 0, filepath.Join(t.TempDir(), "fresh.db")
	for _, m := range schema.Migrations() {
		if m.Number == 8 { // from here on, the tables have data
			path = dbtest.FirstVersion(t, "..")
		}
		images += crashImages(t, path, m)
		_, err := db.Migrate(t.Context(), path, db.MigrateOptions{To: m.Number, NoCopy: true, Now: time.Now()})
		must(t, err)
	}
	coretest.Promise(t, 17, images, 0, "stops inside migrations")
}

// crashImages runs the statements of one migration in a transaction that never commits, with a small page cache that
// forces pages into the -wal. After each statement, it opens a copy of the files.
func crashImages(t *testing.T, path string, m schema.Migration) (n int) {
	t.Helper()
	scratch := filepath.Join(t.TempDir(), "scratch.db")
	if _, err := os.Stat(path); err == nil {
		scratch = crash(t, path)
	}
	handle, err := sqlx.Open("sqlite",
		"file:"+scratch+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)&_pragma=foreign_keys(1)")
	must(t, err)
	defer handle.Close()
	c, err := handle.Connx(t.Context())
	must(t, err)
	defer c.Close()
	for _, q := range []string{"PRAGMA cache_size = 2", "PRAGMA cache_spill = 1", "BEGIN IMMEDIATE"} {
		_, err := c.ExecContext(t.Context(), q)
		must(t, err)
	}
	all := statements(m.SQL)
	for i, q := range all {
		if _, err := c.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%04d, statement %d: %v\n%s", m.Number, i, err, q)
		}
		if i%8 != 0 && i < len(all)-1 && os.Getenv("NEWSLETTERD_TORTURE") == "" {
			continue
		}
		image := crash(t, scratch)
		left, err := sql.Open("sqlite", "file:"+image)
		must(t, err)
		inside, err := left.Conn(t.Context())
		must(t, err)
		pending, err := schema.Pending(t.Context(), inside, 0)
		must(t, errors.Join(err, inside.Close(), left.Close()))
		if len(pending) == 0 || pending[0].Number != m.Number {
			t.Errorf("inside %04d the file says that it needs %v", m.Number, pending)
		}
		to := m.Number // so that the caller runs all later migrations only once
		if os.Getenv("NEWSLETTERD_TORTURE") != "" {
			to = 0
		}
		if _, err := db.Migrate(t.Context(), image, db.MigrateOptions{To: to, NoCopy: true, Now: time.Now()}); err != nil {
			t.Fatalf("%04d, after statement %d: %v", m.Number, i, err)
		}
		n++
	}
	return n
}

// TestScopesAfterAnUpgrade checks that clients with the old default scopes get the current default, and that others
// keep their scopes. Sign-ins keep their scopes, except password sign-ins not held by a third party.
func TestScopesAfterAnUpgrade(t *testing.T) {
	const was, is = "openid profile email offline_access", "openid profile email offline_access devices models.read " +
		"models.write"
	path := dbtest.FirstVersion(t, "..")
	handle, err := sqlx.Open("sqlite", "file:"+path)
	must(t, err)
	add := func(id, kind, client, scope string) {
		_, err := handle.Exec("INSERT INTO family (id, kind, user_id, client_id, scope, auth_at, created_at, used_at, "+
			"expires_at) VALUES (?, ?, 'u', ?, ?, 1, 1, 1, 1)", id, kind, client, scope)
		must(t, err)
	}
	for id, first := range map[string]int{"ours": 1, "theirs": 0} {
		_, err := handle.Exec(`INSERT INTO client (id, name, client_type, scopes, grant_types, first_party, created_at,
			updated_at)
			VALUES (?, 'x', 'public', '["openid","profile","email","offline_access"]', '[]', ?, 1, 1)`, id, first)
		must(t, err)
	}
	_, err = handle.Exec(`INSERT INTO client (id, name, client_type, scopes, grant_types, created_at, updated_at) VALUES
		('few', 'x', 'public', '["openid","email"]', '[]', 1, 1)`)
	must(t, err)
	add("by password", "password", "newsletterd", was)
	add("operator's", "password", "newsletterd", was+" admin")
	add("narrow", "password", "newsletterd", "openid email")
	add("at ours", "password", "ours", was)
	add("at theirs", "password", "theirs", was)
	add("by code", "code", "ours", was)
	must(t, handle.Close())
	_, err = db.Migrate(t.Context(), path, db.MigrateOptions{Now: time.Now()})
	must(t, err)
	after := tables(t, path)
	scopes := func(table string) map[string]string {
		m := map[string]string{}
		for _, row := range after[table] {
			m[row["id"]] = row["scope"] + row["scopes"]
		}
		return m
	}
	for id, want := range map[string]string{
		"by password": is, "operator's": is + " admin", "narrow": "openid email", "at ours": is, "at theirs": was,
		"by code": was,
	} {
		if got := scopes("family")[id]; got != want {
			t.Errorf("the sign-in %s has %q, wants %q", id, got, want)
		}
	}
	all := core.Strings(core.UserScopes).Column()
	for id, want := range map[string]string{"ours": all, "theirs": all, "few": `["openid","email"]`} {
		if got := scopes("client")[id]; got != want {
			t.Errorf("the client %s has %s, wants %s", id, got, want)
		}
	}
}
