package terminal

import "newsletterd/core"

// DidYouMean suggests the known word that is most similar to a mistyped one. The result is the end of an error message.
// If no known word is similar, it is empty.
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
