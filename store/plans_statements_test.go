package store

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"newsletterd/store/db"
)

// growing lists the tables with a row for each person, email or event, and those that workers query all the time.
var growing = strings.Fields(`attempt bulk_person confirm_token consent disable_request disabled endpoint_attempt
	engagement further_list import_before import_chunk import_job import_picture import_post import_word imported_issue
	list_count mail outbox provider_event queue_id received_sync recipient recipient_word seen_batch seen_event
	seen_nonce send_job subscriber subscription suppression sync sync_batch tagged webhook_endpoint`)

// dependent maps parts of statements whose plans may depend on statistics to the reason. No one waits for these
// statements. Each is for a page of the console, or for work that a user requests once.
var dependent = map[string]string{
	"JOIN disabled d ON d.email_key = s.email_key":          "the check of the whole database, at night",
	"SELECT r.list_id, coalesce(c.active, 0) AS active":     "the check of the counts, at night",
	"SELECT 'job' AS kind, iif(c.name = '', c.subject, c.n": "a picture is deleted: who shows it",
	"SELECT 'job' AS kind, j.id, iif(c.name = '', c.subje":  "a template is deleted: who uses it",
	"SELECT CAST(id AS TEXT) FROM outbox WHERE id > ?2 AND": "a person is exported or erased: a scan, told in reach",
	"SELECT list_id, event_type, occurred_at FROM outbox W": "a person is exported",
	"instr(lower(CAST(c.data AS TEXT)), ?1)":                "a person is erased: their address in files",
	"FROM outbox WHERE id > ?1 AND (?2 = '' OR tenant_id =": "a page of the outbox",
	"SELECT i.no, i.list_id, i.campaign_no, i.slug, i.titl": "a page of the archive",
	"j.recipients) AS high, j.tenant_id, s.list_id, s.emai": "a person is looked for among recipients",
	"SELECT m.issue_no AS no, octet_length(m.body) AS siz":  "the site of an import changes",
	"SELECT j.no, j.expanded = 1 OR j.status IN ('complete": "a person is exported or erased",
	"SELECT no, id, tenant_id, state, name, subject, revis": "a page of campaigns",
	"SELECT send_job.no, send_job.id, send_job.tenant_id, ": "a page of jobs",
	"UPDATE send_job SET status = 'cancelled', finished_at": "a list or a tenant is deleted",
}

// scanned maps parts of statements that may scan such a table to the reason.
var scanned = map[string]string{
	"ORDER BY id LIMIT +?2) WHERE":                          "the first few rows",
	"ORDER BY id DESC LIMIT":                                "the last few rows",
	"SELECT EXISTS (SELECT 1 FROM disabled)":                "the first row",
	"SELECT count(*) FROM send_job WHERE status = 'complet": "the check of the whole database, at night",
	"SELECT count(*) FROM send_job j WHERE j.status IN ('c": "the check of the whole database, at night",
	"SELECT count(*) FROM subscription s":                   "the check of the whole database, at night",
	"SELECT r.list_id, coalesce(c.active, 0) AS active":     "the check of the counts, at night",
	"SELECT (SELECT count(*) FROM tenant) AS tenants":       "figures of an installation",
	"SELECT coalesce(sum(sent), 0) AS sent":                 "figures of an installation: a few jobs a day",
	"SELECT status, count(*) AS count FROM send_job":        "figures of an installation: a few jobs a day",
	"SELECT send_job.id, campaign_copy.name, status, due_a": "figures of an installation: a few jobs a day",
	"SELECT no FROM send_job WHERE status IN ('cancelled',": "jobs that a kill has left, at the start",
	"paused_at > 0 AND pause_reason LIKE 'restored%'":       "a database was restored",
	"FROM send_job j CROSS JOIN": "a few jobs a day; of those that were swept, " +
		"nothing is left",
	"SELECT b.sync_id, b.batch_no FROM sync AS y CROSS JOI": "a list has few syncs",
	"SELECT y.id FROM sync AS y":                            "a list has few syncs",
	"FROM import_job AS j CROSS JOIN import_chunk":          "a list has few imports",
	"SELECT count(*) FROM import_job":                       "a list has few imports",
	"FROM webhook_endpoint WHERE disabled_at":               "a tenant has few endpoints",
	"FROM webhook_endpoint WHERE dropped_id > 0":            "a tenant has few endpoints",
	"FROM webhook_endpoint AS e WHERE waiting":              "the check of the whole database, at night",
	"sum(waiting_bytes), 0) FROM webhook_endpoint":          "a tenant has few endpoints",
	"disable_request WHERE lower(email) = ?1":               "requests that wait for the member service",
}

