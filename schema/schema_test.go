package schema

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/sqlite"
)

var update = flag.Bool("update", false, "rewrite the golden schema and freeze new migrations")

func testConn(t *testing.T) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "s.db")+"?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// statementsOf returns the statements that create a database like this one. Tables with their indexes come first, then
// triggers, because they can refer to several tables, and then rows.
func statementsOf(t *testing.T, c *sql.Conn) string {
	t.Helper()
	texts := func(q string) (all []string) {
		rows, err := c.QueryContext(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return all
	}
	var b strings.Builder
	const own = " NOT LIKE 'sqlite_%' AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')"
	for _, s := range texts("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name" + own +
		" ORDER BY type = 'trigger', tbl_name, type DESC, name") {
		b.WriteString(s + ";\n\n")
	}
	for _, table := range texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name" + own +
		" AND name <> 'schema_migration' ORDER BY name") {
		columns := texts("SELECT name FROM pragma_table_info('" + table + "')")
		for _, row := range texts("SELECT quote(" + strings.Join(columns, ") || ', ' || quote(") + ") FROM " + `"` + table + `"`) {
			fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES (%s);\n", table, strings.Join(columns, ", "), row)
		}
	}
	return b.String()
}

func TestNumbersAscendAndAreSingle(t *testing.T) {
	last := 0
	for _, m := range Migrations() {
		if m.Number <= last {
			t.Errorf("%04d_%s does not follow %04d", m.Number, m.Name, last)
		}
		last = m.Number
	}
}

func TestTheSpecificationsNumbers(t *testing.T) {
	want := map[int]string{5: "agent", 6: "visibility"}
	for _, m := range Migrations() {
		if w := want[m.Number]; w != "" && !strings.Contains(m.SQL, w) {
			t.Errorf("%04d_%s does not add %s", m.Number, m.Name, w)
		}
	}
}

// oneByOne applies migrations in one transaction.
func oneByOne(t *testing.T, c *sql.Conn, ms ...Migration) error {
	return inTransaction(t.Context(), c, func() error { return applyAll(t.Context(), c, 1, ms) })
}

func TestGoldenSchema(t *testing.T) {
	c := testConn(t)
	if err := oneByOne(t, c, Migrations()...); err != nil {
		t.Fatal(err)
	}
	const golden = "whole.sql"
	got := "-- What the migrations make of an empty database. Written by make golden.\n\n" + statementsOf(t, c)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := os.ReadFile(golden)
	if got != string(want) {
		t.Errorf("the schema differs from %s; run `make golden` and review the difference", golden)
	}
}

func TestANewDatabaseIsAsItsMigrationsMakeIt(t *testing.T) {
	ctx := t.Context()
	step, whole := testConn(t), testConn(t)
	if err := oneByOne(t, step, Migrations()...); err != nil {
		t.Fatal(err)
	}
	done, err := Migrate(ctx, whole, 1, 0)
	if err != nil || len(done) != len(Migrations()) {
		t.Fatal(len(done), err)
	}
	if statementsOf(t, step) != statementsOf(t, whole) {
		t.Error("they differ")
	}
	for _, q := range []string{
		"PRAGMA user_version", "PRAGMA application_id",
		"SELECT group_concat(concat_ws(' ', number, name, checksum, applied_at)) FROM schema_migration",
		"SELECT group_concat(type || ' ' || name) FROM (SELECT * FROM sqlite_schema ORDER BY name)",
	} {
		var a, b string
		if err := errors.Join(step.QueryRowContext(ctx, q).Scan(&a), whole.QueryRowContext(ctx, q).Scan(&b)); err != nil {
			t.Fatal(err)
		}
		if a != b {
			t.Errorf("%s: %s, by the migrations %s", q, b, a)
		}
	}
	if again, err := Migrate(ctx, whole, 1, 0); err != nil || len(again) != 0 {
		t.Errorf("a second run applied %d, %v", len(again), err)
	}
	if err := Check(ctx, whole); err != nil {
		t.Error(err)
	}
}

