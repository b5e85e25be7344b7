package campaigns

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// consentLine selects a ledger entry "c" that gives consent or asks for it. The strings in an entry may contain
// anything, so their sizes come first.
const consentLine = `concat_ws(char(31), c.subscription_id, c.what, c.at, c.generation, octet_length(c.source),
	iif(c.what = 'imported', octet_length(c.reason), 0), c.source, iif(c.what = 'imported', c.reason, '')) AS line`

var (
	// consentsBetween selects the consents of a list's subscribers between two ids, both inclusive.
	consentsBetween = Lines("SELECT " + consentLine + ` FROM consent AS c WHERE c.list_id = ?1
		AND c.subscription_id >= ?2 AND c.subscription_id <= ?3 AND c.what IN ('requested', 'confirmed', 'imported')
		ORDER BY c.subscription_id, c.at LIMIT +?4`)
	// consentsAmong selects the consents of the subscribers with the ids in a JSON array.
	consentsAmong = Lines("SELECT " + consentLine + ` FROM json_each(?2) AS j CROSS JOIN consent AS c ON
		c.list_id = ?1 AND c.subscription_id = j.value AND c.what IN ('requested', 'confirmed', 'imported')
		ORDER BY j.key, c.at`)
)

// consentsRead is the maximum number of rows that consentsBetween reads per subscriber. If there are more rows, the
// subscribers are far apart, and each is looked up.
const consentsRead = 8

const (
	languageOfList = `SELECT coalesce(nullif(l.language, ''), nullif(t.language, ''), 'en') FROM list AS l
		CROSS JOIN tenant AS t ON t.id = l.tenant_id WHERE l.id = ?`

	// linkOfJob selects, for a link of a job, whether clicks are tracked per subscriber, or only for those who agreed,
	// and whether the clicks are still stored.
	linkOfJob = `SELECT EXISTS (SELECT 1 FROM link WHERE job_no = ?1 AND no = ?2) AS known,
		tracked & 2 <> 0 AND tracked & 12 <> 4 AS tracked,
		tracked & 16 = 0 AS stored,
		iif(tracked & 8, started_at, 0) AS consent_at FROM send_job WHERE no = ?1`

	// heardAmong selects the preferences and last change of a list's subscribers with the ids in a JSON array.
	heardAmong = `SELECT j.key AS place, s.preferences, s.word_at FROM json_each(?2) AS j CROSS JOIN subscriber AS s
		ON s.list_id = ?1 AND s.id = j.value`
)

// clickedAmong is like reachedAmong, for subscribers who clicked link ?5 themselves. Automated clicks don't count.
var clickedAmong = reachedAmong + ` CROSS JOIN engagement AS g ON g.job_no = r.job_no AND g.seq = r.seq
	AND g.link_no = ?5 AND g.class = ` + strconv.Itoa(int(core.ClassPerson))

// consentRow is a ledger entry that gives consent or asks for it.
type consentRow struct {
	id, what   string
	at         core.Instant
	generation int64
	source     string
	evidence   string
}

func (r *consentRow) subscription() string { return r.id }

func parseConsents(text string) (rows []consentRow) {
	next := func() (part string) {
		part, text, _ = strings.Cut(text, partEnd)
		return part
	}
	for text != "" {
		r := consentRow{id: next(), what: next(), at: core.Instant(number(next())), generation: number(next())}
		source, evidence := number(next()), number(next())
		r.source, text = text[:source], text[source+1:]
		r.evidence, text = text[:evidence], strings.TrimPrefix(text[evidence:], lineEnd)
		rows = append(rows, r)
	}
	return rows
}

// addFacts adds the consents from the ledger and the list's language to ps, for subscribers of a list. Lists that
// another member service manages have no ledger.
func (m *RuleMatch) addFacts(q db.Querier, list string, subs []core.Subscriber, ps []core.Profile) error {
	if m.matcher.Language {
		said, known := m.language[list]
		if !known {
			if err := q.Get(&said, languageOfList, list); err != nil {
				return err
			}
			m.language[list] = said
		}
		for i := range ps {
			ps[i].Language = said
		}
	}
	if !m.matcher.Ledger {
		return nil
	}
	var text string
	limit := consentsRead * len(subs)
	err := q.Get(&text, consentsBetween, list, subs[0].ID, subs[len(subs)-1].ID, limit)
	rows := parseConsents(text)
	if err == nil && len(rows) == limit {
		err = q.Get(&text, consentsAmong, list, idsOf(subs))
		rows = parseConsents(text)
	}
	generations := make([]int64, len(subs))
	merged(subs, rows, (*consentRow).subscription, func(i int, r *consentRow) {
		p := &ps[i]
		if r.generation > generations[i] { // the entry begins a new subscription; an earlier one ended
			generations[i], p.ConsentedAt, p.Source = r.generation, 0, ""
		}
		if p.Source == "" {
			p.Source = r.source
		}
		at := r.at
		switch r.what {
		case core.ConsentRequested:
			return
		case core.ConsentImported:
			if said := core.EvidenceTime(r.evidence); said != 0 {
				at = min(at, said)
			}
		}
		p.ConsentedAt = max(p.ConsentedAt, at)
	})
	return err
}

