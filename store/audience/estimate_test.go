package audience

import (
	"math"
	"testing"

	"newsletterd/core"
)

// Ranges of estimates contain the exact count with a probability of at least 96% for any share of people who match,
// and are as narrow as promised: ±3% of the count from a quarter on, otherwise ±0.7% of the list.
func TestRangesOfEstimates(t *testing.T) {
	const of = 1_000_000
	const size = of / core.SegmentSample
	for _, matching := range []int64{
		0, 1, 7, 20, 30, 48, 100, 170, 500, 1000, 10_000, 19_000, 19_300, 50_000, 100_000, 249_000, 250_000, 400_000,
		500_000, 900_000, 980_500, 981_000, 999_000, 999_900, 999_999, of,
	} {
		p := float64(matching) / of
		deviation := math.Sqrt(size*p*(1-p)) + 1
		from, to := max(0, int64(size*p-8*deviation)), min(size, int64(size*p+8*deviation))
		var contained float64
		for k := from; k <= to; k++ {
			about, low, high := estimate(tally{size, k}, of)
			if low > about || about > high || low < 0 || high > of {
				t.Fatalf("%d in the sample: %d, %d to %d", k, about, low, high)
			}
			if low <= matching && matching <= high {
				contained += binomial(size, k, p)
			}
		}
		if contained < 0.96 {
			t.Errorf("%d match: the range contains them with a probability of %.4f", matching, contained)
		}
		_, low, high := estimate(tally{size, int64(size*p + 0.5)}, of)
		half, most := float64(high-low)/2, 0.007*of
		if p >= 0.25 {
			most = 0.03 * p * of
		}
		if half > most {
			t.Errorf("%d match: ±%.0f is more than ±%.0f", matching, half, most)
		}
	}
}

// binomial returns the probability of k among n.
func binomial(n, k int64, p float64) float64 {
	if p == 0 || p == 1 {
		return map[bool]float64{true: 1}[float64(k) == p*float64(n)]
	}
	log := func(n int64) float64 {
		l, _ := math.Lgamma(float64(n) + 1)
		return l
	}
	return math.Exp(log(n) - log(k) - log(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// A sample of everyone has no error, and a small one is never too narrow.
func TestRangesOfSmallSamples(t *testing.T) {
	if about, low, high := estimate(tally{21_000, 10_500}, 21_000); about != 10_500 || low != about || high != about {
		t.Error(about, low, high)
	}
	if about, low, high := estimate(tally{0, 0}, 21_000); about != 0 || low != 0 || high < 10_000 {
		t.Error(about, low, high)
	}
}
