package db

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// QuickCheck runs SQLite's quick_check on a reading connection and returns its findings. With a warm cache it takes
// about a second per GB. It stops when ctx ends. Some damage ends the check, which is a finding too. The only error is
// core.ErrStorage.
func (s *DB) QuickCheck(ctx context.Context) ([]string, error) {
	found, err := s.findings(ctx, "PRAGMA quick_check(100)")
	if se, ok := errors.AsType[*sqlite.Error](err); ok && se.Code()&0xff == sqlite3.SQLITE_CORRUPT {
		return []string{se.Error()}, nil
	}
	return found, err
}

// CheckFile looks for damage (integrity_check), broken references (foreign_key_check) and contradictory rows. It
// returns one line per finding and changes nothing. The only error is core.ErrStorage.
func (s *DB) CheckFile(ctx context.Context, contradictions []Contradiction) ([]string, error) {
	found, err := s.findings(ctx, "PRAGMA integrity_check(100)")
	if err != nil {
		return found, err
	}
	var broken []struct {
		Table  string `db:"table"`
		RowID  *int64 `db:"rowid"`
		Parent string `db:"parent"`
		FKID   int64  `db:"fkid"`
	}
	if err := s.Long(ctx, &broken, "PRAGMA foreign_key_check"); err != nil {
		return found, err
	}
	for _, b := range broken {
		found = append(found, fmt.Sprintf("a row of %s refers to a missing row of %s", b.Table, b.Parent))
	}
	for _, c := range contradictions {
		var n int64
		if err := s.readers.GetContext(ctx, &n, c.Count); err != nil {
			return found, Translate(err)
		}
		if n > 0 {
			found = append(found, fmt.Sprintf("%d %s", n, c.What))
		}
	}
	return found, nil
}

// Contradiction describes a kind of contradictory rows. What is the plural noun for them. Count is a query for their
// number, which must be 0.
type Contradiction struct{ What, Count string }

func (s *DB) findings(ctx context.Context, pragma string) ([]string, error) {
	var lines []string
	if err := s.Long(ctx, &lines, pragma); err != nil {
		return nil, err
	}
	if len(lines) == 1 && lines[0] == "ok" {
		return nil, nil
	}
	return lines, nil
}
