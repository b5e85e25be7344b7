package terminal

import "newsletterd/core"

// DidYouMean returns the end of an error message, which suggests the known word nearest to a mistyped one. It returns
// an empty string if none is similar.
func DidYouMean(word string, known []string) string {
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
