package audience

import (
	"math/rand/v2"
	"testing"
)

// For every share of matches, at least 97 of 100 samples have the true number within their limits.
func TestLimitsOfEstimates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const all, size = 1_000_000, 15_625
	for _, matching := range []int64{0, 100, 1000, 20_000, 500_000, 999_000, all} {
		within := 0
		for range 1000 {
			n := tally{all: size}
			for range size {
				if rng.Int64N(all) < matching {
					n.matches++
				}
			}
			if _, low, high := estimate(n, all); low <= matching && matching <= high {
				within++
			}
		}
		if within < 970 {
			t.Errorf("%d of %d: %d of 1000 samples have it within their limits", matching, all, within)
		}
	}
}
