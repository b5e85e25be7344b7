package main

import "newsletterd/core"

// didYouMean is the tail of an error message: the known word nearest to a mistyped one, if any is near.
func didYouMean(word string, known []string) string {
	best, bestDistance := "", 1+len(word)/3
	for _, k := range known {
		if d := core.EditDistance(word, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}
