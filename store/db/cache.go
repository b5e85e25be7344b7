package db

import "sync"

// RecordCache caches records that are read often and rarely change, by their keys. Its age changes with every commit
// that may change a record, so a row read before such a commit is not cached after it. Callers must not modify a cached
// record.
type RecordCache[R any] struct {
	mu      sync.RWMutex
	age     uint64
	records map[string]R
}

const maxRecords = 10_000

// Drop removes all records. It also increments the age, so that reads that started before it aren't kept.
func (c *RecordCache[R]) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.age++
	clear(c.records)
}

// Get returns the record for key, and the age to pass to Put. If the key is not cached, the record is the zero value.
func (c *RecordCache[R]) Get(key string) (R, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.records[key], c.age
}

// Put caches a record that was read when the cache had the given age. If the age has changed since, Put does nothing.
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
