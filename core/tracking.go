package core

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Link is an address that a job's mails lead to by way of ours.
type Link struct {
	No  int64  `db:"no" json:"no"`
	URL string `db:"url" json:"url"` // as it was written
	// recipients who have followed it; of mails that name no reader: how often it was followed
	Clicked        int64 `db:"clicked" json:"clicked"`
	MachineClicked int64 `db:"machine_clicked" json:"machine_clicked"` // of them: machines alone

	Target   string  `db:"target" json:"target,omitempty"` // where it leads since it was mended; empty: to URL
	MendedAt Instant `db:"mended_at" json:"mended_at,omitzero"`

	// where it should lead, as a person says who may not mend it; empty: no one says so
	Proposed   string  `db:"proposed" json:"proposed,omitempty"`
	ProposedBy string  `db:"proposed_by" json:"proposed_by,omitempty"`
	ProposedAt Instant `db:"proposed_at" json:"proposed_at,omitzero"`
}

// EngagedHour is how many have opened the mails of a campaign, or followed a link, for the first time within an hour.
// Only people count; of mails that name no reader it is how often.
type EngagedHour struct {
	At      Instant `db:"at" json:"at"` // its beginning
	Opened  int64   `db:"opened" json:"opened"`
	Clicked int64   `db:"clicked" json:"clicked"`
}

// ErrProposalNotFound is returned where no one has proposed that a link leads elsewhere.
var ErrProposalNotFound = &Error{
	Kind: NotFound, Code: "proposal_not_found", Message: "No fix is suggested for this link.",
}

// ErrLinkNotFound is returned for a link that no mail of the campaign has.
var ErrLinkNotFound = &Error{
	Kind: NotFound, Code: "link_not_found", Message: "No email of this campaign contains this tracked link.",
}

// MaxTarget is the longest address that a link may lead to by way of ours, in octets.
const MaxTarget = 4096

// CheckTarget returns an Invalid error on target for an address that no link leads to by way of ours.
func CheckTarget(target string) error {
	u, err := url.Parse(target)
	switch {
	case len(target) > MaxTarget:
		return Invalidf("target", "target must have at most %d bytes.", MaxTarget)
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || hasControl(target) ||
		strings.ContainsAny(target, " {}"):
		return Invalidf("target", "target must be an absolute http or https URL without placeholders.")
	}
	return nil
}

// Propose says where the link should lead. Invalid, on target: it leads there already.
func (l *Link) Propose(target, by string, now Instant) error {
	if target == l.Target || l.Target == "" && target == l.URL {
		return Invalidf("target", "The link already leads to target. Choose another URL.")
	}
	l.Proposed, l.ProposedBy, l.ProposedAt = target, by, now
	return nil
}

// Mend makes the link lead to another address, or, where that is the one as it was written or empty, there again. It
// reports whether that is a change.
func (l *Link) Mend(target string, now Instant) bool {
	if target == l.URL {
		target = ""
	}
	if target == l.Target {
		return false
	}
	if l.Target, l.MendedAt = target, now; target == "" {
		l.MendedAt = 0
	}
	return true
}

// CanaryLink is the number of a link that no person sees: a program that follows it follows all links of a mail.
const CanaryLink int64 = 1 << 20

// Engagement is that a person, or some program, has opened a mail or followed a link of it, perhaps several times.
type Engagement struct {
	JobNo, Seq, LinkNo int64   // Seq 0: of a mail that names no reader; LinkNo 0: opened
	At                 Instant // for the first time, of these
	Last               Instant
	Times              int64
	Program            Program
	Network            string // of a click, to tell it from another one right after; it is not stored
}

// Class says who has opened a mail, or followed a link.
type Class uint8

// The classes, the least certain to be a person first.
const (
	ClassNone    Class = iota
	ClassScanner       // a program, for no reader
	ClassUnclear       // a proxy, which fetches the same whether a person opens the mail or not
	ClassPerson
)

// Class returns who an engagement is of, as far as it says by itself, with a mail that went out at an instant; 0: it is
// still on its way.
func (e *Engagement) Class(sentAt Instant) Class {
	since := e.At.Sub(sentAt)
	switch {
	case e.LinkNo > 0 && e.Program != ProgramReader || e.Program == ProgramScanner:
		return ClassScanner // proxies of pictures follow no links
	case e.Program == ProgramPrivacy, e.Program == ProgramOpening && (sentAt == 0 || since < OpeningDelay):
		return ClassUnclear
	case sentAt == 0 || since < MachineDelay:
		return ClassScanner
	}
	return ClassPerson
}

// TotalClass is Class of an engagement with mails of which it isn't known when each went out, but for the start of their
// job and whether its first round is through. Until it is, a proxy may fetch for a mail that has just come.
func (e *Engagement) TotalClass(startedAt Instant, through bool) Class {
	if e.Program == ProgramOpening && !through {
		startedAt = 0
	}
	return e.Class(startedAt)
}

// Engaged is what is kept of the openings of a mail, or of the clicks on one of its links.
type Engaged struct {
	LinkNo    int64   `db:"link_no"` // 0: openings
	FirstAt   Instant `db:"first_at"`
	LastAt    Instant `db:"last_at"`
	Times     int64   `db:"times"`
	Machine   int64   `db:"machine"`    // of Times: of ClassScanner by themselves
	Unclear   int64   `db:"unclear"`    // of Times
	FirstRead Instant `db:"first_read"` // by what may be a person; 0: never, or it was not noted
	LastRead  Instant `db:"last_read"`  //
	Class     Class   `db:"class"`      // ClassNone: not judged yet
}