// queried matches the kinds of statements that have a plan.
var queried = regexp.MustCompile(`(?i)^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b`)

// of matches the tables of a statement and their aliases.
var of = regexp.MustCompile(`(?:FROM|JOIN|INTO|UPDATE|,)\s+([a-z_]+)(?:\s+(?:AS )?([a-z])\b)?`)

// TestPlansDependOnNoStatistics runs every operation of the store and checks the plan of each statement. On a growing
// table, the plan must not depend on SQLite's statistics and must not scan a table.
func TestPlansDependOnNoStatistics(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	s := newStory(t, false, false)
	s.faultless = true
	s.calls.KeepStatements()
	s.whole()
	ran := s.calls.KeptStatements()
	states := []struct {
		name string
		note func(*sqlx.DB) error
		db   *sqlx.DB
	}{
		{name: "no statistics", note: func(*sqlx.DB) error { return nil }},
		{name: "one value in a million rows", note: noteStatistics("'1000000'",
			`iif(c.seqno = 0 AND (i."unique" = 0 OR EXISTS (SELECT 1 FROM pragma_index_info(i.name) WHERE seqno > 0)),
				' 1000000', ' 1')`)},
		{name: "a million values", note: noteStatistics("'1000000'", "' 1'")},
		{name: "tiny tables", note: noteStatistics("'2'", "' 2'")},
		{name: "100,000 events of one endpoint", note: fillTables},
	}
	for i := range states {
		path := filepath.Join(t.TempDir(), "plans.db")
		must(t, testOpen(t, path, db.Daemon).Close())
		db, err := sqlx.Open("sqlite", "file:"+path)
		must(t, err)
		defer db.Close()
		db.SetMaxOpenConns(1)
		must(t, states[i].note(db))
		if states[i].db = db; i > 0 { // a connection reads the statistics when it opens
			db.SetMaxIdleConns(0)
		}
	}
	looked, met := 0, map[string]bool{}
	may := func(list map[string]string, q string) bool {
		for part := range list {
			if strings.Contains(q, part) {
				met[part] = true
				return true
			}
		}
		return false
	}
	for _, q := range slices.Sorted(maps.Keys(ran)) {
		tables := tablesOf(q)
		if len(tables) == 0 || !queried.MatchString(q) {
			continue
		}
		looked++
		plans := map[string][]string{}
		for _, st := range states {
			plan := explain(t, st.db, q, ran[q])
			plans[plan] = append(plans[plan], st.name)
			for _, step := range strings.Split(plan, "\n") {
				word, rest, _ := strings.Cut(step, " ")
				name, how, _ := strings.Cut(rest, " ")
				if word == "SCAN" && tables[name] && !strings.Contains(how, "INDEX") && !may(scanned,
					q) && !may(dependent, q) {
					t.Errorf("with %s: %s\n%s", st.name, step, q)
				}
			}
		}
		if len(plans) > 1 && !may(dependent, q) {
			var all strings.Builder
			for plan, with := range plans {
				fmt.Fprintf(&all, "\n\nwith %s:\n%s", strings.Join(with, "; with "), plan)
			}
			t.Errorf("%s%s", q, all.String())
		}
	}
	t.Logf("%d statements on tables that grow, of %d", looked, len(ran))
	if looked < 350 {
		t.Errorf("%d statements were looked at", looked)
	}
	for _, list := range []map[string]string{dependent, scanned} {
		for part := range list {
			if !met[part] {
				t.Errorf("no statement needs the exception %q", part)
			}
		}
	}
}

// tablesOf returns the growing tables of a statement, by their names or aliases in it.
func tablesOf(query string) map[string]bool {
	names := map[string]bool{}
	for _, m := range of.FindAllStringSubmatch(query, -1) {
		if slices.Contains(growing, m[1]) {
			names[m[1]] = true
			names[m[2]] = true
		}
	}
	delete(names, "")
	return names
}

