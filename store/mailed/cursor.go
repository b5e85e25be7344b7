package mailed

import (
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

const (
	selectPage = "SELECT first_seq, states, ids FROM recipient_page WHERE job_no = ? AND first_seq = ?"
	hasPage    = "SELECT EXISTS (SELECT 1 FROM recipient_page WHERE job_no = ? AND first_seq = ?)"
)

// pageOf selects the number of the last page whose first id isn't above ?5, counted from the page that starts with
// recipient ?2. The pages have ?4 recipients, and the last one ends before recipient ?3. It is one of n pages starting
// at low, and each step halves n.
const pageOf = `WITH RECURSIVE half (low, n) AS (SELECT 0, (?3 - ?2 + ?4 - 1) / ?4 UNION ALL
	SELECT low + n / 2 * coalesce((SELECT first_id <= ?5 FROM recipient_page WHERE job_no = ?1 AND
		first_seq = ?2 + (low + n / 2) * ?4), 0), n - n / 2 FROM half WHERE n > 1)
	SELECT low FROM half WHERE n = 1`

// Cursor is a position in the pages of a job's recipients through one list.
type Cursor struct {
	job, low, high int64 // high is exclusive
	page           *Page // nil: before the first search
	at             int   // recipients before this index have lower keys than those searched for
	before         Key   // key of the last search
	found          []Match
}

// Match is a recipient that Cursor.Find found.
type Match struct {
	At    int // index of the key
	Seq   int64
	State byte
}

// NewCursor returns a cursor for a job's recipients from low to high, who must be on one list. If their pages aren't
// complete, it returns nil.
func NewCursor(q db.Querier, job, low, high int64) (*Cursor, error) {
	if high < low {
		return nil, nil
	}
	var has bool
	err := q.Get(&has, hasPage, job, low+(high-low)/Size*Size)
	if !has || err != nil {
		return nil, err
	}
	return &Cursor{job: job, low: low, high: high + 1}, nil
}

// Find returns the recipients with the given keys, except those to whom the email wasn't sent. wanted holds the indexes
// of the keys, in the order of the keys. id returns the id at an index. The result is valid until the next call. If a
// page is missing, ok is false.
func (c *Cursor) Find(q db.Querier, keys []Key, wanted []int, id func(i int) string) (found []Match, ok bool,
	err error,
) {
	c.found = c.found[:0]
	for _, i := range wanted {
		k := keys[i]
		if c.page == nil || k.Less(c.before) || c.far(k) {
			if ok, err := c.search(q, id(i)); !ok || err != nil {
				return nil, false, err
			}
		}
		c.before = k
		for {
			c.at = c.page.from(c.at, k)
			next := c.page.FirstSeq + int64(len(c.page.States))
			if c.at < len(c.page.States) || next >= c.high {
				break
			}
			if ok, err := c.read(q, next); !ok || err != nil {
				return nil, false, err
			}
		}
		if c.at < len(c.page.States) && keyAt(c.page.IDs, c.at) == k && c.page.States[c.at] != Nothing {
			c.found = append(c.found, Match{i, c.page.FirstSeq + int64(c.at), c.page.States[c.at]})
		}
	}
	return c.found, true, nil
}

// far reports whether a key is probably several pages after the current one. Ids are evenly distributed.
func (c *Cursor) far(k Key) bool {
	n := len(c.page.States)
	if c.page.FirstSeq+int64(n) >= c.high { // there is no later page
		return false
	}
	first, last := keyAt(c.page.IDs, 0).high, keyAt(c.page.IDs, n-1).high
	return k.high > last && (k.high-last)/2 > last-first
}

// search reads the page that can contain an id.
func (c *Cursor) search(q db.Querier, id string) (ok bool, err error) {
	var no int64
	if err := q.Get(&no, pageOf, c.job, c.low, c.high, Size, id); err != nil {
		return false, err
	}
	return c.read(q, c.low+no*Size)
}

// read reads the page that starts at the seq first. If the page is missing or empty, ok is false.
func (c *Cursor) read(q db.Querier, first int64) (ok bool, err error) {
	p := new(Page)
	c.page, c.at = nil, 0
	if err = q.Get(p, selectPage, c.job, first); errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	if err != nil || len(p.States) == 0 || len(p.IDs) != idBytes*len(p.States) {
		return false, err
	}
	c.page = p
	return true, nil
}