// linkDecided returns a core.Undecided error if the stored data doesn't show who clicked a link. It sets the consentAt
// fields of parts.
func linkDecided(q db.Querier, path string, l *core.RuleLink, parts []sentPart) error {
	known := false
	for i := range parts {
		var is struct {
			Known     bool         `db:"known"`
			Tracked   bool         `db:"tracked"`
			Stored    bool         `db:"stored"`
			ConsentAt core.Instant `db:"consent_at"`
		}
		if err := q.Get(&is, linkOfJob, parts[i].jobNo, l.Link); err != nil {
			return err
		}
		known, parts[i].consentAt = known || is.Known, is.ConsentAt
		switch {
		case !is.Tracked:
			return core.Undecided(path, "clicks in campaign "+l.Campaign+" are not tracked per subscriber")
		case !is.Stored:
			return core.Undecided(path, "clicks in campaign "+l.Campaign+" are no longer stored")
		}
	}
	if !known {
		return core.Undecided(path, fmt.Sprintf("campaign %s has no link %d", l.Campaign, l.Link))
	}
	return nil
}

// addLinks adds to ps the links that subscribers clicked.
func (m *RuleMatch) addLinks(s *db.DB, q db.Querier, subs []core.Subscriber, keyed []candidate,
	ps []core.Profile,
) error {
	n := len(m.links)
	if n == 0 {
		return nil
	}
	flags := make([]bool, 2*n*len(ps))
	for i := range ps {
		ps[i].Links, ps[i].LinksSent, flags = flags[:n], flags[n:2*n], flags[2*n:]
		ps[i].Untracked = m.asks && !ps[i].Preferences.AgreesToTracking()
	}
	for at, parts := range m.links {
		link := m.matcher.Links[at].Link
		for _, p := range parts {
			var sent []candidate
			var places []int
			err := m.got(s, q, p, subs, keyed, func(i int) { sent, places = append(sent, keyed[i]), append(places, i) })
			if err != nil {
				return err
			}
			var agreed []core.Instant
			if p.consentAt != 0 {
				if agreed, err = agreedAmong(q, p.ListID, idsOn(s, sent, p.ListID), len(sent)); err != nil {
					return err
				}
			}
			for k, i := range places {
				if agreed == nil || agreed[k] <= p.consentAt {
					ps[i].LinksSent[at] = true
				}
			}
			if err := m.clicked(s, q, p, link, subs, keyed, func(i int) { ps[i].Links[at] = true }); err != nil {
				return err
			}
		}
	}
	return nil
}

// never is the time of agreement for a subscriber who didn't agree to tracking.
const never = core.Instant(math.MaxInt64)

// agreedAt returns the latest time when a subscriber may have agreed to tracking.
func agreedAt(p core.Preferences, changed core.Instant) core.Instant {
	if p.AgreesToTracking() {
		return changed
	}
	return never
}

// agreedAmong is like agreedAt, for the n subscribers of a list whose ids are in a JSON array.
func agreedAmong(q db.Querier, list, ids string, n int) ([]core.Instant, error) {
	var rows []struct {
		Place       int              `db:"place"`
		Preferences core.Preferences `db:"preferences"`
		Changed     core.Instant     `db:"word_at"`
	}
	at := slices.Repeat([]core.Instant{never}, n)
	err := q.All(&rows, heardAmong, list, ids)
	for i := range rows {
		at[rows[i].Place] = agreedAt(rows[i].Preferences, rows[i].Changed)
	}
	return at, err
}

// clicked calls found with the index of each subscriber who clicked a link of a job. The subscribers are ordered by id.
func (m *RuleMatch) clicked(s *db.DB, q db.Querier, p sentPart, link int64, subs []core.Subscriber, keyed []candidate,
	found func(i int),
) error {
	if known := m.sent[p.onOther(link)]; known != nil {
		known.among(s, p.ListID, keyed, found)
		return nil
	}
	if p.ListID != subs[0].ListID {
		return each(found, func(places *[]int) error {
			return q.All(places, clickedAmong, p.jobNo, p.After+1, p.To, idsOn(s, keyed, p.ListID), link)
		})
	}
	j := p.measured()
	low, high, err := j.between(q, subs[0].ID, subs[len(subs)-1].ID)
	var text string
	if err == nil {
		err = q.Get(&text, clickedBetween, j.No, low, high, link)
	}
	if err != nil || text == "" {
		return err
	}
	ids := strings.Split(text, lineEnd)
	merged(subs, ids, func(id *string) string { return *id }, func(i int, _ *string) { found(i) })
	return nil
}
