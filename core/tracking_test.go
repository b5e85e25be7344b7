package core

import (
	"fmt"
	"testing"
	"time"
)

// TestWhoHasOpened tests who opened an email and clicked its links, based on the programs that fetched them and on the
// time.
func TestWhoHasOpened(t *testing.T) {
	const sent = Instant(1_800_000_000_000)
	type fetch struct {
		after   time.Duration
		link    int64
		program Program
	}
	const hour = time.Hour
	burst := func(at time.Duration, program Program) []fetch {
		return []fetch{{at, 0, program}, {at, 1, program}, {at + time.Second, 2, program}, {at + 2*time.Second, 3, program}}
	}
	for name, tt := range map[string]struct {
		fetches []fetch
		want    string // opens and clicks
	}{
		"nobody":                     {nil, "0 0"},
		"a reader":                   {[]fetch{{hour, 0, ProgramReader}}, "3 0"},
		"at once":                    {[]fetch{{time.Second, 0, ProgramReader}}, "1 0"},
		"Gmail, opened":              {[]fetch{{time.Minute, 0, ProgramOpening}}, "3 0"},
		"Gmail, when it came":        {[]fetch{{59 * time.Second, 0, ProgramOpening}}, "2 0"},
		"Gmail, both":                {[]fetch{{time.Second, 0, ProgramOpening}, {hour, 0, ProgramOpening}}, "3 0"},
		"Apple":                      {[]fetch{{hour, 0, ProgramPrivacy}}, "2 0"},
		"Apple, and a click":         {[]fetch{{hour, 0, ProgramPrivacy}, {2 * hour, 1, ProgramReader}}, "3 3"},
		"a click without pictures":   {[]fetch{{hour, 1, ProgramReader}}, "3 3"},
		"a scanner by name":          {[]fetch{{hour, 0, ProgramScanner}, {hour, 1, ProgramScanner}}, "1 1"},
		"a proxy that follows":       {[]fetch{{hour, 1, ProgramPrivacy}, {hour, 2, ProgramOpening}}, "0 1"},
		"all links at once":          {burst(12*time.Second, ProgramReader), "1 1"},
		"two links":                  {burst(hour, ProgramReader)[:3], "3 3"},
		"three in more than 2 s":     {[]fetch{{hour, 1, 0}, {hour + time.Second, 2, 0}, {hour + 2001*time.Millisecond, 3, 0}}, "3 3"},
		"thrice the same":            {[]fetch{{hour, 1, 0}, {hour + time.Second, 1, 0}, {hour + 2*time.Second, 1, 0}}, "3 3"},
		"the canary":                 {[]fetch{{hour, 1, 0}, {hour, CanaryLink, 0}}, "0 1"},
		"the canary alone":           {[]fetch{{hour, CanaryLink, 0}}, "0 0"},
		"a scanner, then the reader": {append(burst(12*time.Second, 0), fetch{hour, 0, 0}, fetch{2 * hour, 1, 0}), "3 3"},
		"canary, then the reader":    {[]fetch{{12 * time.Second, 1, 0}, {13 * time.Second, CanaryLink, 0}, {hour, 1, 0}}, "3 3"},
		"the reader, then a scanner": {append([]fetch{{hour, 0, 0}}, burst(2*hour, 0)...), "3 1"},
	} {
		var rows []Engaged
		var opens, clicks Class
		for _, f := range tt.fetches {
			e := Engagement{LinkNo: f.link, At: sent.Add(f.after), Last: sent.Add(f.after), Times: 1, Program: f.program}
			at := -1
			for i := range rows {
				if rows[i].LinkNo == f.link {
					at = i
				}
			}
			if at < 0 {
				at, rows = len(rows), append(rows, Engaged{})
			}
			rows[at].Add(&e, e.Class(sent))
			opens, clicks = Judge(rows)
		}
		if got := fmt.Sprint(opens, clicks); got != tt.want {
			t.Errorf("%s: %s, not %s (%+v)", name, got, tt.want, rows)
		}
	}
}

// TestRowsOfBefore checks that rows from before classes existed get their class from the counts.
func TestRowsOfBefore(t *testing.T) {
	for _, tt := range []struct {
		row  Engaged
		want Class
	}{
		{Engaged{LinkNo: 0, Times: 2, Machine: 1}, ClassPerson},
		{Engaged{LinkNo: 1, Times: 2, Machine: 1}, ClassPerson},
		{Engaged{LinkNo: 1, Times: 1, Machine: 1}, ClassScanner},
		{Engaged{LinkNo: 0, Times: 1, Machine: 1}, ClassUnclear},
	} {
		if got := tt.row.Known(); got != tt.want {
			t.Errorf("%+v: %d", tt.row, got)
		}
		if tt.want == ClassPerson {
			rows := []Engaged{tt.row}
			if Judge(rows); rows[0].Class != ClassPerson {
				t.Errorf("%+v", rows)
			}
		}
	}
}

// TestFiguresOfJobs checks that figures are nil if nothing was tracked, and that there is no rate without recipients.
func TestFiguresOfJobs(t *testing.T) {
	show := func(s Stats, n OpenCounts) string {
		s.Measure(&n)
		out := ""
		for _, f := range []*float64{s.Opens.Rate, s.Clicks.Rate} {
			if f == nil {
				out += "nil "
			} else {
				out += fmt.Sprintf("%.3f ", *f)
			}
		}
		return out + fmt.Sprint(s.Opens.Measured, s.Opens.People != nil, s.Clicks.Measured, s.Clicks.People != nil)
	}
	tracked := OpenCounts{Tracked: TrackedOpens | TrackedClicks}
	some := OpenCounts{Tracked: TrackedOpens | TrackedClicks, People: 30, Unclear: 40, Scanned: 5}
	for _, tt := range []struct {
		s    Stats
		n    OpenCounts
		want string
	}{
		{Stats{Sent: 100}, OpenCounts{}, "nil nil false false false false"},
		{Stats{Sent: 100}, OpenCounts{Tracked: TrackedOpens}, "0.000 nil true true false false"},
		{Stats{}, tracked, "nil nil true true true true"},
		{Stats{Sent: 100, Opened: 75, MachineOpened: 45, Clicked: 12, MachineClicked: 2}, some, "0.500 0.100 true true true true"},
		{Stats{Sent: 100, Delivered: 80, Opened: 75, Clicked: 10, MachineClicked: 2}, some, "0.750 0.100 true true true true"},
		{Stats{Sent: 100}, OpenCounts{Tracked: TrackedOpens, NoTracking: true}, "nil nil false false false false"},
		{Stats{Sent: 100, Opened: 1}, OpenCounts{People: 1}, "0.010 nil true true false false"},
	} {
		if got := show(tt.s, tt.n); got != tt.want {
			t.Errorf("%+v %+v: %s, not %s", tt.s, tt.n, got, tt.want)
		}
	}
}
