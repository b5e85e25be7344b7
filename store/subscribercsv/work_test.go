package subscribercsv

import (
	"errors"
	"strings"
	"testing"

	"newsletterd/core/coretest"
)

// TestWorkOfCSV measures files of 4 MiB. Files are read line by line, so larger files take the same time per byte.
func TestWorkOfCSV(t *testing.T) {
	const most = 4 << 20
	filled := func(piece string, n int) string { return strings.Repeat(piece, n/len(piece)) }
	var wide strings.Builder
	for i := range MaxColumns - 1 {
		wide.WriteString(",c" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26))
	}
	for name, make := range map[string]func(n int) string{
		"rows": func(n int) string { return "email,a\n" + filled("a@b.example,b\n", n) },
		"columns": func(n int) string {
			return "email" + wide.String() + "\n" + filled("a@b.example"+filled(",b", 2*(MaxColumns-1))+"\n", n)
		},
		"too many columns":  func(n int) string { return "email" + filled(",a", min(n, maxRecord-10)) + "\n" },
		"too many cells":    func(n int) string { return "email,a\n" + filled(filled(",", 1<<19)+"\n", n) },
		"empty lines":       func(n int) string { return "email,a\n" + filled("\n", n) },
		"quotes":            func(n int) string { return "email,a\n" + filled("\"\"\"\",b\n", n) },
		"a quote left open": func(n int) string { return "email,a\n" + filled("\"a\n", n) },
		"preferences": func(n int) string {
			return "email,preferences,a\n" + filled("a@b.example,\"{"+filled("\"\"b\"\":{},", 3000)+"}\",b\n", n)
		},
		"faulty bytes": func(n int) string { return "email,a\n" + filled("a@b.example,\xff\n", n) },
	} {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "CSV: "+name, func(part float64) (string, int) {
				s := make(int(most * part))
				return s, len(s)
			}, func(s string) {
				c, err := NewReader(strings.NewReader(s), Options{})
				for err == nil {
					_, _, err = c.Next()
					if _, faulty := errors.AsType[LineError](err); faulty || errors.Is(err, ErrLeft) || errors.Is(err, ErrPending) {
						err = nil
					}
				}
			})
		})
	}
}
