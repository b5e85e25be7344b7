package core

import "math"

// SegmentSample is the sampling rate for large lists: a sampled count checks one in SegmentSample people.
const SegmentSample = 48

// Limits for coarse counts, in people. In a sampled count, they apply to the people in the sample, each of whom stands
// for SegmentSample people.
const (
	coarseLeast = 20   // smaller counts are not shown
	coarseStep  = 10   // minimum width of a range
	coarseShare = 0.03 // width of a range, as a share of the count
)

// Coarse returns the count for callers who may not see people: a range of at least coarseStep people that contains the
// count or, for a smaller count, the range below coarseLeast. The ranges are the same for all rules, so rules with
// counts in the same range always get the same response.
func (c SegmentCount) Coarse() SegmentCount {
	var n, unit float64
	switch {
	case c.Exact != nil:
		n, unit = float64(*c.Exact), 1
	case c.About != nil:
		n, unit = float64(*c.About)/SegmentSample, SegmentSample
	default:
		return c
	}
	out := SegmentCount{AsOf: c.AsOf, Of: c.Of}
	low, high := 0.0, float64(coarseLeast)
	if n >= coarseLeast {
		at := math.Floor(coarseNo(n) + 1e-9)
		low, high = coarseCount(at), coarseCount(at+1)
	}
	if unit > 1 { // two standard deviations of the sample
		low, high = max(0, low-2*math.Sqrt(low)), high+2*math.Sqrt(high)
	}
	least, most := int64(math.Ceil(low*unit)), int64(math.Ceil(high*unit))-1
	most = max(min(most, c.Of), least)
	if n >= coarseLeast {
		out.About = new(roundWithin(least, most))
	}
	out.Low, out.High = &least, &most
	return out
}

// CoarseFor rounds the counts of a campaign's audience if segments restrict the recipients and the caller may not see
// people. It reports whether it rounded them. Exact counts would let a caller find out how many people match any rule.
func (a *Audience) CoarseFor(caller Caller, tenantID string, f *CampaignFields) bool {
	if !f.Segmented() || caller.May(ActionPeopleRead, tenantID) {
		return false
	}
	a.coarse()
	return true
}

// coarse replaces the counts that depend on segments. Recipients becomes a rounded number or, if it is small, the upper
// limit of its range. Outside becomes the difference. The other counts don't change.
func (a *Audience) coarse() {
	all := a.Recipients + a.Outside
	n := SegmentCount{Exact: &a.Recipients, Of: all}
	if a.About {
		n.Exact, n.About = nil, n.Exact
	}
	n = n.Coarse()
	shown := n.High
	if n.About != nil {
		shown = n.About
	}
	a.Recipients = min(*shown, all)
	a.Outside = all - a.Recipients
}

// coarseLinear is the count above which ranges get wider than coarseStep.
const coarseLinear = coarseStep / coarseShare

// coarseNo returns the position of a count on a scale on which every range has width 1.
func coarseNo(n float64) float64 {
	if n <= coarseLinear {
		return n / coarseStep
	}
	return coarseLinear/coarseStep + math.Log(n/coarseLinear)/coarseShare
}

// coarseCount is the inverse of coarseNo.
func coarseCount(no float64) float64 {
	if no <= coarseLinear/coarseStep {
		return no * coarseStep
	}
	return coarseLinear * math.Exp((no-coarseLinear/coarseStep)*coarseShare)
}

// roundWithin returns a round number in the middle of a range.
func roundWithin(low, high int64) int64 {
	step := int64(1)
	for step*10 <= high-low+1 {
		step *= 10
	}
	middle := (low + high) / 2
	return min(max((middle+step/2)/step*step, low), high)
}
