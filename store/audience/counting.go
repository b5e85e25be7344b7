package audience

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
)

const (
	countStep = 2000 // maximum number of subscribers that one read checks

	// Each bound of an estimate is wrong for 1% of random samples. All rules share one sample, so their errors are
	// correlated: in the worst of 48 samples, the ranges of 4.4% of 1,000 rules were wrong.
	sampleZ    = 2.3    // standard deviations on each side of the sample's share
	sampleTail = 0.0107 // probability that a value is further than this on one side
	fewMatches = 400    // fewer matches in a sample get exact bounds
)

// CountSegment counts the subscribers of lists who match a rule, that is, the recipients of a campaign to those lists.
// A person on several lists is checked on the first one that may email them. If the lists are long, it counts a sample,
// or as much of it as the time permits, unless q.Exact is set. If the rule can't be evaluated, it returns a
// core.Undecided error. If a list does not belong to the tenant, it returns core.ErrListNotFound.
func (s *Store) CountSegment(ctx context.Context, q Question) (c core.SegmentCount, err error) {
	a, err := s.ask(s.Reads(ctx), &q)
	if err != nil {
		return c, err
	}
	counts, err := s.ListCounts(ctx, q.ListIDs)
	if err != nil {
		return c, err
	}
	for _, id := range q.ListIDs {
		c.Of += counts[id].Mailable
	}
	if !q.Exact && c.Of > campaigns.CountedOneByOne {
		var steps float64
		for place, id := range q.ListIDs {
			steps += campaigns.SampledSteps(counts[id].Mailable, a.step(place))
		}
		until := time.Now().Add(cmp.Or(q.Within, core.AudienceBudget))
		n, err := s.countRanges(ctx, a, until, campaigns.SampledIDs(steps)...)
		if err != nil {
			return c, err
		}
		about, low, high := estimate(n, c.Of)
		c.About, c.Low, c.High = &about, &low, &high
		return c, nil
	}
	n, err := s.countAll(ctx, a, c.Of)
	if err != nil {
		return c, err
	}
	c.Exact, c.AsOf = &n.matches, q.Now
	return c, nil
}

// countAll counts the subscribers of all lists. It divides the ids into two halves, which take the same time because
// ids are evenly distributed.
func (s *Store) countAll(ctx context.Context, a *asked, of int64) (n tally, err error) {
	if of > campaigns.CountedOneByOne {
		sizes, err := s.ListCounts(ctx, a.Lists())
		if err == nil {
			err = a.Remember(ctx, s.DB, a.ListIDs, of, sizes)
		}
		if err != nil {
			return n, err
		}
	}
	const half = "8" // no id is this short
	return s.countRanges(ctx, a, time.Time{}, [2]string{"", half}, [2]string{half, db.LastID})
}

// countRanges counts the subscribers of each list in some ranges of ids. It uses two goroutines with one reading
// connection each, or one if another count already uses two. If until is not zero, it skips the remaining ranges after
// that time, but never the first. A range is counted on all lists or on none, so that each list has its share in the
// counts. The first error stops both goroutines.
func (s *Store) countRanges(ctx context.Context, a *asked, until time.Time, ranges ...[2]string) (tally, error) {
	workers := 1
	if s.second.TryLock() {
		defer s.second.Unlock()
		workers = 2
	}
	var n [2]tally
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		a := &asked{a.Question, a.Fork()}
		group.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil { // handle a panic as in the goroutine of a request
					err = fmt.Errorf("panic while counting: %v\n%s", p, debug.Stack())
				}
			}()
			for i := w; i < len(ranges); i += workers {
				if n[w].all > 0 && !until.IsZero() && time.Now().After(until) {
					return nil
				}
				for place := range a.ListIDs {
					if err := s.count(ctx, a, &n[w], place, ranges[i][0], ranges[i][1], !until.IsZero()); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return tally{n[0].all + n[1].all, n[0].matches + n[1].matches}, err
}

// tally holds the number of subscribers and the number of those who match.
type tally struct{ all, matches int64 }

// step returns the maximum number of subscribers of the list at index place that one read checks.
func (a *asked) step(place int) int { return a.Step(a.ListIDs[place], countStep/(1+place)) }

// count counts the subscribers of the list at index place, between two ids (both exclusive), and adds the counts to n.
// For a sample, it also counts those who don't match.
func (s *Store) count(ctx context.Context, a *asked, n *tally, place int, after, end string, sample bool) error {
	list, step := a.ListIDs[place], a.step(place)
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var next campaigns.Counted
		if err := s.SnapshotRead(ctx, func(r *db.Reader) (err error) {
			next, err = a.CountNext(s.DB, r, a.TenantID, list, a.ListIDs[:place], after, end, step, sample)
			return err
		}); err != nil {
			return err
		}
		n.all, n.matches = n.all+int64(next.All), n.matches+int64(next.Matches)
		after, more = next.To, next.More
	}
	return nil
}

// estimate derives from the share in a sample how many of all subscribers match. Ids are practically random, and so is
// the sample.
func estimate(n tally, of int64) (about, low, high int64) {
	size, total := float64(max(n.all, 1)), float64(of)
	about = int64(math.Round(float64(n.matches) / size * total))
	least, most := bounds(float64(n.matches), size, total)
	if others := n.all - n.matches; others < n.matches { // if few don't match, their number has the better bounds
		fewest, largest := bounds(float64(others), size, total)
		least, most = size-largest, size-fewest
	}
	low = max(n.matches, int64(math.Floor(least/size*total)))
	high = min(of-(n.all-n.matches), int64(math.Ceil(most/size*total)))
	return about, min(low, about), max(high, about)
}

// bounds returns the range in which the expected number of matches in a sample lies if k of the sample match. It uses
// the Wilson interval for a sample without replacement. For a small k, that interval is too narrow, so bounds uses the
// exact limits of a Poisson distribution.
func bounds(k, size, total float64) (low, high float64) {
	if k < min(fewMatches, size/20) {
		return poissonBounds(int(k))
	}
	p, z2 := k/size, sampleZ*sampleZ*max(0, 1-size/total)
	center := (p + z2/(2*size)) / (1 + z2/size)
	half := math.Sqrt(z2*(p*(1-p)/size+z2/(4*size*size))) / (1 + z2/size)
	return (center - half) * size, (center + half) * size
}

// poissonBounds returns the lowest and the highest mean that are plausible for a count of k. With the lowest, a count
// of k or more has the probability sampleTail. With the highest, a count of k or less has that probability.
func poissonBounds(k int) (low, high float64) {
	most := float64(k) + 2*sampleZ*math.Sqrt(float64(k)+4) + 8
	mean := func(k int, below float64) float64 { // the mean at which a count of at most k has the probability below
		low, high := 0.0, most
		for high-low > 0.01 {
			if middle := (low + high) / 2; poissonUpTo(k, middle) > below {
				low = middle
			} else {
				high = middle
			}
		}
		return (low + high) / 2
	}
	if k > 0 {
		low = mean(k-1, 1-sampleTail)
	}
	return low, mean(k, sampleTail)
}

// poissonUpTo returns the probability of at most k, with a mean of less than 700.
func poissonUpTo(k int, mean float64) (sum float64) {
	term := math.Exp(-mean)
	for i := range k + 1 {
		sum += term
		term *= mean / float64(i+1)
	}
	return sum
}
