package campaigns

import (
	"context"
	"hash/maphash"
	"maps"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/mailed"
)

// People on other lists have other ids there, so each person is looked up there, which costs 5 to 50 µs. For counting a
// long list, it is faster to read the other lists first.
const (
	rememberStep = 5000      // number of ids that one read returns
	mostRemember = 2_000_000 // maximum number of ids that a count keeps; each takes 19 to 39 bytes
)

var (
	activeOf = Lines(`SELECT s.id AS line FROM subscriber AS s WHERE s.list_id = ?1 AND s.id > ?2 AND s.word = 'active'
		ORDER BY s.id LIMIT +?3`)
	sentOf = Lines(`SELECT r.subscriber_id AS line FROM recipient AS r WHERE r.job_no = ?1 AND r.seq >= ?2
		AND r.seq < ?3 AND (r.state <= ` + SqlRecipientSent + " OR r.ambiguous > 0)")
)

// idSet is a set of ids, stored as hashes of 64 bits.
type idSet map[uint64]struct{}

var idSeed = maphash.MakeSeed()

func (s idSet) add(text string) (last string) {
	for text != "" {
		last, text, _ = strings.Cut(text, lineEnd)
		s[maphash.String(idSeed, last)] = struct{}{}
	}
	return last
}

func (s idSet) has(id string) bool {
	_, has := s[maphash.String(idSeed, id)]
	return has
}

// among calls found with the index of each candidate whose id on a list is in the set.
func (s idSet) among(d *db.DB, list string, keyed []candidate, found func(i int)) {
	of := d.SubscriptionIDs(list)
	for i := range keyed {
		if s.has(of.Of(keyed[i].EmailKey)) {
			found(i)
		}
	}
}

// onOther identifies a set of people on a list other than the counted one: the recipients of a part of a job or, if
// link isn't 0, the recipients of that part who clicked the link. low is inclusive and high is exclusive.
type onOther struct {
	job, low, high, link int64
}

func (p sentPart) onOther(link int64) onOther { return onOther{p.jobNo, p.After + 1, p.To + 1, link} }

// Remember reads the ids on other lists that counting many subscribers of lists would look up. It leaves out sets that
// are too large to keep, or so large that lookups are faster. sizes holds the numbers of subscribers of the lists in
// the rule. The only errors are core.ErrStorage and those of ctx.
func (m *RuleMatch) Remember(ctx context.Context, s *db.DB, lists []string, many int64,
	sizes map[string]core.ListCounts,
) error {
	left := int64(mostRemember)
	worthIt := func(n int64) bool {
		worth := n <= left && n <= 4*many
		if worth {
			left -= n
		}
		return worth
	}
	for _, list := range m.matcher.Lists {
		c := sizes[list]
		if worthIt(c.Mailable + c.Bounced + c.Complaint + c.Suppressed) {
			set := idSet{}
			if err := set.readList(ctx, s, list); err != nil {
				return err
			}
			m.active[list] = set
		}
	}
	remember := func(p sentPart, link int64) error {
		o := p.onOther(link)
		if len(lists) == 1 && p.ListID == lists[0] || m.sent[o] != nil || !worthIt(o.high-o.low) {
			return nil
		}
		set := idSet{}
		m.sent[o] = set
		return set.readJob(ctx, s, o)
	}
	for _, parts := range m.received {
		for _, p := range parts {
			if err := remember(p, 0); err != nil {
				return err
			}
		}
	}
	for at, parts := range m.links {
		for _, p := range parts {
			for _, link := range []int64{0, m.matcher.Links[at].Link} {
				if err := remember(p, link); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s idSet) readList(ctx context.Context, d *db.DB, list string) error {
	for after := "\x00"; after != ""; {
		text, err := d.Text(ctx, activeOf, list, after, rememberStep)
		if err != nil {
			return err
		}
		after = s.add(text)
	}
	return nil
}

func (s idSet) readJob(ctx context.Context, d *db.DB, o onOther) error {
	for low := o.low; low < o.high; low += rememberStep {
		query, args := sentOf, []any{o.job, low, min(low+rememberStep, o.high)}
		if o.link != 0 {
			query, args = clickedBetween, append(args, o.link)
		}
		text, err := d.Text(ctx, query, args...)
		if err != nil {
			return err
		}
		s.add(text)
	}
	return nil
}

// Fork returns a copy of m that another goroutine can use. Call it after Remember, because both share the sets that
// Remember has read.
func (m *RuleMatch) Fork() *RuleMatch {
	other := *m
	other.jobs, other.language, other.scans = maps.Clone(m.jobs), maps.Clone(m.language), maps.Clone(m.scans)
	other.pages = map[[2]int64]*mailed.Cursor{}
	other.rows, other.room, other.keys = nil, nil, nil
	return &other
}

// Lists returns the ids of the lists in the rule, or nil.
func (m *RuleMatch) Lists() []string { return m.matcher.Lists }
