package core

import (
	"math/rand/v2"
	"testing"
)

func exactCount(n, of int64) SegmentCount { return SegmentCount{Exact: &n, Of: of} }

// TestCoarseCounts checks that coarse ranges contain the count, are narrow enough, and never show a small count.
func TestCoarseCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		n := r.Int64N(1 << (4 + r.IntN(17)))
		got := exactCount(n, n+r.Int64N(1000)).Coarse()
		if got.Exact != nil || got.Low == nil || got.High == nil {
			t.Fatalf("%d: %+v", n, got)
		}
		low, high := *got.Low, *got.High
		width := max(10, int64(0.0305*float64(high))+1)
		switch {
		case n < low || n > high:
			t.Fatalf("%d isn't in %d–%d", n, low, high)
		case low == 0 && (got.About != nil || high != min(19, got.Of)), low != 0 && low < 20, high > max(low, got.Of):
			t.Fatalf("%d: %d–%d shows a small count", n, low, high)
		case low != 0 && (high-low+1 > width || *got.About < low || *got.About > high):
			t.Fatalf("%d: %d–%d is too wide, or %d outside", n, low, high, *got.About)
		}
	}
	var none SegmentCount
	if none.Coarse() != none {
		t.Error("a count of nothing has become one")
	}
}

// TestCoarseSamples checks that the range of a sampled count also hides each person in the sample, who changes the
// count by SegmentSample.
func TestCoarseSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		in := r.Int64N(1 << (2 + r.IntN(13)))
		got := SegmentCount{
			About: new(in * SegmentSample), Low: new(in * SegmentSample), High: new(in * SegmentSample), Of: 2_000_000,
		}.Coarse()
		low, high := *got.Low, *got.High
		if n := in * SegmentSample; n < low || n > high || high-low < 9*SegmentSample ||
			low == 0 && (in > 19 || got.About != nil) {
			t.Fatalf("%d in the sample: %+v, %d–%d", in, got, low, high)
		}
	}
}

// TestCoarseCountsHideAPerson checks that one person more or less rarely changes the range, and never below 20.
func TestCoarseCountsHideAPerson(t *testing.T) {
	changes, tries := 0, 5000
	for n := range int64(tries) {
		a, b := exactCount(n, 10_000).Coarse(), exactCount(n+1, 10_000).Coarse()
		if *a.Low == *b.Low && *a.High == *b.High {
			continue
		}
		if changes++; n+1 < 20 {
			t.Errorf("%d and %d have different answers", n, n+1)
		}
	}
	if changes*10 > tries {
		t.Errorf("%d of %d answers change with one person", changes, tries)
	}
}
