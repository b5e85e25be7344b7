package campaigns

import (
	"fmt"
	"slices"
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

	// linkOfJob selects, for a link of a job, whether clicks are tracked per subscriber, perhaps only of those who
	// agreed, and whether they are still stored.
	linkOfJob = `SELECT EXISTS (SELECT 1 FROM link WHERE job_no = ?1 AND no = ?2) AS known,
		tracked & 2 <> 0 AND tracked & 12 <> 4 AS tracked,
		tracked & 16 = 0 AND (clicked = 0 OR EXISTS (SELECT 1 FROM engagement WHERE job_no = ?1)) AS stored,
		iif(tracked & 8, started_at, 0) AS consent_at FROM send_job WHERE no = ?1`

	// heardBefore selects, of the subscribers of a list with the ids in a JSON array, those whose last change was at ?3
	// or before.
	heardBefore = `SELECT j.key AS place, s.preferences FROM json_each(?2) AS j CROSS JOIN subscriber AS s
		ON s.list_id = ?1 AND s.id = j.value AND s.word_at <= ?3`
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

// linkDecided returns an error of core.Undecided if the data doesn't show who clicked a link. It sets consentAt of the
// parts.
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
			if p.consentAt != 0 {
				var err error
				if sent, err = agreedAmong(q, &p, ids, sent); err != nil {
					return err
				}
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

// agreedAmong returns the places of those whom the emails of a job by consent identify. ids are their ids on the list
// that the job reached.
func agreedAmong(q db.Querier, p *sentPart, ids string, places []int) (agreed []int, err error) {
	var rows []struct {
		Place       int              `db:"place"`
		Preferences core.Preferences `db:"preferences"`
	}
	if err := q.All(&rows, heardBefore, p.ListID, ids, int64(p.consentAt)); err != nil {
		return nil, err
	}
	for i := range rows {
		if rows[i].Preferences.AgreesToTracking() && slices.Contains(places, rows[i].Place) {
			agreed = append(agreed, rows[i].Place)
		}
	}
	return agreed, nil
}