// Permitted differences between plans: a bound on an index beyond the searched values, whether the index is covering,
// and filters before a search.
var (
	bounds     = regexp.MustCompile(`( AND )?[a-z_]+[<>]=?\?`)
	emptyRange = regexp.MustCompile(` ?\( ?\)`)
	subqueryNo = regexp.MustCompile(`(SUBQUERY|INDEX) [0-9]+$`)
)

// explain returns the steps of a plan without the permitted differences.
func explain(t *testing.T, db *sqlx.DB, query string, args []any) string {
	t.Helper()
	var plan []struct {
		ID, Parent, Notused int
		Detail              string
	}
	must(t, db.Select(&plan, "EXPLAIN QUERY PLAN "+query, args...))
	var steps []string
	for _, p := range plan {
		step := strings.NewReplacer("COVERING ", "", "( AND ", "(").Replace(bounds.ReplaceAllString(p.Detail, ""))
		if !strings.Contains(step, "BLOOM FILTER") {
			steps = append(steps, subqueryNo.ReplaceAllString(emptyRange.ReplaceAllString(step, ""), "$1"))
		}
	}
	return strings.Join(steps, "\n")
}

// noteStatistics makes SQLite believe that each table has that many rows, and that each value in an index occurs each
// times.
func noteStatistics(rows, each string) func(*sqlx.DB) error {
	return func(db *sqlx.DB) error {
		_, err := db.Exec(`ANALYZE; DELETE FROM sqlite_stat1;
			INSERT INTO sqlite_stat1 SELECT t.name, i.name, ` + rows + ` || (SELECT group_concat(` + each + `, '') FROM
				pragma_index_info(i.name) AS c)
			FROM sqlite_schema AS t JOIN pragma_index_list(t.name) AS i WHERE t.type = 'table'`)
		return err
	}
}

// fillTables fills the outbox with 100,000 events and each other table with 500 rows. Only the last column of a key
// differs; all others have their default or one value. Then it runs ANALYZE.
func fillTables(db *sqlx.DB) error {
	if _, err := db.Exec(`PRAGMA foreign_keys = 0; PRAGMA ignore_check_constraints = 1; PRAGMA synchronous =
		0`); err != nil {
		return err
	}
	var inserts []string
	if err := db.Select(&inserts, `SELECT 'INSERT OR IGNORE INTO ' || t.name || ' (' || group_concat('"' ||
		c.name || '"')
			|| ') SELECT ' || group_concat(CASE WHEN c.pk > 0 AND c.pk = (SELECT max(pk) FROM pragma_table_info(t.name))
				OR EXISTS (SELECT 1 FROM pragma_index_list(t.name) AS l JOIN pragma_index_info(l.name) AS i ON
					i.name = c.name AND i.seqno = (SELECT max(seqno) FROM pragma_index_info(l.name)) WHERE
					l."unique" = 1)
				THEN CASE c.type WHEN 'TEXT' THEN '''x'' || n' WHEN 'BLOB' THEN 'CAST(n AS BLOB)' ELSE 'n' END
			WHEN c.dflt_value IS NOT NULL THEN c.dflt_value
			ELSE CASE c.type WHEN 'TEXT' THEN '''x''' WHEN 'BLOB' THEN 'x''01''' ELSE '1' END END)
		FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table' AND t.name NOT LIKE
		'sqlite_%'
			AND t.name NOT LIKE 'model_search%' AND t.name NOT LIKE 'issue_search%' GROUP BY t.name`); err != nil {
		return err
	}
	for _, insert := range inserts {
		rows := 500
		if strings.Contains(insert, " outbox ") {
			rows = 100_000
		}
		if _, err := db.Exec("WITH RECURSIVE s (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM s WHERE n < ?) "+
			""+insert+" FROM s", rows); err != nil {
			return fmt.Errorf("%s: %w", insert, err)
		}
	}
	_, err := db.Exec(`UPDATE outbox SET endpoint_id = 'x', subscription_id = 'x' || id; PRAGMA analysis_limit =
		400; ANALYZE`)
	return err
}
