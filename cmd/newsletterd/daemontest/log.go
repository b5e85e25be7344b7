package daemontest

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
)

// Log collects a daemon's JSON log.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Messages returns the message of each line, in order.
func (l *Log) Messages(t testing.TB) (all []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("no JSON: %s", line)
		}
		all = append(all, entry.Msg)
	}
	return all
}

// Has reports whether text was logged.
func (l *Log) Has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

// String returns the whole log.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
