package exports_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/exports"
	"newsletterd/store/subscribercsv"
)

// TestExportsAreRecognized reads archives in the shape of exports (testdata/exports.txt). The line "want" lists the
// program, the people and the posts in them. People who must not get email have a colon, drafts a question mark, and
// posts for a limited audience an exclamation mark. If a column has to be declared, the line is "asks" and its name.
func TestExportsAreRecognized(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/exports.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split("\n"+string(text), "\n== ")[1:]
	if len(all) < 40 {
		t.Fatalf("%d exports", len(all))
	}
	for _, export := range all {
		name, rest, _ := strings.Cut(export, " ==\n")
		want, rest, _ := strings.Cut(rest, "\n")
		var files []string
		for _, file := range strings.Split("\n"+rest, "\n-- ")[1:] {
			path, content, _ := strings.Cut(file, " --\n")
			files = append(files, path, strings.ReplaceAll(content+"\n", "^M\n", "\r\n"))
		}
		if got := summary(t, pack(t, files...)); "want "+got != want {
			t.Errorf("%s:\n got %s\n%s", name, got, want)
		}
	}
}

// summary returns what an archive contains, in the form of recognized.
func summary(t *testing.T, file []byte) string {
	e, err := exports.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
	if errors.Is(err, exports.ErrUnknown) {
		return "unknown"
	}
	if err != nil {
		t.Fatal(err)
	}
	all := []string{e.Tool}
	if e.HasPeople() {
		r := e.CSV(t.Context())
		defer r.Close()
		csv, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		s, err := subscribercsv.Look(t.Context(), bytes.NewReader(csv))
		if err != nil {
			t.Fatal(err)
		}
		c, err := subscribercsv.NewReader(bytes.NewReader(csv), subscribercsv.Options{Survey: s})
		if err != nil {
			t.Fatalf("%v in %s", err, csv)
		}
		if asked := c.Questions(s); len(asked) > 0 {
			return "asks " + asked[0].Column
		}
		all = append(all, standingOf(c)...)
	}
	all = append(all, "|")
	_, err = e.Posts(t.Context(), now, func(p exports.Post) error {
		marks := ""
		if p.Draft {
			marks += "?"
		}
		if p.Paid {
			marks += "!"
		}
		if !p.Draft && p.PostedAt <= core.Instant(0) {
			marks += " without a date"
		}
		all = append(all, p.Title+marks)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// standingOf returns the people in a file; those who must not get email with a colon.
func standingOf(c *subscribercsv.Reader) (all []string) {
	for {
		row, _, err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err == nil:
			all = append(all, string(row.Email))
		case row.Left:
			all = append(all, fmt.Sprintf("%s:", row.Email))
		default:
			all = append(all, err.Error())
		}
	}
}

// now is later than the dates of published posts in the tests.
var now = core.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
