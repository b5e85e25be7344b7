package campaigns

import (
	"fmt"
	"strconv"

	"newsletterd/core"
	"newsletterd/store/db"
)

const (
	// consentsAmong selects the consents of subscribers of a list, by the indexes of their ids in a JSON array.
	consentsAmong = `SELECT j.key AS place, c.at, c.what, c.source, c.generation, iif(c.what = 'imported', c.reason, '')
		AS reason FROM json_each(?2) AS j CROSS JOIN consent AS c ON c.list_id = ?1 AND c.subscription_id = j.value
		AND c.what IN ('requested', 'confirmed', 'imported') ORDER BY j.key, c.at`

	languageOfList = `SELECT coalesce(nullif(l.language, ''), nullif(t.language, ''), 'en') FROM list AS l
		CROSS JOIN tenant AS t ON t.id = l.tenant_id WHERE l.id = ?`

	// linkOfJob selects, for a link of a job, whether clicks are tracked per subscriber and whether they are still
	// stored.
	linkOfJob = `SELECT EXISTS (SELECT 1 FROM link WHERE job_no = ?1 AND no = ?2) AS known,
		tracked & 2 <> 0 AND tracked & 4 = 0 AS tracked,
		tracked & 16 = 0 AND (clicked = 0 OR EXISTS (SELECT 1 FROM engagement WHERE job_no = ?1)) AS stored
		FROM send_job WHERE no = ?1`
)

// clickedAmong is reachedAmong for subscribers who clicked link ?5 themselves. Automated clicks don't count.
var clickedAmong = reachedAmong + ` CROSS JOIN engagement AS g ON g.job_no = r.job_no AND g.seq = r.seq
	AND g.link_no = ?5 AND g.class = ` + strconv.Itoa(int(core.ClassPerson))

// consentRow is a ledger entry that gives consent.
type consentRow struct {
	Place      int          `db:"place"`
	At         core.Instant `db:"at"`
	What       string       `db:"what"`
	Source     string       `db:"source"`
	Generation int64        `db:"generation"`
	Reason     string       `db:"reason"`
}

// addFacts fills in the consents of subscribers of a list, from the ledger, and the list's language. Lists that another
// member service manages have no ledger.
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
	ids := make([]string, len(subs))
	for i := range subs {
		ids[i] = subs[i].ID
	}
	var rows []consentRow
	if err := q.All(&rows, consentsAmong, list, db.JsonOf(ids)); err != nil {
		return err
	}
	generations := make([]int64, len(subs))
	for i := range rows {
		r := &rows[i]
		p := &ps[r.Place]
		if r.Generation > generations[r.Place] { // an earlier subscription ended
			generations[r.Place], p.ConsentedAt, p.Source = r.Generation, 0, ""
		}
		if p.Source == "" {
			p.Source = r.Source
		}
		at := r.At
		switch r.What {
		case core.ConsentRequested:
			continue
		case core.ConsentImported:
			if said := core.EvidenceTime(r.Reason); said != 0 {
				at = min(at, said)
			}
		}
		p.ConsentedAt = max(p.ConsentedAt, at)
	}
	return nil
}

// linkDecided returns an error of core.Undecided if the data doesn't show who clicked a link.
func linkDecided(q db.Querier, path string, l *core.RuleLink, parts []sentPart) error {
	known := false
	for _, p := range parts {
		var is struct {
			Known   bool `db:"known"`
			Tracked bool `db:"tracked"`
			Stored  bool `db:"stored"`
		}
		if err := q.Get(&is, linkOfJob, p.jobNo, l.Link); err != nil {
			return err
		}
		known = known || is.Known
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

// addLinks fills in the links that subscribers clicked.
func (m *RuleMatch) addLinks(s *db.DB, q db.Querier, keyed []candidate, ps []core.Profile) error {
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
		for _, p := range parts {
			ids := idsOn(s, keyed, p.ListID)
			var sent, clicked []int
			if err := q.All(&sent, sentAmong, p.jobNo, p.After+1, p.To, ids); err != nil {
				return err
			}
			link := m.matcher.Links[at].Link
			if err := q.All(&clicked, clickedAmong, p.jobNo, p.After+1, p.To, ids, link); err != nil {
				return err
			}
			for _, i := range sent {
				ps[i].LinksSent[at] = true
			}
			for _, i := range clicked {
				ps[i].Links[at] = true
			}
		}
	}
	return nil
}
