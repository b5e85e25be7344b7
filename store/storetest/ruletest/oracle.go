package ruletest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"newsletterd/core"
)

// Oracle determines who matches a rule, from the tables as they were when it was created.
type Oracle struct {
	*Crowd
	db    *sql.DB
	today string
}

// spaces are the characters that are trimmed from values, as an SQL expression.
const spaces = `char(9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200,
	8201, 8202, 8232, 8233, 8239, 8287, 12288)`

// facts are the statements that create the oracle's tables. Names such as $NOW are replaced.
var facts = []string{
	// Everyone on a list. heard is the time of the last event, agrees the consent to tracking.
	`CREATE TEMP TABLE person AS SELECT s.list_id AS list, s.id, s.email_key AS mail, s.word_at AS heard,
		lower(substr(s.email, instr(s.email, '@') + 1)) AS domain, iif(s.joined_at = 0, s.created_at, s.joined_at)
		AS since, rule_day_of(iif(s.joined_at = 0, s.created_at, s.joined_at), '$ZONE') AS joined,
		coalesce(json_type(s.preferences, '$._tracking') = 'true', 0) AS agrees,
		coalesce(nullif((SELECT language FROM list WHERE id = s.list_id), ''), 'en') AS language,
		s.word = 'active' AND s.block = '' AND s.email_key NOT IN (SELECT email_key FROM suppression
			WHERE tenant_id = '$TENANT') AND s.email_key NOT IN (SELECT email_key FROM disabled
			WHERE tenant_id IN ('', '$TENANT')) AS mailable
		FROM subscriber AS s`,
	"CREATE UNIQUE INDEX person_id ON person (list, id)",
	"CREATE UNIQUE INDEX person_mail ON person (mail, list)",
	`CREATE TEMP TABLE member AS SELECT s.list_id AS list, s.id, j.key, j.type, s.preferences -> j.fullkey AS raw
		FROM subscriber AS s, json_each(s.preferences) AS j`,
	`CREATE TEMP TABLE part AS SELECT list, id, key, type, raw FROM member WHERE type <> 'array'
		UNION ALL SELECT m.list, m.id, m.key, e.type, m.raw -> e.fullkey FROM member AS m, json_each(m.raw) AS e
		WHERE m.type = 'array'`,
	`CREATE TEMP TABLE scalar AS SELECT list, id, key, type, CASE type WHEN 'text' THEN trim(raw ->> '$', ` + spaces +
		`) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'integer' THEN rule_plain(raw) WHEN 'real'
		THEN rule_plain(raw) END AS text FROM part WHERE type NOT IN ('null', 'array')`,
	`CREATE TEMP TABLE value AS SELECT *, rule_number(text) AS number, rule_day(text, '$ZONE') AS day FROM scalar
		WHERE type = 'object' OR text <> ''`,
	"CREATE INDEX value_key ON value (list, id, key)",
	// The newest subscription of each person that has a consent or a request, and its source and newest consent.
	`CREATE TEMP TABLE evidence AS SELECT list_id AS list, subscription_id AS id, at, what, source, generation,
		iif(what = 'imported' AND reason LIKE 'opted in %', min(at, unixepoch(substr(reason, 10, 20)) * 1000), at)
		AS said FROM consent WHERE what IN ('requested', 'confirmed', 'imported')`,
	`DELETE FROM evidence AS e WHERE generation < (SELECT max(generation) FROM evidence WHERE list = e.list
		AND id = e.id)`,
	"CREATE INDEX evidence_id ON evidence (list, id)",
	"ALTER TABLE person ADD COLUMN source",
	"ALTER TABLE person ADD COLUMN consented",
	`UPDATE person SET source = (SELECT source FROM evidence AS e WHERE e.list = person.list AND e.id = person.id
			AND source <> '' ORDER BY at LIMIT 1),
		consented = (SELECT rule_day_of(max(said), '$ZONE') FROM evidence AS e WHERE e.list = person.list
			AND e.id = person.id AND what <> 'requested')`,
	// Everyone who got a campaign, or will.
	`CREATE TEMP TABLE got AS SELECT DISTINCT j.campaign_id AS campaign, r.email_key AS mail FROM recipient AS r
		JOIN send_job AS j ON j.no = r.job_no WHERE r.state <= 2 OR r.ambiguous > 0`,
	"CREATE UNIQUE INDEX got_mail ON got (mail, campaign)",
	// The same, but only people whose clicks are stored. Some campaigns identify only people who agreed.
	`CREATE TEMP TABLE named AS SELECT DISTINCT j.campaign_id AS campaign, r.email_key AS mail FROM recipient AS r
		JOIN send_job AS j ON j.no = r.job_no LEFT JOIN person AS p ON p.id = r.subscriber_id
		WHERE (r.state <= 2 OR r.ambiguous > 0) AND (j.tracked & 8 = 0 OR p.agrees AND p.heard <= j.started_at)`,
	"CREATE UNIQUE INDEX named_mail ON named (mail, campaign)",
	// Everyone who clicked a link.
	`CREATE TEMP TABLE followed AS SELECT DISTINCT j.campaign_id AS campaign, g.link_no AS link, r.email_key AS mail
		FROM engagement AS g JOIN send_job AS j ON j.no = g.job_no JOIN recipient AS r ON r.job_no = g.job_no
		AND r.seq = g.seq WHERE g.class = $PERSON`,
	"CREATE UNIQUE INDEX followed_mail ON followed (mail, campaign, link)",
	// Everyone who answered a poll, by address. No one answered through two lists.
	`CREATE TEMP TABLE answered AS SELECT p.campaign_id AS campaign, p.number, s.email_key AS mail, o.text
		FROM poll_answer AS a JOIN poll AS p ON p.no = a.poll_no JOIN subscriber AS s ON s.list_id = a.list_id
		AND s.id = a.subscriber_id JOIN poll_option AS o ON o.poll_no = p.no AND o.number = a.option`,
	"CREATE UNIQUE INDEX answered_mail ON answered (mail, campaign, number)",
	// What each person did with the campaigns of their list that show it.
	`CREATE TEMP TABLE reading AS SELECT p.list, p.id, j.no AS job, j.started_at AS at,
		rule_day_of(j.started_at, '$ZONE') AS day, j.tracked & 1 <> 0 AS opens, j.tracked & 2 <> 0 AS clicks,
		r.marks & 16 <> 0 AND r.marks & 64 = 0 AS clicked, CASE WHEN r.marks & 16 <> 0 AND r.marks & 64 = 0 THEN 1
		WHEN r.marks & 128 <> 0 THEN 1 WHEN r.marks & 256 <> 0 THEN NULL WHEN r.marks & 512 <> 0 THEN 0
		WHEN r.marks & 8 = 0 THEN 0 WHEN r.marks & 32 <> 0 THEN NULL ELSE 1 END AS opened
		FROM recipient AS r JOIN send_job AS j ON j.no = r.job_no JOIN person AS p ON p.id = r.subscriber_id
		WHERE r.state = 2 AND j.started_at >= p.since AND j.started_at < $NOW
		AND CASE WHEN j.tracked & 12 = 4 THEN 0 WHEN $ASKS OR j.tracked & 8 <> 0 THEN p.agrees
		AND p.heard <= j.started_at ELSE 1 END`,
	"CREATE INDEX reading_id ON reading (list, id)",
}

