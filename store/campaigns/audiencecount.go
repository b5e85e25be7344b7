package campaigns

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// audienceStep is the maximum number of subscribers that one read of CountAudience checks. The more lookups each
// subscriber needs, the fewer subscribers a read checks.
const audienceStep = 2000

// countedOfList selects the active subscribers of a list between two ids, both exclusive. The column why is 0 for a
// subscriber who may be emailed, 1 for a bounce, 2 for a spam complaint and 3 for a suppressed address.
const countedOfList = `SELECT s.id, s.email_key, CASE WHEN s.block = 'bounced' THEN 1 WHEN s.block = 'complaint' THEN 2
	WHEN s.block <> '' OR p.kind IS NOT NULL OR d.reason IS NOT NULL THEN 3 ELSE 0 END AS why FROM subscriber AS s ` +
	Barred + ` WHERE s.list_id = ?1 AND s.id > ?2 AND s.id < ?4 AND s.word = 'active' ORDER BY s.id LIMIT +?3`

const lastMailings = `SELECT recipients FROM send_job WHERE list_id = ? AND status IN ('completed', 'failed')
	AND retry_of = '' AND recipients > 0 ORDER BY no DESC LIMIT +5`

// CountedOneByOne is the largest number of subscribers that are always counted one by one. Counting more subscribers
// takes seconds.
const CountedOneByOne = 20_000

// CountAudience counts the recipients that a tenant's campaign would currently have. For a long list without
// exclusions, it uses the stored counts of the list, which may include blocked subscribers who have unsubscribed. When
// the budget is used up, it stops and sets AtLeast. A budget of 0 means no limit. With core.AudienceEstimate, it
// estimates the audience of long lists. If a segment can't be evaluated, it returns a core.Undecided error. Its only
// other error is core.ErrStorage.
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
	counts, err := s.ListCounts(ctx, f.ListIDs)
	if err != nil {
		return a, err
	}
	if of := counts[f.ListIDs[0]]; len(f.ListIDs) == 1 && f.Narrowing.Searches() == 0 && !f.Segmented() &&
		of.Mailable > CountedOneByOne {
		addCounts(&a, of)
		return a, nil
	}
	match, err := countedMatch(s.Reads(ctx), tenantID, &f.Narrowing, core.At(begun))
	if err != nil {
		return a, err
	}
	if budget < 0 {
		budget = core.AudienceBudget
		if estimated, ok, err := estimateAudience(ctx, s, a, tenantID, f, match, counts, budget); ok || err != nil {
			return estimated, err
		}
	}
	for place := range f.ListIDs {
		for after, more := "", true; more && err == nil && ctx.Err() == nil; {
			if a.AtLeast = budget > 0 && a.Active > 0 && time.Since(begun) > budget; a.AtLeast {
				return a, nil
			}
			err = s.SnapshotRead(ctx, func(r *db.Reader) error {
				after, more, err = countStep(s.DB, r, &a, tenantID, f, match, place, after, db.LastID)
				return err
			})
		}
	}
	return a, errors.Join(err, ctx.Err())
}

// countedAtOnce returns the maximum number of subscribers of the list at index place that one read checks.
func countedAtOnce(f *core.CampaignFields, match *RuleMatch, place int) int {
	searches := place + f.Narrowing.Searches()
	if match != nil {
		searches += match.lookups(f.ListIDs[place])
	}
	return max(fewestExpanded, audienceStep/(1+searches))
}

func countStep(
	s *db.DB,
	r *db.Reader,
	a *core.Audience,
	tenantID string,
	f *core.CampaignFields,
	match *RuleMatch,
	place int,
	after, end string,
) (
	_ string, more bool, err error,
) {
	var rows []struct {
		candidate
		Why int `db:"why"`
	}
	step := countedAtOnce(f, match, place)
	err = r.All(&rows, countedOfList, f.ListIDs[place], after, step, end, nil, tenantID)
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

// addCounts adds a list's stored counts to the audience a.
func addCounts(a *core.Audience, of core.ListCounts) {
	a.Bounced, a.Complaint, a.Suppressed = a.Bounced+of.Bounced, a.Complaint+of.Complaint, a.Suppressed+of.Suppressed
	a.Recipients += of.Mailable
	a.Active += of.Bounced + of.Complaint + of.Suppressed + of.Mailable
}

// estimateAudience estimates the audience of long lists. It reads the sample that is also used to count segments, or as
// much of it as the budget permits. If the lists are short enough to be counted, ok is false.
func estimateAudience(ctx context.Context, s *Store, a core.Audience, tenantID string, f *core.CampaignFields,
	match *RuleMatch, counts map[string]core.ListCounts, budget time.Duration,
) (_ core.Audience, ok bool, err error) {
	whole, sample, begun := a, core.Audience{}, time.Now()
	var steps float64
	for place, id := range f.ListIDs {
		addCounts(&whole, counts[id])
		steps += SampledSteps(counts[id].Mailable, countedAtOnce(f, match, place))
	}
	all := whole.Recipients
	if all <= CountedOneByOne {
		return a, false, nil
	}
	for _, ids := range SampledIDs(steps) {
		if sample.Active > 0 && time.Since(begun) > budget {
			break // the ranges so far are a smaller sample, in which each list has its share
		}
		for place := range f.ListIDs {
			for after, more := ids[0], true; more && err == nil && ctx.Err() == nil; {
				err = s.SnapshotRead(ctx, func(r *db.Reader) error {
					after, more, err = countStep(s.DB, r, &sample, tenantID, f, match, place, after, ids[1])
					return err
				})
			}
		}
	}
	of := sample.Duplicates + sample.Excluded + sample.Outside + sample.Recipients
	if err = errors.Join(err, ctx.Err()); err != nil || of == 0 {
		return a, false, err
	}
	share := func(n int64) int64 { return int64(math.Round(float64(n) / float64(of) * float64(all))) }
	whole.About, whole.Recipients = true, share(sample.Recipients)
	whole.Duplicates, whole.Excluded = share(sample.Duplicates), share(sample.Excluded)
	whole.Outside = max(0, all-whole.Recipients-whole.Duplicates-whole.Excluded)
	if sample.Outside == 0 { // otherwise, rounding could count one person as outside
		whole.Recipients, whole.Outside = whole.Recipients+whole.Outside, 0
	}
	return whole, true, nil
}

// A sample of a list has at least sampleRanges ranges of ids, which are evenly distributed. Reading a range takes about
// as long as one step, unless a sample would need more than mostRanges.
const (
	sampleRanges = 16
	mostRanges   = 1024 * sampleRanges
)

// SampledSteps returns the number of steps needed to read the sample of a list, if a step reads up to step subscribers.
func SampledSteps(subscribers int64, step int) float64 {
	return float64(subscribers) / core.SegmentSample / float64(step)
}

// SampledIDs returns the ranges of ids in a sample, which contains 1 in core.SegmentSample people. Both ends of a range
// are exclusive. steps is the sum of SampledSteps of all lists.
func SampledIDs(steps float64) [][2]string {
	parts := max(1, int(math.Ceil(min(steps, mostRanges)/sampleRanges)))
	ranges := make([][2]string, 0, sampleRanges*parts)
	for i := range sampleRanges * parts {
		begin, part := uint64(i%sampleRanges)<<32/sampleRanges, uint64(i/sampleRanges)
		end := func(part uint64) string {
			return fmt.Sprintf("%08x", begin+part<<32/(sampleRanges*core.SegmentSample*uint64(parts)))
		}
		ranges = append(ranges, [2]string{end(part), end(part + 1)})
	}
	return ranges
}
