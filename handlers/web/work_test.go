package web

import (
	"fmt"
	"strings"
	"testing"

	"newsletterd/core/coretest"
)

// hostileJSON lists the bodies that are known to take the most CPU time. The largest body of any endpoint has 8 MiB.
var hostileJSON = map[string]func(n int) string{
	"keys":      func(n int) string { return "{" + jsonKeys(n) + `"z":1}` },
	"long keys": func(n int) string { return "{" + longKeys(n) + `"z":1}` },
	"objects":   func(n int) string { return `{"u":[` + strings.Repeat(`{},`, n/3) + `0]}` },
	"deep": func(n int) string {
		return `{"u":[` + strings.Repeat(strings.Repeat("[", 28)+strings.Repeat("]", 28)+",", n/57) + `0]}`
	},
	"deep keys": func(n int) string {
		return `{"u":[` + strings.Repeat(strings.Repeat(`{"a":`, 28)+"1"+strings.Repeat("}", 28)+",", n/169) + `0]}`
	},
	"structs": func(n int) string { return `{"o":{"y":[` + strings.Repeat(`{"z":1},`, n/8) + `{}]}}` },
	"wrong":   func(n int) string { return `{"o":{"y":[` + strings.Repeat(`{"z":1},`, n/8) + `{"z":""}]}}` },
	"strings": func(n int) string { return `{"l":[` + strings.Repeat(`"",`, n/3) + `""]}` },
	"escapes": func(n int) string { return `{"s":"` + strings.Repeat(`\u0041`, n/6) + `"}` },
	"escaped keys": func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, `"\u0041%d":1,`, i)
		}
		return "{" + b.String() + `"z":1}`
	},
	"number":    func(n int) string { return `{"f":` + strings.Repeat("1", n) + `}` },
	"blanks":    func(n int) string { return strings.Repeat(" ", n) + `{}` },
	"raw":       func(n int) string { return `{"raw":[` + strings.Repeat(`[],`, n/3) + `0]}` },
	"same hash": func(n int) string { return "{" + strings.Repeat(`"":1,`, n/5) + `"z":1}` },
}

func jsonKeys(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `"%d":1,`, i)
	}
	return b.String()
}

func longKeys(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `"%s%d":1,`, strings.Repeat("x", 1000), i)
	}
	return b.String()
}

func TestWorkOfJSON(t *testing.T) {
	for name, make := range hostileJSON {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "JSON: "+name, func(part float64) ([]byte, int) {
				s := make(int(8 << 20 * part))
				return []byte(s), len(s)
			}, func(s []byte) {
				_, _ = JSONReader[fuzzIn]()(s)
			})
		})
	}
}

func TestWorkOfForms(t *testing.T) {
	for name, piece := range map[string]string{"and": "&", "pairs": "a=b&", "percent": "%41", "plus": "+", "equals": "="} {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "form: "+name, func(part float64) (string, int) {
				s := strings.Repeat(piece, int(MaxForm*part)/len(piece))
				return s, len(s)
			}, func(s string) { _, _ = formValues(s) })
		})
	}
}
