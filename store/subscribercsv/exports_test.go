package subscribercsv

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestExports reads files that look like the exports of programs. Either the file shows who is subscribed, or a
// question is asked. If the columns in questions are then mapped to a status, no one who left is active. A .want file
// lists, in this order, the columns to map, the columns in questions, and the result for each person.
func TestExports(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/exports/*.csv")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".csv"), func(t *testing.T) {
			t.Parallel()
			csv, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(strings.TrimSuffix(file, ".csv") + ".want")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			mapping := map[string]string{}
			want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			for _, line := range want {
				if pair, ok := strings.CutPrefix(line, "map "); ok {
					from, to, _ := strings.Cut(pair, "=")
					mapping[from], got = to, append(got, line)
				}
			}
			for _, column := range askedOf(t, string(csv), mapping) {
				mapping[column], got = UseStatus, append(got, "asks "+column)
			}
			if mapping[""] == "" {
				if again := askedOf(t, string(csv), mapping); len(again) > 0 {
					t.Errorf("asked again: %q", again)
				}
				got = append(got, standings(t, string(csv), mapping)...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// askedOf returns the columns of a file about which a question is asked.
func askedOf(t *testing.T, csv string, mapping map[string]string) (columns []string) {
	t.Helper()
	s := look(t, csv)
	r, err := NewReader(strings.NewReader(csv), Options{Map: mapping, Survey: s})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range r.Questions(s) {
		if q.Rows == 0 || q.String() == "" {
			t.Errorf("%+v", q)
		}
		columns = append(columns, q.Column)
	}
	return columns
}

// standings returns the result for each line of a file: a name and a status.
func standings(t *testing.T, csv string, mapping map[string]string) (lines []string) {
	t.Helper()
	r, err := NewReader(strings.NewReader(csv), Options{Map: mapping, Survey: look(t, csv)})
	if err != nil {
		t.Fatal(err)
	}
	for {
		row, record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		name, _, _ := strings.Cut(record[r.email], "@")
		switch {
		case err == nil:
			lines = append(lines, name+" active")
		case errors.Is(err, ErrPending):
			lines = append(lines, name+" pending")
		case !errors.Is(err, ErrLeft):
			lines = append(lines, name+" error")
		case row.Block != "":
			lines = append(lines, name+" "+string(row.Block))
		case !row.Unsubscribed:
			lines = append(lines, name+" never")
		default:
			if name += " unsubscribed"; row.LeftAt > 0 {
				name += " " + row.LeftAt.Time().UTC().Format(time.DateOnly)
			}
			lines = append(lines, name)
		}
	}
}
