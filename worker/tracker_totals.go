package worker

import "newsletterd/core"

// totalKey identifies the source of anonymous clicks by its network. Networks are kept in memory for a few seconds and
// never stored.
type totalKey struct {
	job     int64
	network string
}

type totalClick struct {
	link    int64
	at      core.Instant
	scanned bool // was counted as a link scanner's
}

// judgeTotal records an anonymous click. It detects a link scanner if the same network follows the hidden link that no
// person sees, or many links within seconds. It then recounts earlier clicks from that network as the scanner's, too.
func (t *Tracker) judgeTotal(e *core.Engagement) {
	if e.LinkNo == 0 || e.Network == "" {
		return
	}
	key := totalKey{e.JobNo, e.Network}
	clicks, known := t.totals[key]
	if !known && len(t.totals) >= trackMost || len(clicks) >= totalMost {
		return
	}
	clicks = append(clicks, totalClick{e.LinkNo, e.At, e.Program != core.ProgramReader})
	at, last := make([]core.LinkClick, len(clicks)), len(clicks)-1
	for i, c := range clicks {
		at[i] = core.LinkClick{LinkNo: c.link, At: c.at}
	}
	for i, scanned := range core.Scanned(at) {
		c := &clicks[i]
		if !scanned || c.scanned || c.link == core.CanaryLink {
			continue
		}
		c.scanned = true
		if i == last {
			e.Program = core.ProgramScanner
			continue
		}
		moved := core.Engagement{JobNo: e.JobNo, LinkNo: c.link, At: c.at, Last: c.at, Times: -1}
		t.hold(moved)
		moved.Times, moved.Program = 1, core.ProgramScanner
		t.hold(moved)
	}
	t.totals[key] = clicks
}

// totalMost is the maximum number of clicks compared per network and job.
const totalMost = 200

// forgetTotals drops anonymous clicks that are too old to compare.
func (t *Tracker) forgetTotals(now core.Instant) {
	for key, clicks := range t.totals {
		if now.Sub(clicks[len(clicks)-1].at) > core.CanarySpan {
			delete(t.totals, key)
		}
	}
}
