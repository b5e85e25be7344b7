package core

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Link is a URL in a job's emails that newsletterd redirects to.
type Link struct {
	No             int64  `db:"no" json:"no" about:"Number of the link in the campaign, from 1"`
	URL            string `db:"url" json:"url" about:"URL as written in the campaign"`
	Clicked        int64  `db:"clicked" json:"clicked" about:"Recipients who clicked the link; number of clicks if the emails identify no one"`
	MachineClicked int64  `db:"machine_clicked" json:"machine_clicked" about:"Part of clicked: automated clicks only"`

	Target   string  `db:"target" json:"target,omitempty" about:"Where the link leads after it was fixed; absent: to url"`
	MendedAt Instant `db:"mended_at" json:"mended_at,omitzero"`

	Proposed   string  `db:"proposed" json:"proposed,omitempty" about:"Target that someone suggested; absent: none"`
	ProposedBy string  `db:"proposed_by" json:"proposed_by,omitempty" about:"Who suggested it, such as user:ID"`
	ProposedAt Instant `db:"proposed_at" json:"proposed_at,omitzero" about:"Time of the suggestion"`
}

// EngagedHour holds the number of people who first opened a campaign, or first clicked in it, in a given hour. If the
// emails identify no subscribers, it holds the number of all opens and clicks.
type EngagedHour struct {
	At      Instant `db:"at" json:"at" about:"Start of the hour"`
	Opened  int64   `db:"opened" json:"opened" about:"First opens in this hour; all opens if the emails identify no one"`
	Clicked int64   `db:"clicked" json:"clicked" about:"First clicks in this hour; all clicks if the emails identify no one"`
}

// ErrProposalNotFound is returned if no fix is suggested for a link.
var ErrProposalNotFound = &Error{
	Kind: NotFound, Code: "proposal_not_found", Message: "No fix is suggested for this link. Enter the new URL " +
		"instead.",
}

// ErrLinkNotFound is returned for a link that the campaign's emails don't contain.
var ErrLinkNotFound = &Error{
	Kind: NotFound, Code: "link_not_found", Message: "No email of this campaign contains this tracked link. Choose a " +
		"link from the campaign's report.",
}

// MaxTarget is the maximum length of a tracked link's target, in bytes.
const MaxTarget = 4096

// CheckTarget returns an Invalid error on the field target if a tracked link can't lead there.
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

// Propose stores a suggested target for the link. If the link already leads there, Propose returns an Invalid error on
// the field target.
func (l *Link) Propose(target, by string, now Instant) error {
	if target == l.Target || l.Target == "" && target == l.URL {
		return Invalidf("target", "The link already goes to this URL. Choose another one.")
	}
	l.Proposed, l.ProposedBy, l.ProposedAt = target, by, now
	return nil
}

// Mend sets the link's target and reports whether that changed it. An empty target, or the original URL, undoes an
// earlier fix.
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

// CanaryLink is the number of a hidden link that no person sees. A program that follows it probably follows every link
// in the email.
const CanaryLink int64 = 1 << 20

// Engagement is one or more opens of an email, or clicks on one of its links, by the same person or program.
type Engagement struct {
	JobNo, Seq, LinkNo int64   // Seq 0: the email identifies no subscriber; LinkNo 0: an open
	At                 Instant // instant of the first
	Last               Instant
	Times              int64
	Program            Program
	Network            string // of a click, to distinguish it from another click shortly after; not stored
}

// Class is the kind of person or program that opened an email or followed a link.
type Class uint8

// The classes, from least to most likely a person.
const (
	ClassNone    Class = iota
	ClassScanner       // a program that acts for no subscriber
	ClassUnclear       // a proxy that fetches images whether or not a person opens the email
	ClassPerson
)

