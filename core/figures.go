package core

import "fmt"

// OpenFigures say who has opened the mails of a job, as far as that can be told. Of a job whose openings are not
// measured all figures are nil: that is not the same as 0.
type OpenFigures struct {
	Measured bool     `json:"measured"`
	People   *int64   `json:"people"`    // at least so many, those among them who followed a link without the pixel
	CantTell *int64   `json:"cant_tell"` // opened by proxies that fetch the same whether a person looks or not
	Scanners *int64   `json:"scanners"`  // opened by programs alone
	Rate     *float64 `json:"rate"`      // People of those who got the mail and can be told; nil: there are none
}

// Words returns the figures as a line of text.
func (f *OpenFigures) Words() string {
	if !f.Measured {
		return "not measured"
	}
	return fmt.Sprintf("people: at least %d%s; can't be told: %d; scanners: %d", *f.People, percent(f.Rate), *f.CantTell,
		*f.Scanners)
}

// Words returns the figures as a line of text.
func (f *ClickFigures) Words() string {
	if !f.Measured {
		return "not measured"
	}
	return fmt.Sprintf("people: %d%s; scanners: %d", *f.People, percent(f.Rate), *f.Scanners)
}

func percent(rate *float64) string {
	if rate == nil {
		return ""
	}
	return fmt.Sprintf(" (%.1f %%)", 100**rate)
}

// ClickFigures say who has followed links of the mails of a job.
type ClickFigures struct {
	Measured bool     `json:"measured"`
	People   *int64   `json:"people"`
	Scanners *int64   `json:"scanners"` // followed by programs alone
	Rate     *float64 `json:"rate"`     // People of those who got the mail
}

// What of a job is tracked: bits of one number.
const (
	TrackedOpens  = 1
	TrackedClicks = 2
)

// OpenCounts are those of a job's recipients by who has opened its mails.
type OpenCounts struct {
	Tracked    int64 `db:"tracked"`     // TrackedOpens, TrackedClicks
	NoTracking bool  `db:"no_tracking"` // the tenant tracks nothing now
	People     int64 `db:"people_opened"`
	Unclear    int64 `db:"unclear_opened"`
	Scanned    int64 `db:"scanner_opened"`
}

// Measure sets the figures of openings and clicks. Where a provider reports deliveries, those who got the mail are
// these; else all whose mail was sent.
func (s *Stats) Measure(n *OpenCounts) {
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
		*s.Clicks = ClickFigures{Measured: true, People: &people, Scanners: &s.MachineClicked, Rate: share(people, got)}
	}
}
