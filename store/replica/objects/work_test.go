package objects

import (
	"strings"
	"testing"

	"newsletterd/core/coretest"
)

// TestWorkOfAnswers measures the parsing of listings, with responses of up to 8 MiB.
func TestWorkOfAnswers(t *testing.T) {
	filled := func(piece string, n int) string { return strings.Repeat(piece, max(0, n)/len(piece)) }
	list := func(s string) string {
		return `<ListBucketResult><EncodingType>url</EncodingType>` + s + `</ListBucketResult>`
	}
	for name, make := range map[string]func(n int) string{
		"objects":    func(n int) string { return list(filled(`<Contents/>`, n-80)) },
		"keys":       func(n int) string { return list(`<Contents><Key>` + filled(`%41`, n-120) + `</Key></Contents>`) },
		"deep":       func(n int) string { return list(filled(`<a>`, n-80)) },
		"unknown":    func(n int) string { return list(filled(`<a/>`, n-80)) },
		"attributes": func(n int) string { return `<ListBucketResult ` + filled(`a="" `, n-80) + `/>` },
		"spaces":     func(n int) string { return `<ListBucketResult ` + filled(`xmlns:a="b" `, n-80) + `/>` },
		"entities":   func(n int) string { return list(`<Contents><Key>` + filled(`&#65;`, n-120) + `</Key></Contents>`) },
		"comments":   func(n int) string { return list(filled(`<!---->`, n-80)) },
		"directives": func(n int) string { return filled(`<!A>`, n) },
		"directive":  func(n int) string { return filled(`<!`, n) },
		"CDATA": func(n int) string {
			return list(`<Contents><Key>` + filled(`<![CDATA[a]]>`, n-120) + `</Key></Contents>`)
		},
		"text":     func(n int) string { return list(filled(`a`, n-80)) },
		"prefixes": func(n int) string { return list(filled(`<b:a/>`, n-80)) },
		"times":    func(n int) string { return list(filled(`<Contents><LastModified>x</LastModified></Contents>`, n-80)) },
	} {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "answer of a storage: "+name, func(part float64) ([]byte, int) {
				s := make(int(maxAnswer * part))
				return []byte(s), len(s)
			}, func(s []byte) { _, _ = parseListing(s) })
		})
	}
}
