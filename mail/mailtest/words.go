package mailtest

// Likeness returns the share of words, including repetitions, that also occur in of.
func Likeness(words, of []string) float64 {
	left := map[string]int{}
	for _, w := range of {
		left[w]++
	}
	n := 0
	for _, w := range words {
		if left[w]--; left[w] >= 0 {
			n++
		}
	}
	return float64(n) / float64(len(words))
}
