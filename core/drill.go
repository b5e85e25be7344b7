package core

import "fmt"

// Drill is what became of a try to restore the database from the replica.
type Drill struct {
	At       Instant  `json:"at"` // when it began
	Whole    bool     `json:"whole"`
	TXID     uint64   `json:"txid"`    // the last transaction that was restored
	Bytes    int64    `json:"bytes"`   // of the restored database
	TookMS   int64    `json:"took_ms"` // until it was restored and checked
	Findings []string `json:"findings"`
	// Mended was found before, and a copy of the whole database was put in its place.
	Mended []string `json:"mended,omitempty"`
}

// DrillCounts are numbers of rows that a restored database is compared by.
type DrillCounts struct {
	Tenants       int64 `db:"tenants"`
	Lists         int64 `db:"lists"`
	Users         int64 `db:"users"`
	Subscriptions int64 `db:"subscriptions"`
	Campaigns     int64 `db:"campaigns"`
	Jobs          int64 `db:"jobs"`
}

// Differ returns what of a restored database can't be, given the counts of the database that serves: before was counted
// before the restored state, after was counted after it. What was made and removed between the two is allowed for: as
// much as they differ by.
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
