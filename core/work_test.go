package core_test

import (
	"fmt"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/core/coretest"
)

// TestWorkOfDNSRecords measures the DNS records of a domain that are known to take the most CPU time. A DNS response
// has at most 64 KiB. These inputs have up to four times as much, because shorter times can't be measured.
func TestWorkOfDNSRecords(t *testing.T) {
	const most = 256 << 10
	filled := func(piece string, n int) string { return strings.Repeat(piece, n/len(piece)) }
	numbered := func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, " a:%d", i)
		}
		return b.String()
	}
	for name, make := range map[string]func(n int) []string{
		"SPF, terms":   func(n int) []string { return []string{"v=spf1" + numbered(n)} },
		"SPF, same":    func(n int) []string { return []string{"v=spf1" + filled(" a", n)} },
		"SPF, blanks":  func(n int) []string { return []string{"v=spf1" + filled(" ", n)} },
		"SPF, records": func(n int) []string { return strings.Split(filled("v=spf1 a:b|", n), "|") },
		"DKIM":         func(n int) []string { return []string{"v=DKIM1" + filled("; a=b", n)} },
		"DKIM, blanks": func(n int) []string { return []string{"v=DKIM1; p=" + filled(" a", n)} },
		"DMARC":        func(n int) []string { return []string{"v=DMARC1" + filled(";a=b", n)} },
	} {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "DNS record: "+name, func(part float64) ([]string, int) {
				return make(int(most * part)), int(most * part)
			}, func(texts []string) {
				core.MergeSPF(texts, []string{"include:a.example"})
				for _, text := range texts {
					core.DKIMPublicKey(text)
					core.IsDMARC(text)
				}
			})
		})
	}
}