// The files listed in frozen.txt were released, so existing databases have recorded their checksums.
func TestReleasedMigrationsAreFrozen(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "testdata", "schema", "frozen.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sums := map[string]string{}
	for _, m := range Migrations() {
		sums[fmt.Sprintf("%04d_%s", m.Number, m.Name)] = m.Checksum
	}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		name, sum, ok := strings.Cut(sc.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if sums[name] != sum {
			t.Errorf("%s was released with checksum %s and has %s now", name, sum, sums[name])
		}
	}
}

func TestFilesThatMustBeLeftAlone(t *testing.T) {
	exec := func(t *testing.T, c *sql.Conn, q string) {
		t.Helper()
		if _, err := c.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name, sql string
		fresh     bool
		want      error
	}{
		{name: "a newer user_version", sql: "PRAGMA user_version = 9999", want: ErrNewer},
		{name: "a newer migration", sql: "INSERT INTO schema_migration VALUES (9999, 'later', 'x', 1)", want: ErrNewer},
		{
			name: "a changed migration", sql: "UPDATE schema_migration SET checksum = 'x' WHERE number = 2",
			want: ErrChanged,
		},
		{name: "another program's file", sql: "CREATE TABLE other (x)", fresh: true, want: ErrForeign},
		{name: "another application_id", sql: "PRAGMA application_id = 7", want: ErrForeign},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testConn(t)
			if !tc.fresh {
				if _, err := Migrate(t.Context(), c, 1, 0); err != nil {
					t.Fatal(err)
				}
			}
			exec(t, c, tc.sql)
			before := statementsOf(t, c)
			if _, err := Migrate(t.Context(), c, 1, 0); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if statementsOf(t, c) != before {
				t.Error("the refusal changed the schema")
			}
		})
	}
}

func TestAnOlderFileIsRefusedByCheckAndUpgradedByMigrate(t *testing.T) {
	c := testConn(t)
	if _, err := Migrate(t.Context(), c, 1, 4); err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), c); !errors.Is(err, ErrOlder) {
		t.Errorf("check: %v", err)
	}
	if _, err := Migrate(t.Context(), c, 1, 0); err != nil {
		t.Fatal(err)
	}
	fresh := testConn(t)
	if _, err := Migrate(context.Background(), fresh, 1, 0); err != nil {
		t.Fatal(err)
	}
	if statementsOf(t, c) != statementsOf(t, fresh) {
		t.Error("upgraded and fresh schema differ")
	}
}