// Class returns the class of an engagement with an email sent at sentAt, regardless of other engagements. A sentAt of 0
// means that the email is still being sent.
func (e *Engagement) Class(sentAt Instant) Class {
	since := e.At.Sub(sentAt)
	switch {
	case e.LinkNo > 0 && e.Program != ProgramReader || e.Program == ProgramScanner:
		return ClassScanner // image proxies follow no links
	case e.Program == ProgramPrivacy, e.Program == ProgramOpening && (sentAt == 0 || since < OpeningDelay):
		return ClassUnclear
	case sentAt == 0 || since < MachineDelay:
		return ClassScanner
	}
	return ClassPerson
}

// TotalClass is like Class for emails whose individual send times are unknown. It uses the start of their job and
// whether its first round is done. Until then, a proxy may fetch an image for an email that has just arrived.
func (e *Engagement) TotalClass(startedAt Instant, through bool) Class {
	if e.Program == ProgramOpening && !through {
		startedAt = 0
	}
	return e.Class(startedAt)
}

// Engaged is the stored summary of an email's opens, or of the clicks on one of its links.
type Engaged struct {
	LinkNo    int64   `db:"link_no"` // 0: opens
	FirstAt   Instant `db:"first_at"`
	LastAt    Instant `db:"last_at"`
	Times     int64   `db:"times"`
	Machine   int64   `db:"machine"`    // part of Times: ClassScanner, regardless of others
	Unclear   int64   `db:"unclear"`    // part of Times
	FirstRead Instant `db:"first_read"` // first by a possible person; 0: never, or not recorded
	LastRead  Instant `db:"last_read"`  //
	Class     Class   `db:"class"`      // ClassNone: not judged yet
}

// Add adds an engagement with the same email and link.
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

// Known returns the class that the row was counted under. For rows from before classes existed, it derives the class
// from the counts.
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

// Thresholds for detecting scanners, which follow links faster than people and follow all of them.
const (
	burstLinks = 3
	burstSpan  = 2 * time.Second
	scanMargin = 5 * time.Second // opens and clicks this close to a burst belong to the same scanner

	// CanarySpan is the time before and after a click on the canary link in which all clicks count as the same
	// scanner's.
	CanarySpan = 15 * time.Second
	// SameClick is how long after a click a second click on the same link, from a different network, counts as a
	// machine's.
	SameClick = 5 * time.Second
)

// span is a time during which a scanner was active.
type span struct{ from, to Instant }

// Judge sets the class of all rows for one email. It returns the highest class of its opens and of its clicks. A person
// who clicked a link has also opened the email.
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
	case g.FirstRead == 0 && g.Machine+g.Unclear < g.Times: // older than the recorded times of reading
		return ClassPerson
	case g.Unclear > 0:
		return ClassUnclear
	}
	return ClassScanner
}

// LinkClick is one click on a link.
type LinkClick struct {
	LinkNo int64
	At     Instant
}

// scans returns the times at which scanners followed the links in one email.
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

// scansOf returns when scanners were active: around clicks on the canary link, and when many links were followed
// within burstSpan.
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

// Scanned reports, for each of several clicks from the same network, whether a scanner made it.
func Scanned(clicks []LinkClick) []bool {
	spans, scanned := scansOf(clicks), make([]bool, len(clicks))
	for i, c := range clicks {
		scanned[i] = slices.ContainsFunc(spans, func(s span) bool { return s.from <= c.At && c.At <= s.to })
	}
	return scanned
}

// PersonOpening records how often and when a person opened an email, or clicked a certain link in it.
type PersonOpening struct {
	URL     string  `db:"url" json:"url" about:"URL of the clicked link; empty: the email was opened"`
	FirstAt Instant `db:"first_at" json:"first_at" about:"Time of the first open or click"`
	LastAt  Instant `db:"last_at" json:"last_at" about:"Time of the last open or click"`
	Times   int64   `db:"times" json:"times" about:"Number of opens or clicks"`
	Machine int64   `db:"machine" json:"by_machines" about:"Part of times: automated opens or clicks"`

	Target   string  `db:"target" json:"target,omitempty" about:"Where the link leads after it was fixed; absent: to url"`
	MendedAt Instant `db:"mended_at" json:"mended_at,omitzero"`
}
