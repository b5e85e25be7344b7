package subscribercsv

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Files are read as their authors meant them. Next to each file is one with the expected result.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/files/*.csv")
	if err != nil || len(files) < 30 {
		t.Fatal(len(files), err)
	}
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := reading(t, string(file))
		golden := strings.TrimSuffix(name, ".csv") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || got != string(want) {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

// reading returns the result of reading a file, as text.
func reading(t *testing.T, file string) string {
	s, err := Look(t.Context(), strings.NewReader(file))
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %q, %d rows\n", s.Encoding, s.Delimiter, s.Rows)
	r, err := NewReader(strings.NewReader(file), Options{Survey: s})
	if err != nil {
		return b.String() + err.Error() + "\n"
	}
	for _, q := range r.Questions(s) {
		fmt.Fprintln(&b, q)
	}
	for _, col := range r.TwoDays() {
		fmt.Fprintln(&b, col)
	}
	for {
		row, _, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			for _, typo := range r.Typos {
				fmt.Fprintln(&b, typo)
			}
			return b.String()
		case err == nil:
			fmt.Fprintln(&b, row.Line, row.Email, row.Preferences, row.Evidence)
			if row.Tags != "" {
				fmt.Fprintln(&b, row.Line, "tags:", row.Tags)
			}
		default:
			fmt.Fprintln(&b, row.Line, err)
		}
	}
}
