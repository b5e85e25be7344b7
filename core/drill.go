package core

import "fmt"

// Drill is the result of a restore test, which restores the database from the replica and compares it with the one in
// use.
type Drill struct {
	At       Instant  `json:"at" about:"Start of the test"`
	Whole    bool     `json:"whole" about:"Whether the restored database has no errors"`
	TXID     uint64   `json:"txid" about:"Last restored transaction"`
	Bytes    int64    `json:"bytes" about:"Size of the restored database in bytes"`
	TookMS   int64    `json:"took_ms" about:"Milliseconds until the database was restored and checked"`
	Findings []string `json:"findings" about:"Errors that the test found; empty: none"`
	Mended   []string `json:"mended,omitempty" about:"Earlier errors that a new copy of the whole database fixed"`
}

// DrillCounts holds the row counts by which a restore test compares two databases.
type DrillCounts struct {
	Tenants       int64 `db:"tenants"`
	Lists         int64 `db:"lists"`
	Users         int64 `db:"users"`
	Subscriptions int64 `db:"subscriptions"`
	Campaigns     int64 `db:"campaigns"`
	Jobs          int64 `db:"jobs"`
}

// Differ compares a restored database's counts with those of the database in use and returns the implausible ones.
// before was counted before the restored state was saved, and after was counted afterwards. Rows may have been created
// and deleted in between, so each count may deviate by the difference between the two.
func (c DrillCounts) Differ(before, after DrillCounts) (findings []string) {
	for _, n := range []struct {
		what               string
		got, before, after int64
	}{
		{"tenants", c.Tenants, before.Tenants, after.Tenants},
		{"lists", c.Lists, before.Lists, after.Lists},
		{"users", c.Users, before.Users, after.Users},
		{"subscriptions", c.Subscriptions, before.Subscriptions, after.Subscriptions},
		{"campaigns", c.Campaigns, before.Campaigns, after.Campaigns},
		{"send jobs", c.Jobs, before.Jobs, after.Jobs},
	} {
		least, most := min(n.before, n.after), max(n.before, n.after)
		if spread := most - least; n.got < least-spread || n.got > most+spread {
			findings = append(findings, fmt.Sprintf("%d %s were restored, not %d to %d", n.got, n.what, least, most))
		}
	}
	return findings
}
