package web

import (
	"net/http"
	"sync"

	"newsletterd/core"
)

// refusalsLogged is how many requests that were refused for their number or for want of room are logged in a second,
// of each status. The metrics count all of them.
const refusalsLogged = 10

// refusals bounds the log lines of refused requests: a flood that is refused to spare the disk must not fill it by
// its log. The zero value is ready to use. It is safe for concurrent use.
type refusals struct {
	mu       sync.Mutex
	byStatus map[int]*refusalCount
}

type refusalCount struct {
	second  int64 // since 1970
	logged  int   // in this second
	leftOut int64 // since the last line
}

// admit reports whether a request that was answered by a status is logged, and how many of that status were left out
// of the log since the last one that was.
func (r *refusals) admit(status int, now core.Instant) (leftOut int64, ok bool) {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable && status != statusGone {
		return 0, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.byStatus[status]
	if n == nil {
		if r.byStatus == nil {
			r.byStatus = map[int]*refusalCount{}
		}
		n = &refusalCount{}
		r.byStatus[status] = n
	}
	if second := int64(now) / 1000; n.second != second {
		n.second, n.logged = second, 0
	}
	if n.logged >= refusalsLogged {
		n.leftOut++
		return 0, false
	}
	n.logged++
	leftOut, n.leftOut = n.leftOut, 0
	return leftOut, true
}
