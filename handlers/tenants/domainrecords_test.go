package tenants

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestDomainRecordsKeepFewBytes checks that the cache stays small, however large the answers of name servers are.
func TestDomainRecordsKeepFewBytes(t *testing.T) {
	large := strings.Repeat("x", 64<<10)
	lookup := func(context.Context, string) ([]string, error) { return []string{large}, nil }
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a := &domainRecords{}
	for i := range 200 {
		a.ask(ctx, "TXT", lookup, fmt.Sprintf("%d.example", i), 1)
	}
	kept := 0
	for key, answer := range a.answers {
		kept += len(key) + len(strings.Join(answer.found, ""))
	}
	if kept == 0 || kept > maxAnswerBytes {
		t.Errorf("%d bytes are kept", kept)
	}
}
