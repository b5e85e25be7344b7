package core

import "fmt"

// OpenFigures say who has opened the mails of a job, as far as that can be told. Of a job whose openings are not
// measured all figures are nil: that is not the same as 0.
type OpenFigures struct {
	Measured bool `json:"measured"`
	Totals   bool `json:"totals,omitempty"` // how often, not by how many: the mails name no reader
	// at least so many, those among them who followed a link without the pixel
	People   *int64 `json:"people"`
	CantTell *int64 `json:"cant_tell"` // opened by proxies that fetch the same whether a person looks or not
	Scanners *int64 `json:"scanners"`  // opened by programs alone
	// People of those who got the mail and can be told; nil: there are none
	Rate    *float64      `json:"rate"`
	Unnamed *UnnamedTimes `json:"unnamed,omitempty"`
}

// UnnamedTimes say how often mails were opened, or their links followed, whose readers are not named, next to those who
// are. There is no rate then, as times can't be shared by readers.
type UnnamedTimes struct {
	People   int64 `json:"people"`
	CantTell int64 `json:"cant_tell"` // of clicks: 0
	Scanners int64 `json:"scanners"`
}

// words returns the figures as the end of a line of text; nothing where there are none.
func (u *UnnamedTimes) words() string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("; unnamed, times, by people: %d; can't be told: %d; by scanners: %d", u.People, u.CantTell,
		u.Scanners)
}

// Words returns the figures as a line of text.
func (f *OpenFigures) Words() string {
	if !f.Measured {
		return "not measured"
	}
	if f.Totals {
		return fmt.Sprintf("times, by people: %d; can't be told: %d; by scanners: %d", *f.People, *f.CantTell, *f.Scanners)
	}
	return fmt.Sprintf("people: at least %d%s; can't be told: %d; scanners: %d%s", *f.People, percent(f.Rate), *f.CantTell,
		*f.Scanners, f.Unnamed.words())
}

// Words returns the figures as a line of text.
func (f *ClickFigures) Words() string {
	if !f.Measured {
		return "not measured"
	}
	if f.Totals {
		return fmt.Sprintf("times, by people: %d; by scanners: %d", *f.People, *f.Scanners)
	}
	return fmt.Sprintf("people: %d%s; scanners: %d%s", *f.People, percent(f.Rate), *f.Scanners, f.Unnamed.words())
}

func percent(rate *float64) string {
	if rate == nil {
		return ""
	}
	return fmt.Sprintf(" (%.1f %%)", 100**rate)
}

// ClickFigures say who has followed links of the mails of a job.
type ClickFigures struct {
	Measured bool          `json:"measured"`
	Totals   bool          `json:"totals,omitempty"` // how often, not by how many: the mails name no reader
	People   *int64        `json:"people"`
	Scanners *int64        `json:"scanners"` // followed by programs alone
	Rate     *float64      `json:"rate"`     // People of those who got the mail
	Unnamed  *UnnamedTimes `json:"unnamed,omitempty"`
}

// What of a job is tracked: bits of one number.
const (
	TrackedOpens   = 1
	TrackedClicks  = 2
	TrackedTotals  = 4 // of both: by no reader, or not by all
	TrackedConsent = 8 // with TrackedTotals: of both, by readers who have agreed
)

// OpenCounts are those of a job's recipients by who has opened its mails.
type OpenCounts struct {
	Tracked    int64 `db:"tracked"`     // TrackedOpens, TrackedClicks
	NoTracking bool  `db:"no_tracking"` // the tenant tracks nothing now
	People     int64 `db:"people_opened"`
	Unclear    int64 `db:"unclear_opened"`
	Scanned    int64 `db:"scanner_opened"`
	Totals
}

// Totals say how often mails that name no reader were opened and followed.
type Totals struct {
	PeopleOpened   int64 `db:"total_people_opened"`
	UnclearOpened  int64 `db:"total_unclear_opened"`
	ScannerOpened  int64 `db:"total_scanner_opened"`
	PeopleClicked  int64 `db:"total_people_clicked"`
	ScannerClicked int64 `db:"total_scanner_clicked"`
}

// measureTotals sets the figures of a job whose mails name no reader. The counters of the API count times, too.
func (s *Stats) measureTotals(n *OpenCounts) {
	t := &n.Totals
	s.Opens, s.Clicks = &OpenFigures{}, &ClickFigures{}
	s.Opened, s.MachineOpened = t.PeopleOpened+t.UnclearOpened+t.ScannerOpened, t.UnclearOpened+t.ScannerOpened
	s.Clicked, s.MachineClicked = t.PeopleClicked+t.ScannerClicked, t.ScannerClicked
	if n.Tracked&TrackedOpens != 0 {
		*s.Opens = OpenFigures{
			Measured: true, Totals: true, People: &t.PeopleOpened, CantTell: &t.UnclearOpened, Scanners: &t.ScannerOpened,
		}
	}
	if n.Tracked&TrackedClicks != 0 {
		*s.Clicks = ClickFigures{Measured: true, Totals: true, People: &t.PeopleClicked, Scanners: &t.ScannerClicked}
	}
}

// Measure sets the figures of openings and clicks. Where a provider reports deliveries, those who got the mail are
// these; else all whose mail was sent.
func (s *Stats) Measure(n *OpenCounts) {
	if n.Tracked&(TrackedTotals|TrackedConsent) == TrackedTotals && s.Opened == 0 && s.Clicked == 0 {
		s.measureTotals(n)
		return
	}
	got := s.Sent
	if s.Delivered > 0 {
		got = s.Delivered
	}
	share := func(people, of int64) *float64 {
		if of = max(of, people); of == 0 {
			return nil
		}
		return new(float64(people) / float64(of))
	}
	s.Opens, s.Clicks = &OpenFigures{}, &ClickFigures{}
	if n.Tracked&TrackedOpens != 0 && !n.NoTracking || s.Opened > 0 {
		*s.Opens = OpenFigures{
			Measured: true, People: &n.People, CantTell: &n.Unclear, Scanners: &n.Scanned,
			Rate: share(n.People, got-n.Unclear),
		}
	}
	if n.Tracked&TrackedClicks != 0 && !n.NoTracking || s.Clicked > 0 {
		people := s.Clicked - s.MachineClicked
		scanners := s.MachineClicked
		*s.Clicks = ClickFigures{Measured: true, People: &people, Scanners: &scanners, Rate: share(people, got)}
	}
	if n.Tracked&TrackedTotals != 0 {
		s.addUnnamed(&n.Totals)
	}
}

// addUnnamed adds what was opened and followed of mails whose readers are not named. The counters of the API count
// both: readers, and times.
func (s *Stats) addUnnamed(t *Totals) {
	if s.Opens.Measured {
		s.Opens.Rate, s.Opens.Unnamed = nil, &UnnamedTimes{t.PeopleOpened, t.UnclearOpened, t.ScannerOpened}
	}
	if s.Clicks.Measured {
		s.Clicks.Rate, s.Clicks.Unnamed = nil, &UnnamedTimes{People: t.PeopleClicked, Scanners: t.ScannerClicked}
	}
	s.Opened += t.PeopleOpened + t.UnclearOpened + t.ScannerOpened
	s.MachineOpened += t.UnclearOpened + t.ScannerOpened
	s.Clicked += t.PeopleClicked + t.ScannerClicked
	s.MachineClicked += t.ScannerClicked
}
