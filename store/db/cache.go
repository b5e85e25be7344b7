package db

import "sync"

// RecordCache holds records by key, which are read again and again and change once a month. Its age moves with every
// commit that may change one, so that a row read before such a commit is not kept after it. Never change a record that
// it holds.
type RecordCache[R any] struct {
	mu      sync.RWMutex
	age     uint64
	records map[string]R
}

const maxRecords = 10_000

// Drop forgets all records.
func (c *RecordCache[R]) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.age++
	clear(c.records)
}

// Get returns a record, or its zero value where it is not held, and the age to put it with.
func (c *RecordCache[R]) Get(key string) (R, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.records[key], c.age
}

// Put keeps a record that was read while the cache had this age; one that changed meanwhile is not kept.
func (c *RecordCache[R]) Put(key string, r R, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.age != age {
		return
	}
	if c.records == nil || len(c.records) >= maxRecords {
		c.records = map[string]R{}
	}
	c.records[key] = r
}