// NewOracle reads the tables of a crowd.
func (c *Crowd) NewOracle() *Oracle {
	c.Helper()
	d, err := sql.Open("sqlite", "file:"+c.Path()+"?mode=ro")
	c.Must(err)
	c.Cleanup(func() { _ = d.Close() })
	d.SetMaxOpenConns(1)
	o := &Oracle{Crowd: c, db: d, today: dayIn(c.Time().Time(), c.zone)}
	asks := "0"
	if c.asks {
		asks = "1"
	}
	fill := strings.NewReplacer("$NOW", fmt.Sprint(int64(c.Time())), "$ZONE", c.zone, "$TENANT", c.TenantID,
		"$ASKS", asks, "$PERSON", fmt.Sprint(int(core.ClassPerson)))
	for _, query := range facts {
		if _, err := d.ExecContext(context.Background(), fill.Replace(query)); err != nil {
			c.Fatalf("%v: %s", err, query)
		}
	}
	return o
}

// Matching returns the addresses of the people on lists who may be emailed and match a rule, sorted. Each is judged
// on the first list that can reach them.
func (o *Oracle) Matching(rule string, lists ...string) (all []string) {
	o.Helper()
	rows, err := o.db.QueryContext(context.Background(), `SELECT p.mail FROM temp.person AS p WHERE p.mailable
		AND p.list IN (`+quotedAll(lists)+`) AND NOT EXISTS (SELECT 1 FROM temp.person AS o WHERE o.mail = p.mail
		AND o.mailable AND instr('`+strings.Join(lists, " ")+`', o.list)
		BETWEEN 1 AND instr('`+strings.Join(lists, " ")+`', p.list) - 1)
		AND (`+o.expression(decoded(rule))+`) ORDER BY 1`)
	if err != nil {
		o.Fatalf("%s: %v", rule, err)
	}
	defer rows.Close()
	for rows.Next() {
		var mail string
		o.Must(rows.Scan(&mail))
		all = append(all, mail)
	}
	o.Must(rows.Err())
	return all
}

// Mailable returns the number of people on lists who may be emailed.
func (o *Oracle) Mailable(lists ...string) (n int) {
	o.Helper()
	o.Must(o.db.QueryRowContext(context.Background(), `SELECT count(DISTINCT mail) FROM temp.person WHERE mailable
		AND list IN (`+quotedAll(lists)+`)`).Scan(&n))
	return n
}
