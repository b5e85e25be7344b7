package audience_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
)

// figurePerson is a subscriber of the list whose segments are measured. A number determines everything about the
// person.
type figurePerson struct {
	no                        int
	rank, orders, city, plan  int
	born, joined              int // number of days ago
	consented                 int // number of days ago
	source, domain            int
	imported, again, onOther  bool
	vip, rare, half, evidence bool
}

var (
	figurePlans   = []string{"free", "free", "pro", "team"}
	figureSources = []string{"form", "form", "Trade fair", "import people.csv"}
	figureDomains = []string{"gmail.com", "gmail.com", "web.de", "example.org", "mail.example.net"}
)

// mixed returns a number that looks random.
func mixed(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

func figurePersonOf(no int) (p figurePerson) {
	state := uint64(no)
	next := func(n int) int {
		state = mixed(state)
		return int(state % uint64(n))
	}
	p = figurePerson{
		no: no, rank: next(10_000), orders: next(12) * next(12), city: next(100), plan: next(len(figurePlans)),
		born: 7000 + next(20_000), joined: next(1000), source: next(len(figureSources)),
		domain: next(len(figureDomains)),
	}
	p.again, p.onOther, p.vip, p.rare, p.half = next(30) == 0, next(10) < 3, next(10) == 0, next(200) == 0, next(2) == 0
	p.imported, p.consented = p.source == 3, p.joined
	if p.evidence = p.imported && next(2) == 0; p.evidence {
		p.consented += next(300)
	}
	return p
}

func (p *figurePerson) email() core.Email {
	return core.Email(fmt.Sprintf("reader%07d@%s", p.no, figureDomains[p.domain]))
}

func (p *figurePerson) preferences() string {
	return fmt.Sprintf(`{"first_name":"Reader%d","city":"Town%d","plan":%q,"birthday":%q,"orders":%d,"rank":%d}`,
		p.no, p.city, figurePlans[p.plan], figureDay(p.born), p.orders, p.rank)
}

func figureDay(ago int) string { return figureTime(ago).Time().Format(time.DateOnly) }

func figureTime(ago int) core.Instant { return start - core.Instant(ago)*day }

const (
	figureJobs = 50 // campaigns that everyone got, one a week
	figureLink = 49 // index of the campaign whose clicks are stored, counted from 0
)

func figureJobAt(job int) core.Instant {
	return start - core.Instant(figureJobs-job)*7*day - 60*60*1000
}

// figureMark returns a number that determines what happened to an email. Below 300, it failed. Below each of the next
// limits, it was clicked, opened by a person, possibly opened by a person, or opened by a scanner. SQL has the same
// formula.
func figureMark(no, job int) int { return (no*7919 + job*104729 + no%997*job*31) % 10007 }

const figureMarkSQL = "(k * 7919 + ?2 * 104729 + k % 997 * ?2 * 31) % 10007"

// crowd is a database with a long list and 50 campaigns.
type crowd struct {
	*world
	n         int
	list      core.List
	other     core.List // list with 3 in 10 of the people
	campaigns []string
}

// newCrowd opens the database of NEWSLETTERD_FIGURES_DATABASE, or a temporary one, and fills it with n people if it is
// new.
func newCrowd(w *world, n int) *crowd {
	c := &crowd{world: w, n: n}
	w.Must(w.All(w.Context(), &c.campaigns, "SELECT campaign_id FROM send_job WHERE campaign_id <> '' ORDER BY no"))
	if len(c.campaigns) == 0 {
		c.fill()
		w.Must(w.All(w.Context(), &c.campaigns, "SELECT campaign_id FROM send_job WHERE campaign_id <> '' ORDER BY no"))
	}
	w.Must(w.Get(w.Context(), &w.TenantID, "SELECT id FROM tenant"))
	w.Must(w.Get(w.Context(), &c.list, "SELECT id, tenant_id FROM list ORDER BY id LIMIT 1"))
	w.Must(w.Get(w.Context(), &c.other, "SELECT id, tenant_id FROM list ORDER BY id LIMIT 1 OFFSET 1"))
	w.Must(w.Get(w.Context(), &c.n, "SELECT count(*) FROM subscriber WHERE list_id = ?", c.list.ID))
	return c
}

// fill writes the people and campaigns: the records through the store, and the many rows with SQL.
func (c *crowd) fill() {
	c.list, c.other = c.NewList(), c.NewList()
	c.Readers(c.list, 1)
	c.Readers(c.other, 1)
	for job := range figureJobs {
		c.Seeder = c.At(figureJobAt(job))
		d := c.draft([]core.List{c.list}, func(f *core.CampaignFields) { f.Tracking = core.TrackingPersons })
		c.Start(c.SendDraft(&d))
	}
	c.Seeder = c.At(start)
	for _, name := range []string{"VIP", "rare", "half"} {
		tag, err := core.NewTag(c.TenantID, name, start)
		c.Must(err)
		c.Must(c.AddTag(c.Context(), tag, "test"))
	}
	c.sql("DELETE FROM recipient")
	c.sql("DELETE FROM subscriber")
	c.sql(`UPDATE send_job SET status = 'completed', expanded = 1, recipients = ?1, sent = ?1, clicked = 1,
		finished_at = started_at, tracked = 3`, c.n)
	c.sql("UPDATE list_count SET mailable = ?", c.n)
	c.sql("INSERT INTO link (job_no, no, url) SELECT max(no), 1, 'https://acme.example/' FROM send_job")
	c.Must(c.fillRows())
}

func (c *crowd) fillRows() (err error) {
	const fast = "?_pragma=synchronous(0)&_pragma=cache_size(-65536)&_pragma=busy_timeout(9000)"
	d, err := sql.Open("sqlite", "file:"+c.Path()+fast)
	if err != nil {
		return err
	}
	defer d.Close()
	d.SetMaxOpenConns(1)
	exec := func(query string, args ...any) {
		if err == nil {
			_, err = d.ExecContext(c.Context(), query, args...)
		}
	}
	exec("CREATE TEMP TABLE walk (seq INTEGER PRIMARY KEY, id TEXT, email_key TEXT, k INTEGER)")
	err = cmp.Or(err, c.fillPeople(d, c.list, c.n, func(p *figurePerson) bool { return true }))
	for job := range figureJobs {
		exec(`INSERT INTO recipient (job_no, seq, subscriber_id, email_key, state, tries, finished_at, marks)
			SELECT (SELECT no FROM send_job ORDER BY no LIMIT 1 OFFSET ?2), seq, id, email_key, iif(m < 300, 3, 2), 1,
			?1, CASE WHEN m < 300 THEN 0 WHEN m < 800 THEN ?3 WHEN m < 2800 THEN ?4 WHEN m < 3800 THEN ?5
			WHEN m < 4300 THEN ?6 ELSE 1 END FROM (SELECT *, `+figureMarkSQL+` AS m FROM walk ORDER BY seq)`,
			int64(figureJobAt(job)), job,
			int(core.MarkClicked|core.MarkOpened|core.MarkReadByPerson), int(core.MarkOpened|core.MarkReadByPerson),
			int(core.MarkOpened|core.MarkReadUnclear), int(core.MarkOpened|core.MarkReadByScanner))
	}
	exec(`INSERT INTO engagement (job_no, seq, link_no, first_at, last_at, times, machine, class) SELECT job_no, seq, 1,
		1, 1, 1, 0, ? FROM recipient WHERE job_no = (SELECT max(no) FROM send_job) AND marks & ? <> 0 ORDER BY seq`,
		int(core.ClassPerson), int(core.MarkClicked))
	exec("DELETE FROM walk")
	err = cmp.Or(err, c.fillPeople(d, c.other, c.n, func(p *figurePerson) bool { return p.onOther }))
	exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// fillPeople writes the people of a list in the order of their ids, in both parts of the database.
func (c *crowd) fillPeople(d *sql.DB, l core.List, n int, on func(*figurePerson) bool) error {
	type place struct {
		id string
		no int
	}
	var all []place
	for no := range n {
		if p := figurePersonOf(no); on(&p) {
			all = append(all, place{c.SubscriptionIDs(l.ID).Of(p.email().Key()), no})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.id, b.id) })
	ctx := context.Background()
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	prepared := map[string]*sql.Stmt{}
	exec := func(query string, args ...any) {
		s := prepared[query]
		if s == nil && err == nil {
			s, err = tx.PrepareContext(ctx, query)
			prepared[query] = s
		}
		if err == nil {
			_, err = s.ExecContext(ctx, args...)
		}
	}
	const consent = `INSERT INTO consent (list_id, subscription_id, at, what, means, source, remote, user_agent,
		text_version, generation, reason) VALUES (?, ?, ?, ?, 'mailed', ?, ?, ?, ?, ?, ?)`
	for seq, a := range all {
		p := figurePersonOf(a.no)
		at, key := int64(figureTime(p.joined)), string(p.email().Key())
		exec("INSERT INTO walk (seq, id, email_key, k) VALUES (?, ?, ?, ?)", seq+1, a.id, key, a.no)
		exec(`INSERT INTO subscriber (list_id, email_key, id, email, word, word_at, preferences, created_at, changed_at,
			joined_at) VALUES (?, ?, ?, ?, 'active', ?, ?, ?, ?, ?)`, l.ID, key, a.id, string(p.email()), at,
			p.preferences(), at, at, at)
		exec(`INSERT INTO subscription (list_id, id, email, email_key, status, preferences, created_at, changed_at)
			VALUES (?, ?, ?, ?, 'active', ?, ?, ?)`, l.ID, a.id, string(p.email()), key, p.preferences(), at, at)
		for no, tagged := range []bool{p.vip, p.rare, p.half} {
			if tagged {
				exec("INSERT INTO tagged (list_id, id, tag_no, at) VALUES (?, ?, ?, 1)", l.ID, a.id, no+1)
			}
		}
		source, generation := figureSources[p.source], 1
		row := func(at int64, what, reason string) {
			remote, agent := "192.0.2.17", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
			if p.imported {
				remote, agent = "", ""
			}
			exec(consent, l.ID, a.id, at, what, source, remote, agent, "1f2e3d4c5b6a7988", generation, reason)
		}
		if p.again {
			row(at-int64(300*day), "confirmed", "")
			row(at-int64(100*day), "unsubscribed", "")
			generation = 2
		}
		switch {
		case p.evidence:
			row(at, "imported", "opted in "+figureTime(p.consented).Time().Format(time.RFC3339)+" from 203.0.113.9")
		case p.imported:
			row(at, "imported", "")
		default:
			row(at-1000, "requested", "")
			row(at, "confirmed", "")
		}
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}
