package core

import (
	"slices"
	"strings"
)

// nameParticles lists the words that belong to the following last name, such as von in Inge von der Au.
var nameParticles = strings.Fields("von vom van der den de del dela della dello di da das do dos du la le los las lo " +
	"zu zum zur ter ten te tho af av bin ibn bint al el mc mac st saint san santa")

// SplitName splits a full name into first and last name. It understands "Ann Gray" and "Gray, Ann". The last name
// begins at its first particle, and titles stay with the first name. A single word is a first name.
func SplitName(name string) (first, last string) {
	if last, first, ok := strings.Cut(name, ","); ok {
		words := strings.Fields(first)
		n := len(words)
		for n > 1 && isParticle(words[n-1]) {
			n--
		}
		if n < len(words) { // as in "Au, Inge von der"
			last = strings.Join(words[n:], " ") + " " + strings.TrimSpace(last)
			first = strings.Join(words[:n], " ")
		}
		return strings.TrimSpace(first), strings.TrimSpace(last)
	}
	words := strings.Fields(name)
	if len(words) < 2 {
		return strings.TrimSpace(name), ""
	}
	n := 1
	for n < len(words)-1 && !isParticle(words[n]) {
		n++
	}
	return strings.Join(words[:n], " "), strings.Join(words[n:], " ")
}

func isParticle(word string) bool { return slices.Contains(nameParticles, strings.ToLower(word)) }