// Migrations are developed in parallel. A database can therefore have migrations with higher numbers than one that it
// still needs.
func TestAMigrationThatComesAfterLaterOnes(t *testing.T) {
	const late = 123 // adds a column to a table that no later one changes, so that the order of columns stays the same
	c := testConn(t)
	if _, err := Migrate(t.Context(), c, 1, late-1); err != nil {
		t.Fatal(err)
	}
	for _, m := range Migrations() {
		if m.Number > late {
			if err := oneByOne(t, c, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := Check(t.Context(), c); !errors.Is(err, ErrOlder) {
		t.Errorf("check: %v", err)
	}
	if done, err := Migrate(t.Context(), c, 1, 0); err != nil || len(done) != 1 || done[0].Number != late {
		t.Errorf("%d migrations, %v", len(done), err)
	}
	fresh := testConn(t)
	if _, err := Migrate(t.Context(), fresh, 1, 0); err != nil {
		t.Fatal(err)
	}
	if statementsOf(t, c) != statementsOf(t, fresh) {
		t.Error("the schema differs from a fresh one")
	}
	var v int
	if err := c.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&v); err != nil || v != Latest() {
		t.Errorf("user_version %d, %v", v, err)
	}
}

// A database without tables gets the whole schema or nothing, because all migrations share one transaction.
func TestAFreshFileGetsAllOrNothing(t *testing.T) {
	c := testConn(t)
	before := statementsOf(t, c)
	broken := append(Migrations(),
		Migration{Number: 9999, Name: "broken", SQL: "CREATE TABLE tenant (x INTEGER) STRICT"})
	if err := oneByOne(t, c, broken...); err == nil {
		t.Fatal("no error")
	}
	if statementsOf(t, c) != before {
		t.Error("a part of the schema is left")
	}
	commits := 0
	if err := c.Raw(func(driver any) error {
		driver.(interface{ RegisterCommitHook(sqlite.CommitHookFn) }).RegisterCommitHook(func() int32 { commits++; return 0 })
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	done, err := Migrate(t.Context(), c, 1, 0)
	if err != nil || len(done) != len(Migrations()) || commits != 1 {
		t.Errorf("%d of %d migrations in %d transactions, %v", len(done), len(Migrations()), commits, err)
	}
}

func TestAFailingMigrationLeavesTheLastWholeOne(t *testing.T) {
	c := testConn(t)
	if _, err := Migrate(t.Context(), c, 1, 3); err != nil {
		t.Fatal(err)
	}
	before := statementsOf(t, c)
	err := oneByOne(t, c, Migration{
		Number: 4, Name: "broken", SQL: "CREATE TABLE half (x INTEGER) STRICT; CREATE TABLE half (x INTEGER) STRICT;",
	})
	if err == nil {
		t.Fatal("no error")
	}
	if statementsOf(t, c) != before {
		t.Error("half a migration is left")
	}
	var v int
	if err := c.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&v); err != nil || v != 3 {
		t.Errorf("user_version %d, %v", v, err)
	}
}

// The migration marks unsubscribes that were undone before the database had a column for this. It also marks the queued
// emails that ask people again.
func TestWhatWasTakenBackIsMarkedByItsMigration(t *testing.T) {
	c := testConn(t)
	if _, err := Migrate(t.Context(), c, 1, 80); err != nil {
		t.Fatal(err)
	}
	run := func(statement string) {
		t.Helper()
		if _, err := c.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for _, row := range []string{
		"'l', 'ann', 1, 'confirmed'", "'l', 'ann', 2, 'unsubscribed'", "'l', 'ann', 3, 'resumed'",
		"'l', 'ann', 4, 'unsubscribed'", "'l', 'bob', 2, 'unsubscribed'", "'m', 'ann', 2, 'unsubscribed'",
		"'l', 'eve', 2, 'unsubscribed'", "'l', 'eve', 3, 'disabled'", "'l', 'eve', 4, 'resumed'",
	} {
		run("INSERT INTO consent (list_id, subscription_id, at, what, generation) VALUES (" + row + ", 1)")
	}
	for _, row := range []string{"'l', 'a', 'ann@example.org', 7", "'l', 'b', 'bob@example.org', 0"} {
		run(`INSERT INTO subscription (list_id, id, email_key, asked_at, email, status, generation, created_at, changed_at)
			VALUES (` + row + ", '', 'pending', 1, 1, 1)")
	}
	for _, row := range []string{
		"1, 'confirm', 'ann@example.org', 7, 0", "2, 'confirm', 'ann@example.org', 6, 0",
		"3, 'confirm', 'bob@example.org', 7, 0", "4, 'ask_again', 'bob@example.org', 5, 0",
		"5, 'ask_again', 'bob@example.org', 5, 1", "6, 'verify', 'ann@example.org', 7, 0",
	} {
		run("INSERT INTO mail (id, kind, email_key, created_at, state, list_id, email, due_at) VALUES (" + row +
			", 'l', '', 1)")
	}
	if _, err := Migrate(t.Context(), c, 1, 0); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"SELECT group_concat(list_id || ' ' || subscription_id || ' ' || at) FROM consent WHERE taken_back = 1": "l ann 2",
		`SELECT group_concat(id) FROM mail WHERE params = '{"once_more":true}'`:                                 "1,4",
	} {
		var got sql.NullString
		if err := c.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got.String != want {
			t.Errorf("%s: %q, %v; want %q", query, got.String, err, want)
		}
	}
}
