package ruletest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db/dbtest"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
)

const day core.Instant = 24 * 60 * 60 * 1000

// Crowd is a set of people on two lists, most of them on only one. The second list is in German.
type Crowd struct {
	*storetest.Seeder
	Lists     []core.List
	Campaigns []string // ids of the campaigns that the people received
	Links     []core.RuleLink
	Segments  map[string]string // rules by id
	Random    *rand.Rand
	zone      string
	asks      bool     // opens and clicks are stored for people who agreed
	saved     []string // ids of the segments
}

// TagNames are the names of the tags that people have.
var TagNames = []string{"VIP", "Straße", "İzmir", "Press", "7"}

var (
	zones   = []string{"Pacific/Auckland", "UTC", "America/St_Johns", "Asia/Beirut", "America/Havana"}
	domains = []string{"example.org", "example.com", "mail.example.org", "xn--kln-sna.example"}
	sources = []string{"Fair", "form", "FAIR", "import people.csv", "Straße", "7", "7.0", ""}
)

// New fills a fresh store with n people. Equal seeds give equal people. If asks is true, opens and clicks are stored
// only for those who agreed.
func New(t testing.TB, seed uint64, n int, now core.Instant, asks bool) *Crowd {
	c := &Crowd{
		Seeder: storetest.Seed(t, storetest.Open(t)).At(now), Random: rand.New(rand.NewPCG(seed, 864)), asks: asks,
	}
	c.zone = zones[seed%uint64(len(zones))]
	c.NewTenant(func(in *core.TenantInput) { in.TimeZone = &c.zone })
	c.Lists = []core.List{
		c.NewList(), c.NewList(func(in *core.ListInput) { in.Name, in.Language = new("Zweite"), new("de") }),
	}
	for i, l := range c.Lists {
		c.subscribe(i, l, n)
	}
	c.bar(n)
	if asks {
		c.ChangeTenant(c.TenantID, core.TenantInput{TrackingConsent: new(true)})
	}
	c.dates()
	c.consents()
	c.tag()
	c.addSegments()
	c.send()
	c.answer()
	return c
}

// StopAsking makes the tenant stop asking for consent. Campaigns that were already sent stay unchanged.
func (c *Crowd) StopAsking() {
	c.asks = false
	c.ChangeTenant(c.TenantID, core.TenantInput{TrackingConsent: new(false)})
}

// Of returns the people of a tenant in another store as a crowd. Opens and clicks are stored for all of them.
func Of(s *storetest.Seeder, zone string) *Crowd { return &Crowd{Seeder: s, zone: zone} }

func (c *Crowd) sql(query string, rows []any) {
	c.Helper()
	text, err := json.Marshal(rows)
	c.Must(err)
	dbtest.SQL(c.DB, query, string(text))
}

// email returns the address of person k. An address says nothing about the rest of the person.
func email(k int) core.Email {
	return core.Email(fmt.Sprintf("p%d@%s", k, domains[k*7%11%len(domains)]))
}

// on reports whether person k is on a list.
func on(list, k int) bool { return list == 0 && k%10 != 0 || list == 1 && k%3 == 0 }

func (c *Crowd) subscribe(list int, l core.List, n int) {
	var active []core.EventSubscriber
	for k := range n {
		if on(list, k) || list == 1 && k%10 == 0 {
			active = append(active, core.EventSubscriber{
				ID: core.NewID(), Email: email(k), Status: string(core.StatusActive), Preferences: c.preferences(),
			})
		}
	}
	for len(active) > 0 {
		f := c.Batch(l, core.NewID(), 1, 2) // the last batch never comes
		some := min(1000, len(active))
		f.OccurredAt, f.Subscribers = f.OccurredAt-400*day, active[:some]
		c.Must(c.ApplyBatch(c.Context(), c.Nonce(), f, c.Time()))
		active = active[some:]
	}
}

// bar makes some people unsubscribe, return, bounce or complain, and suppresses and disables others.
func (c *Crowd) bar(n int) {
	for k := 0; k < n; k += 1 + c.Random.IntN(20) {
		l := c.Lists[c.Random.IntN(len(c.Lists))]
		at := c.At(c.Time() - core.Instant(1+c.Random.IntN(100))*day)
		switch c.Random.IntN(6) {
		case 0:
			at.Tell(l, core.StatusUnsubscribed, email(k))
		case 1:
			at.Tell(l, core.StatusUnsubscribed, email(k))
			c.At(at.Time()+day/2).Tell(l, core.StatusActive, email(k))
		case 2:
			at.Tell(l, core.StatusBounced, email(k))
		case 3:
			at.Tell(l, core.StatusComplaint, email(k))
		case 4:
			dbtest.SQL(c.DB, "INSERT INTO suppression (tenant_id, email_key, kind, created_at) "+
				"VALUES (?, ?, 'suppressed', 1)", c.TenantID, email(k).Key())
		default:
			_, err := c.Suppress(c.Context(), members.DisableRequest{Email: email(k), OccurredAt: at.Time()}, "test",
				at.Time())
			c.Must(err)
		}
	}
}

