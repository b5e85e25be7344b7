package core

import "fmt"

// OpenFigures counts the people who opened a job's emails, as far as known. If opens are not tracked, all figures are
// nil, which is not the same as 0.
type OpenFigures struct {
	Measured bool          `json:"measured" about:"Whether opens were tracked"`
	Totals   bool          `json:"totals,omitempty" about:"Counts opens, because the emails identify no one"`
	People   *int64        `json:"people" about:"Lower limit, with people who only clicked; null: unknown"`
	CantTell *int64        `json:"cant_tell" about:"Opened only by image proxies; null: unknown"`
	Scanners *int64        `json:"scanners" about:"Automated opens only; null: unknown"`
	Rate     *float64      `json:"rate" about:"Share who opened, of people who can be judged, 0 to 1; null if unknown"`
	Unnamed  *UnnamedTimes `json:"unnamed,omitempty" about:"Opens of emails that identify no subscriber; absent: there are none"`
}

// UnnamedTimes counts opens or clicks in emails that identify no subscriber, if other emails in the job do. There is no
// rate, because a number of opens can't be divided by a number of people.
type UnnamedTimes struct {
	People   int64 `json:"people" about:"Opens or clicks by people"`
	CantTell int64 `json:"cant_tell" about:"Opens by image proxies; always 0 for clicks"`
	Scanners int64 `json:"scanners" about:"Automated opens or clicks"`
}

// words returns the figures as a phrase that ends a sentence. If u is nil, it returns "".
func (u *UnnamedTimes) words() string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("; anonymous totals: %d by people, %d by privacy proxies, %d by link scanners", u.People,
		u.CantTell, u.Scanners)
}

// notTracked is shown instead of figures for opens or clicks that were not tracked.
const notTracked = "not tracked"

// Words returns the figures as a line of text.
func (f *OpenFigures) Words() string {
	if !f.Measured {
		return notTracked
	}
	if f.Totals {
		return fmt.Sprintf("totals: %d by people, %d by privacy proxies, %d by link scanners", *f.People, *f.CantTell,
			*f.Scanners)
	}
	return fmt.Sprintf("people: at least %d%s; privacy proxies only: %d; link scanners only: %d%s", *f.People,
		percent(f.Rate), *f.CantTell, *f.Scanners, f.Unnamed.words())
}

// Words returns the figures as a line of text.
func (f *ClickFigures) Words() string {
	if !f.Measured {
		return notTracked
	}
	if f.Totals {
		return fmt.Sprintf("totals: %d by people, %d by link scanners", *f.People, *f.Scanners)
	}
	return fmt.Sprintf("people: %d%s; link scanners only: %d%s", *f.People, percent(f.Rate), *f.Scanners,
		f.Unnamed.words())
}

func percent(rate *float64) string {
	if rate == nil {
		return ""
	}
	return fmt.Sprintf(" (%.1f%%)", 100**rate)
}

// ClickFigures counts the people who clicked links in a job's emails.
type ClickFigures struct {
	Measured bool          `json:"measured" about:"Whether clicks were tracked"`
	Totals   bool          `json:"totals,omitempty" about:"Counts clicks, because the emails identify no one"`
	People   *int64        `json:"people" about:"Null: not tracked"`
	Scanners *int64        `json:"scanners" about:"Automated clicks only; null: not tracked"`
	Rate     *float64      `json:"rate" about:"Share who clicked, of people who got the email, 0 to 1; null if unknown"`
	Unnamed  *UnnamedTimes `json:"unnamed,omitempty" about:"Clicks in emails that identify no subscriber; absent: there are none"`
}

// The bits of OpenCounts.Tracked: how a job tracks opens and clicks.
const (
	TrackedOpens   = 1
	TrackedClicks  = 2
	TrackedTotals  = 4  // identifies no subscriber, or not all
	TrackedConsent = 8  // with TrackedTotals: identifies subscribers who agreed
	TrackedSwept   = 16 // housekeeping has started deleting subscribers' opens and clicks
)

// OpenCounts holds the number of a job's recipients whose email was opened, by the class of the opens.
type OpenCounts struct {
	Tracked    int64 `db:"tracked"`     // TrackedOpens, TrackedClicks
	NoTracking bool  `db:"no_tracking"` // the tenant currently tracks nothing
	People     int64 `db:"people_opened"`
	Unclear    int64 `db:"unclear_opened"`
	Scanned    int64 `db:"scanner_opened"`
	Totals
}

// Totals counts opens and clicks in emails that identify no subscriber.
type Totals struct {
	PeopleOpened   int64 `db:"total_people_opened"`
	UnclearOpened  int64 `db:"total_unclear_opened"`
	ScannerOpened  int64 `db:"total_scanner_opened"`
	PeopleClicked  int64 `db:"total_people_clicked"`
	ScannerClicked int64 `db:"total_scanner_clicked"`
}

// measureTotals sets the figures for a job whose emails identify no subscriber. In that case, Opened, Clicked and their
// machine counts count opens and clicks instead of people.
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

// Measure sets the figures for opens and clicks. Rates are relative to delivered emails if a provider reports
// deliveries, otherwise to sent ones.
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

// addUnnamed adds the opens and clicks in emails that identify no subscriber to the figures. After that, Opened,
// Clicked and their machine counts mix people with individual opens and clicks.
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
