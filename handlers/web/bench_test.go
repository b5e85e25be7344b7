package web

import (
	"bytes"
	"net/http/httptest"
	"testing"
)

// BenchmarkEdge measures the cost that this package adds to an operation: routing, checks, JSON in and out, and
// counters, without log and network.
func BenchmarkEdge(b *testing.B) {
	h, err := New(Options{},
		[]*Route{lineOf(
			"POST", "/api/newsletter/bench", Public(), Member,
			JSON(func(_ *Call, in benchIn) (benchIn, error) { return in, nil }), "Bench",
		)})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	body := bytes.NewReader(nil)
	for b.Loop() {
		body.Reset(benchBody)
		req := httptest.NewRequest("POST", "/api/newsletter/bench", body)
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != 200 {
			b.Fatal(rec.Body)
		}
	}
}