// rows are the ids of both lists' subscribers.
func (c *Crowd) rows() (rows []struct {
	List string `db:"list_id"`
	ID   string `db:"id"`
},
) {
	c.Must(c.All(c.Context(), &rows, "SELECT list_id, id FROM subscriber ORDER BY list_id, email_key"))
	return rows
}

// ago returns an instant up to some days before now.
func (c *Crowd) ago(days int) core.Instant {
	return c.Time() - 1 - core.Instant(c.Random.Int64N(int64(days)*int64(day)))
}

// dates moves the starts of subscriptions and their last changes.
func (c *Crowd) dates() {
	var dates []any
	for _, s := range c.rows() {
		at := c.ago(400)
		if c.Random.IntN(3) == 0 {
			at = c.ago(40)
		}
		dates = append(dates, []any{
			s.List, s.ID, int64(at), int64(min(c.Time()-1, at+core.Instant(c.Random.Int64N(100*int64(day))))),
			c.Random.IntN(9) > 0,
		})
	}
	c.sql(`WITH v AS MATERIALIZED (SELECT value ->> 0 AS list, value ->> 1 AS sub, value ->> 2 AS since,
		value ->> 3 AS heard, value ->> 4 AS known FROM json_each(?)) UPDATE subscriber SET
		joined_at = iif(known, since, 0), created_at = iif(known, created_at, since), word_at = heard FROM v
		WHERE list_id = v.list AND subscriber.id = v.sub`, dates)
}

// consents fills the ledger with consents of one to three subscriptions of most people.
func (c *Crowd) consents() {
	var ledger []any
	for _, s := range c.rows() {
		at := c.Time() - 900*day
		for generation := range c.Random.IntN(4) {
			for range c.Random.IntN(4) {
				what := []string{
					"requested", "confirmed", "imported", "unsubscribed", "tracking_agreed",
				}[c.Random.IntN(5)]
				at += 1 + core.Instant(c.Random.Int64N(70*int64(day)))
				reason := ""
				if what == "imported" && c.Random.IntN(2) == 0 {
					said := (at - core.Instant(c.Random.Int64N(400*int64(day)))).Time()
					reason = "opted in " + said.Format("2006-01-02T15:04:05Z") + " from 203.0.113.9"
				}
				ledger = append(ledger, []any{
					s.List, s.ID, int64(at), what, sources[c.Random.IntN(len(sources))], generation + 1, reason,
				})
			}
		}
	}
	c.sql(`INSERT INTO consent (list_id, subscription_id, at, what, source, generation, reason) SELECT value ->> 0,
		value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each(?)`, ledger)
}

// tag gives tags to people. Some have more tags than a rule reads at first.
func (c *Crowd) tag() {
	numbers := make([]int64, 0, 20)
	for i := range 20 {
		name := fmt.Sprint("Other ", i)
		if i < len(TagNames) {
			name = TagNames[i]
		}
		t, err := core.NewTag(c.TenantID, name, c.Time())
		c.Must(err)
		c.Must(c.AddTag(c.Context(), t, "test"))
		t, err = c.Tag(c.Context(), t.ID)
		c.Must(err)
		numbers = append(numbers, t.No)
	}
	var tagged []any
	for _, s := range c.rows() {
		for i, no := range numbers {
			if c.Random.IntN(2+3*i) == 0 {
				tagged = append(tagged, []any{s.List, s.ID, no})
			}
		}
	}
	c.sql("INSERT INTO tagged (list_id, id, tag_no, at) SELECT value ->> 0, value ->> 1, value ->> 2, 1 "+
		"FROM json_each(?)", tagged)
}

// addSegments saves segments, one of which refers to the others.
func (c *Crowd) addSegments() {
	c.Segments = map[string]string{}
	last := ""
	for i, rule := range []string{
		`{"any": [{"field": "plan", "is": "PRO"}, {"field": "orders", "more": 1}]}`,
		`{"not": {"any": [{"domain": "example.com"}, {"segment": "%s"}]}}`,
		`{"all": [{"not": {"segment": "%s"}}, {"joined": {"before_days": 20}}]}`,
	} {
		rule = strings.Replace(rule, "%s", last, 1)
		last = c.AddRule(fmt.Sprint("Saved ", i), rule).ID
		c.Segments[last], c.saved = rule, append(c.saved, last)
	}
}

// AddRule saves a segment.
func (c *Crowd) AddRule(name, rule string) core.Segment {
	c.Helper()
	g, err := core.NewSegment(c.TenantID, core.SegmentInput{Name: &name, Rule: core.RuleText(rule)}, "test", c.Time())
	c.Must(err)
	c.Must(c.AddSegment(c.Context(), g))
	return g
}