// Add takes in an engagement of the same mail and link.
func (g *Engaged) Add(e *Engagement, class Class) {
	if g.Times == 0 {
		g.LinkNo, g.FirstAt = e.LinkNo, e.At
	}
	g.LastAt, g.Times = max(g.LastAt, e.Last), g.Times+e.Times
	switch class {
	case ClassScanner:
		g.Machine += e.Times
	case ClassUnclear:
		g.Unclear += e.Times
	case ClassPerson:
		if g.FirstRead == 0 {
			g.FirstRead = e.At
		}
		g.LastRead = max(g.LastRead, e.Last)
	}
}

// Known returns the class under which the row was counted: that of one from before there were classes follows from its
// times.
func (g *Engaged) Known() Class {
	switch {
	case g.Class != ClassNone || g.Times == 0:
		return g.Class
	case g.Machine < g.Times:
		return ClassPerson
	case g.LinkNo > 0:
		return ClassScanner
	}
	return ClassUnclear
}

// Scanners follow links faster than people, and all of them.
const (
	burstLinks = 3
	burstSpan  = 2 * time.Second
	scanMargin = 5 * time.Second // around a burst, what is opened and followed is the same scanner's

	// CanarySpan is how long before and after a click on the link that no one sees all clicks are the same scanner's.
	CanarySpan = 15 * time.Second
	// SameClick is how long after a click the same link, followed from another network, is followed by a machine that
	// goes after the reader.
	SameClick = 5 * time.Second
)

// span is a time in which a scanner is at work.
type span struct{ from, to Instant }

// Judge sets the class of all rows of one mail, and returns those of its openings and of its clicks: the highest of
// theirs. A person who has followed a link has also opened the mail.
func Judge(rows []Engaged) (opens, clicks Class) {
	spans := scans(rows)
	for i := range rows {
		g := &rows[i]
		g.Class = g.judged(spans)
		switch {
		case g.LinkNo == 0:
			opens = max(opens, g.Class)
		case g.LinkNo != CanaryLink:
			clicks = max(clicks, g.Class)
		}
	}
	if clicks == ClassPerson {
		opens = ClassPerson
	}
	return opens, clicks
}

func (g *Engaged) judged(spans []span) Class {
	if g.LinkNo == CanaryLink {
		return ClassScanner
	}
	for _, at := range []Instant{g.FirstRead, g.LastRead} {
		if at != 0 && !slices.ContainsFunc(spans, func(s span) bool { return s.from <= at && at <= s.to }) {
			return ClassPerson
		}
	}
	switch {
	case g.FirstRead == 0 && g.Machine+g.Unclear < g.Times: // from before the times of reading were noted
		return ClassPerson
	case g.Unclear > 0:
		return ClassUnclear
	}
	return ClassScanner
}

// LinkClick is that a link was followed.
type LinkClick struct {
	LinkNo int64
	At     Instant
}

// scans returns when scanners were at work on one mail.
func scans(rows []Engaged) []span {
	var clicks []LinkClick
	for _, g := range rows {
		times := []Instant{g.FirstRead, g.LastRead}
		if g.LinkNo == CanaryLink {
			times = []Instant{g.FirstAt, g.LastAt}
		}
		for _, at := range times {
			if g.LinkNo > 0 && at != 0 {
				clicks = append(clicks, LinkClick{g.LinkNo, at})
			}
		}
	}
	return scansOf(clicks)
}

// scansOf returns when scanners were at work: around clicks on the canary, and where many links were followed at once.
func scansOf(all []LinkClick) (spans []span) {
	var clicks []LinkClick
	for _, c := range all {
		if c.LinkNo == CanaryLink {
			spans = append(spans, span{c.At.Add(-CanarySpan), c.At.Add(CanarySpan)})
			continue
		}
		clicks = append(clicks, c)
	}
	slices.SortFunc(clicks, func(a, b LinkClick) int { return cmp.Compare(a.At, b.At) })
	for i, c := range clicks {
		links := map[int64]bool{}
		last := c.At
		for _, next := range clicks[i:] {
			if next.At.Sub(c.At) > burstSpan {
				break
			}
			links[next.LinkNo], last = true, next.At
		}
		if len(links) >= burstLinks {
			spans = append(spans, span{c.At.Add(-scanMargin), last.Add(scanMargin)})
		}
	}
	return spans
}

// Scanned reports of each of the clicks from one place whether it is a scanner's.
func Scanned(clicks []LinkClick) []bool {
	spans, scanned := scansOf(clicks), make([]bool, len(clicks))
	for i, c := range clicks {
		scanned[i] = slices.ContainsFunc(spans, func(s span) bool { return s.from <= c.At && c.At <= s.to })
	}
	return scanned
}

// PersonOpening is a mail that was opened, or a link of it that was followed.
type PersonOpening struct {
	URL     string  `db:"url" json:"url"` // as it was written; empty: the mail itself
	FirstAt Instant `db:"first_at" json:"first_at"`
	LastAt  Instant `db:"last_at" json:"last_at"`
	Times   int64   `db:"times" json:"times"`
	Machine int64   `db:"machine" json:"by_machines"` // of these

	Target   string  `db:"target" json:"target,omitempty"` // where the link leads since it was mended; empty: to URL
	MendedAt Instant `db:"mended_at" json:"mended_at,omitzero"`
}
