package campaigns

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// audienceStep is the most subscribers that one read of CountAudience checks. The more there is to search for each,
// the fewer a read checks.
const audienceStep = 2000

// countedOfList selects the active subscribers of a list. Column why is 0 for one who may be emailed, 1 for bounced,
// 2 for a spam complaint and 3 for suppressed.
const countedOfList = `SELECT s.id, s.email_key, CASE WHEN s.block = 'bounced' THEN 1 WHEN s.block = 'complaint' THEN 2
	WHEN s.block <> '' OR p.kind IS NOT NULL OR d.reason IS NOT NULL THEN 3 ELSE 0 END AS why FROM subscriber AS s ` +
	Barred + ` WHERE s.list_id = ?1 AND s.id > ?2 AND s.word = 'active' ORDER BY s.id LIMIT +?3`

const lastMailings = `SELECT recipients FROM send_job WHERE list_id = ? AND status IN ('completed', 'failed')
	AND retry_of = '' AND recipients > 0 ORDER BY no DESC LIMIT +5`

// CountedOneByOne is the largest number of subscribers that are always counted one by one. Counting more takes seconds.
const CountedOneByOne = 20_000

// CountAudience counts the recipients that a campaign of a tenant would have now. For a long list without exclusions
// it uses the counts that the list keeps, which may include blocked subscribers who have unsubscribed. When the
// budget is used up, it stops and sets AtLeast; a budget of 0 means no limit. If a segment can't be evaluated, it
// returns an error of core.Undecided, otherwise only core.ErrStorage.
func (s *Store) CountAudience(ctx context.Context, tenantID string, f *core.CampaignFields, budget time.Duration) (
	a core.Audience, err error,
) {
	begun := time.Now()
	if len(f.ListIDs) == 0 {
		return a, nil
	}
	var last []int64
	if err := s.All(ctx, &last, lastMailings, f.ListIDs[0]); err != nil {
		return a, err
	}
	a.SetUsual(last)
	var hours []core.OpeningHour
	if err := s.All(ctx, &hours, hoursOfOpenings, tenantID); err != nil {
		return a, err
	}
	a.SetBestHour(hours)
	if len(f.ListIDs) == 1 && f.Narrowing.Searches() == 0 && !f.Segmented() {
		counts, err := s.ListCounts(ctx, f.ListIDs)
		if of := counts[f.ListIDs[0]]; err != nil || of.Mailable > CountedOneByOne {
			a.Bounced, a.Complaint, a.Suppressed, a.Recipients = of.Bounced, of.Complaint, of.Suppressed, of.Mailable
			a.Active = of.Bounced + of.Complaint + of.Suppressed + of.Mailable
			return a, err
		}
	}
	match, err := countedMatch(s.Reads(ctx), tenantID, &f.Narrowing, core.At(begun))
	if err != nil {
		return a, err
	}
	for place := range f.ListIDs {
		for after, more := "", true; more && err == nil && ctx.Err() == nil; {
			if a.AtLeast = budget > 0 && a.Active > 0 && time.Since(begun) > budget; a.AtLeast {
				return a, nil
			}
			err = s.SnapshotRead(ctx, func(r *db.Reader) error {
				after, more, err = countStep(s.DB, r, &a, tenantID, f, match, place, after)
				return err
			})
		}
	}
	return a, errors.Join(err, ctx.Err())
}

func countStep(
	s *db.DB,
	r *db.Reader,
	a *core.Audience,
	tenantID string,
	f *core.CampaignFields,
	match *RuleMatch,
	place int,
	after string,
) (
	_ string, more bool, err error,
) {
	var rows []struct {
		candidate
		Why int `db:"why"`
	}
	searches := place + f.Narrowing.Searches()
	if match != nil {
		searches += match.lookups
	}
	step := max(fewestExpanded, audienceStep/(1+searches))
	err = r.All(&rows, countedOfList, f.ListIDs[place], after, step, nil, nil, tenantID)
	if err != nil || len(rows) == 0 {
		return after, false, err
	}
	var found []candidate
	a.Active += int64(len(rows))
	for i := range rows {
		switch rows[i].Why {
		case 0:
			found = append(found, rows[i].candidate)
		case 1:
			a.Bounced++
		case 2:
			a.Complaint++
		default:
			a.Suppressed++
		}
	}
	all := len(found)
	for _, earlier := range f.ListIDs[:place] {
		if found, err = without(s, found, earlier, func(ids string) (places []int, err error) {
			return places, r.All(&places, mailableAmong, earlier, ids)
		}); err != nil {
			return after, false, err
		}
	}
	a.Duplicates += int64(all - len(found))
	all = len(found)
	if found, err = narrow(s, r, found, &f.Narrowing); err != nil {
		return after, false, err
	}
	a.Excluded += int64(all - len(found))
	all = len(found)
	if found, err = match.keep(s, r, f.ListIDs[place], found); err != nil {
		return after, false, err
	}
	a.Outside += int64(all - len(found))
	a.Recipients += int64(len(found))
	return rows[len(rows)-1].ID, len(rows) == step, nil
}
