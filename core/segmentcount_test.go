package core

import (
	"math/rand/v2"
	"testing"
)

func exactCount(n, of int64) SegmentCount { return SegmentCount{Exact: &n, Of: of} }

// Coarse ranges contain the count, are as narrow as promised, and show no small count.
func TestCoarseCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		n := r.Int64N(1 << (4 + r.IntN(17)))
		got := exactCount(n, n+r.Int64N(1000)).Coarse(r.Uint64())
		if got.Exact != nil || got.Low == nil || got.High == nil {
			t.Fatalf("%d: %+v", n, got)
		}
		low, high := *got.Low, *got.High
		width := max(10, int64(0.0305*float64(high))+1)
		switch {
		case n < low || n > high:
			t.Fatalf("%d isn't in %d–%d", n, low, high)
		case low == 0 && (got.About != nil || high < 20 || high > 30), low != 0 && low < 20:
			t.Fatalf("%d: %d–%d shows a small count", n, low, high)
		case low != 0 && (high-low+1 > width || *got.About < low || *got.About > high):
			t.Fatalf("%d: %d–%d is too wide, or %d outside", n, low, high, *got.About)
		}
	}
	var none SegmentCount
	if none.Coarse(1) != none {
		t.Error("a count of nothing has become one")
	}
}

// A sampled count hides each person in the sample as well: they change it by SegmentSample.
func TestCoarseSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		in := r.Int64N(1 << (2 + r.IntN(13)))
		got := SegmentCount{
			About: new(in * SegmentSample), Low: new(in * SegmentSample), High: new(in * SegmentSample), Of: 2_000_000,
		}.Coarse(r.Uint64())
		low, high := *got.Low, *got.High
		if n := in * SegmentSample; n < low || n > high || high-low < 9*SegmentSample ||
			low == 0 && (in > 29 || got.About != nil) {
			t.Fatalf("%d in the sample: %+v, %d–%d", in, got, low, high)
		}
	}
}

// An attacker counts two rules, of which one matches one more person if a secret is true. Whatever the size of the
// rules, the answers hardly help to guess the secret. With borders that are the same for both rules, the attacker
// finds a size with which each guess is right.
func TestCoarseCountsHideAPerson(t *testing.T) {
	const tries = 4000
	attack := func(same bool) (best float64) {
		r := rand.New(rand.NewPCG(5, 6))
		for n := int64(0); n < 400; n++ {
			right, shared := 0, r.Uint64()
			for range tries {
				secret := int64(r.IntN(2))
				a, b := r.Uint64(), r.Uint64()
				if same {
					a, b = shared, shared
				}
				first, second := exactCount(n, 1000).Coarse(a), exactCount(n+secret, 1000).Coarse(b)
				guess := int64(r.IntN(2))
				switch {
				case *second.High > *first.High:
					guess = 1
				case *second.High < *first.High:
					guess = 0
				}
				if guess == secret {
					right++
				}
			}
			best = max(best, float64(right)/tries)
		}
		return best
	}
	if best := attack(false); best > 0.58 {
		t.Errorf("the attacker is right in %.1f%% of the guesses", 100*best)
	}
	if best := attack(true); best < 0.7 {
		t.Errorf("with the same borders, the attacker is right in only %.1f%%: the attack is no attack", 100*best)
	}
}
