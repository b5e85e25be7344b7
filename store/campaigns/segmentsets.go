package campaigns

import (
	"context"
	"errors"
	"hash/maphash"
	"maps"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/mailed"
)

// A person's id differs on each list, so each person must be looked up on other lists, which takes 5 to 50 µs. When
// counting a long list, it is faster to read the other lists first.
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

// onOther identifies people on a list other than the one being counted: the recipients of a job with seqs from low up
// to, but not including, high. If link isn't 0, it includes only those who clicked the link.
type onOther struct {
	job, low, high, link int64
}

func (p sentPart) onOther(link int64) onOther { return onOther{p.jobNo, p.After + 1, p.To + 1, link} }

// Remember reads the ids on other lists in advance, so that counting many subscribers of lists needn't look them up. It
// leaves out sets that are too large to keep, or so large that lookups are faster. sizes holds the numbers of
// subscribers of the lists in the rule. It returns core.ErrStorage or the error of ctx.
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
	other.rows, other.room, other.keys, other.subs = nil, nil, nil, nil
	return &other
}

// Lists returns the ids of the lists in the rule, or nil.
func (m *RuleMatch) Lists() []string { return m.matcher.Lists }

// lead is a condition that everyone who matches a rule meets, such as a tag. Because the ids of the people who meet it
// are stored in order, only these people need to be read.
type lead struct {
	tag  int64    // number of the tag; 0: a campaign
	part sentPart // recipients of the campaign, through one list
	link int64    // link that they clicked; 0 means all recipients
}

// leadShare is a divisor. If a lead has more than 1/leadShare of a list, reading the list is faster: looking a person
// up takes about three times as long as reading the next one.
const leadShare = 4

// tagOnList selects the next ids on a list with a tag.
var tagOnList = Lines(`SELECT id AS line FROM tagged INDEXED BY tagged_tag WHERE tag_no = ?1 AND list_id = ?2
	AND id > ?3 ORDER BY id LIMIT +?4`)

// ledLines selects the subscribers in a JSON array of ids, in its order, except those who may not be emailed.
var ledLines = linesOf(" FROM json_each(?2) AS j CROSS JOIN subscriber AS s ON s.list_id = ?1 AND s.id = j.value " +
	Barred + " WHERE " + MayBeEmailed)

// addLeads collects the leads of an inlined rule. A campaign that was sent by several jobs, or through several lists,
// is not a lead.
func (m *RuleMatch) addLeads(rule *core.Rule, tags map[string]core.Tag, sent map[string][]sentPart) {
	for _, leaf := range rule.Required() {
		switch parts := sent[leaf.Campaign()]; {
		case leaf.Tag != "":
			m.leads = append(m.leads, lead{tag: tags[leaf.Tag].No})
		case leaf.Received != "" && len(parts) == 1:
			m.leads = append(m.leads, lead{part: parts[0]})
		case leaf.ClickedLink != nil && len(parts) == 1:
			m.leads = append(m.leads, lead{part: parts[0], link: leaf.ClickedLink.Link})
		}
	}
}

// Led is a range of a list's ids, with the few people in it who can match.
type Led struct {
	IDs  []string // ids of the people who can match, in order
	To   string   // last id of the range
	More bool     // whether people after To can match
}

// Lead returns the next range of a list after an id, with at most the given number of people who can match. If no
// condition of the rule narrows the list down to few people, ok is false, and the list must be read.
func (m *RuleMatch) Lead(q db.Querier, list, after string, most int) (best Led, ok bool, err error) {
	for _, l := range m.leads {
		if l.tag == 0 && l.part.ListID != list {
			continue
		}
		next, err := l.next(q, list, after, most)
		if err != nil {
			return Led{}, false, err
		}
		if !ok || next.To > best.To {
			best, ok = next, true
		}
	}
	if !ok || len(best.IDs) == 0 || best.To <= after { // the last can be someone who was erased
		return best, ok && best.To > after, nil
	}
	var far string // range of the other lead must be as large
	err = q.Get(&far, nextStep, list, after, leadShare*len(best.IDs)-1)
	if errors.Is(err, core.ErrNotFound) {
		return Led{}, false, nil
	}
	return best, far <= best.To, err
}

// next returns the next range of a list, which starts after an id and has at most the given number of people who meet
// the condition.
func (l *lead) next(q db.Querier, list, after string, most int) (next Led, err error) {
	var text string
	next.To = db.LastID
	if l.tag != 0 {
		err = q.Get(&text, tagOnList, l.tag, list, after, most)
		return next.with(text, most), err
	}
	var low int64
	if err := q.Get(&low, firstFrom, l.part.jobNo, l.part.After+1, l.part.To, after+"\x01"); err != nil {
		return next, err
	}
	high := l.part.To + 1
	if l.link == 0 {
		high = min(high, low+int64(most))
		err = q.Get(&text, sentOf, l.part.jobNo, low, high)
	} else {
		high = min(high, low+rangeMost)
		err = q.Get(&text, clickedBetween, l.part.jobNo, low, high, l.link)
	}
	if next.More = err == nil && high <= l.part.To; next.More {
		err = q.Get(&next.To, idOfRecipient, l.part.jobNo, high-1)
	}
	return next.with(text, most), err
}

// with adds the ids in text, one per line. If text has most ids or more, the range ends with the last id that it adds.
func (l Led) with(text string, most int) Led {
	for text != "" && len(l.IDs) < most {
		var id string
		id, text, _ = strings.Cut(text, lineEnd)
		l.IDs = append(l.IDs, id)
	}
	if len(l.IDs) == most {
		l.To, l.More = l.IDs[most-1], true
	}
	return l
}
