package store_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

// runImport imports rows or, if dry is true, does a dry run. It returns the counts.
func runImport(s *storetest.Seeder, l core.List, dry bool, rows []imports.ImportRow) core.ImportCounts {
	s.Helper()
	im, err := s.NewImport(s.Context(), l.ID, core.SubscriptionActive, "file.csv")
	s.Must(err)
	defer im.Close()
	im.DryRun = dry
	for _, r := range rows {
		s.Must(im.Put(r))
	}
	s.Must(im.Write(s.Context(), s.Time, nil))
	im.Counts.SyncID = ""
	return im.Counts
}

// A dry run writes nothing, even if the import would notify endpoints and record consents, and doesn't run more
// statements than the import.
func TestDryRunWritesNothing(t *testing.T) {
	f := storetest.NewFaults(t)
	s := storetest.Seed(t, storetest.OpenWith(t, db.Options{Driver: f.Driver, WatchEvery: 1 << 40}))
	l := s.NewList()
	s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/all")})
	s.Import(l.ID, core.SubscriptionActive, readers(0, 300)...)
	rows := readers(200, 2000) // some of these subscribers already exist
	for i := range rows {
		rows[i].Preferences, rows[i].Evidence = `{"a":1}`, "2020-01-01"
	}
	cost := func(dry bool) (counts core.ImportCounts, statements int64, writes []string) {
		f.FailWhen(func(query string) bool {
			// The store's background loops can start their own work meanwhile.
			if verb, _, _ := strings.Cut(query, " "); slices.Contains([]string{"INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"},
				verb) {
				writes = append(writes, query)
			}
			return false
		})
		before := s.Stats().Statements
		counts = runImport(s, l, dry, rows)
		statements = s.Stats().Statements - before
		f.FailWhen(func(string) bool { return false })
		return counts, statements, writes
	}
	changes := s.Changes()
	dry, tried, writes := cost(true)
	if len(writes) > 0 || s.Changes() != changes {
		t.Errorf("a dry run writes: %q", writes)
	}
	done, ran, _ := cost(false)
	if dry != done || dry.Added == 0 || dry.Updated == 0 {
		t.Errorf("it counts %+v, the import %+v", dry, done)
	}
	if tried > ran/4 {
		t.Errorf("%d statements, and %d of the import", tried, ran)
	}
}

// A dry run counts the same as the following import, including existing subscribers and subscribers with several rows
// in the file.
func TestDryRunCountsAsTheImport(t *testing.T) {
	s := storetest.Seed(t, nil)
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("25") // each check waits for the disk a few dozen times
	}
	rapid.Check(t, func(rt *rapid.T) {
		l := s.NewList()
		for i := range 6 {
			switch email := storetest.Reader(i); rapid.SampledFrom([]string{
				"", "pending", "active", "left",
				"imported",
			}).Draw(rt, "is") {
			case "pending":
				s.Pending(l.ID, email)
			case "active":
				s.Active(l.ID, email)
			case "left":
				s.Active(l.ID, email)
				s.Leave(l.ID, email)
			case "imported":
				s.Import(l.ID, core.SubscriptionActive, imports.ImportRow{Email: email, Preferences: `{"a":1}`})
			}
		}
		rows := make([]imports.ImportRow, rapid.IntRange(1, 12).Draw(rt, "rows"))
		seen := map[core.Email]bool{}
		for i := range rows {
			rows[i] = imports.ImportRow{
				Email:       storetest.Reader(rapid.IntRange(0, 8).Draw(rt, "who")),
				Preferences: rapid.SampledFrom([]core.Preferences{"", `{"a":1}`, `{"a":2}`, `{"b":1}`}).Draw(rt, "fields"),
				Left:        rapid.IntRange(0, 9).Draw(rt, "left") == 0,
				Line:        i + 2,
			}
			if !seen[rows[i].Email] { // only the first row of a subscriber may have evidence
				rows[i].Evidence = rapid.SampledFrom([]string{"", "2020-01-01"}).Draw(rt, "evidence")
			}
			seen[rows[i].Email] = true
		}
		dry := runImport(s, l, true, rows)
		if done := runImport(s, l, false, rows); dry != done {
			rt.Fatalf("it counts %+v, the import %+v", dry, done)
		}
	})
}
