package main

import (
	"fmt"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core/coretest"
)

// TestWorkOfDNSAnswers measures responses of a name server of up to 64 KiB. It measures many of each, because a single
// one is too fast to measure. The measurement includes the test's name server.
func TestWorkOfDNSAnswers(t *testing.T) {
	const answers = 20
	for _, c := range []struct {
		name, kind string
		most       int
		value      func(i int) string
	}{
		{"texts of one byte", "TXT", 4600, func(int) string { return "a" }},
		{"one text", "TXT", 1, func(int) string { return strings.Repeat(strings.Repeat("a", 255)+"|", 250) + "a" }},
		{"addresses", "A", 3500, func(i int) string { return fmt.Sprintf("10.0.%d.%d", i/256, i%256) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			coretest.Work(t, "DNS answer: "+c.name, func(part float64) (string, int) {
				var values []string
				for i := range max(1, int(float64(c.most)*part)) {
					values = append(values, c.value(i))
				}
				return daemontest.DNS(t, map[string][]string{"a.example " + c.kind: values}), int(64 << 10 * part)
			}, func(addr string) {
				for range answers {
					var err error
					n := 0
					switch r := parts.Resolver(addr); c.kind {
					case "TXT":
						var found []string
						found, err = r.LookupTXT(t.Context(), "a.example.")
						n = len(found)
					default:
						_, err = r.LookupHost(t.Context(), "a.example.")
						n = 1
					}
					if err != nil || n == 0 {
						t.Fatal(n, err)
					}
				}
			})
		})
	}
}
