package web

import (
	"net/http"
	"sync"

	"newsletterd/core"
)

// refusalsLogged is the maximum number of refused requests logged per second for each status. The metrics count all of
// them.
const refusalsLogged = 10

// refusals limits the number of log lines about refused requests. Requests that are refused to protect the disk must
// not fill it with log lines. The zero value is ready to use. It is safe for concurrent use.
type refusals struct {
	mu       sync.Mutex
	byStatus map[int]*refusalCount
}

type refusalCount struct {
	second  int64 // Unix time
	logged  int   // in this second
	leftOut int64 // since the last line
}

// admit reports whether to log a request with this response status, and how many such requests were left out since the
// last log line.
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
