package auth

import (
	_ "embed"
	"strings"
	"sync"
)

// The commonest passwords of at least 8 characters, in lower case, one a line.
//
//go:embed common.txt
var commonText string

var commonSet = sync.OnceValue(func() map[string]struct{} {
	set := make(map[string]struct{}, 10_000)
	for line := range strings.Lines(commonText) {
		set[strings.TrimSuffix(line, "\n")] = struct{}{}
	}
	return set
})

// isCommon reports whether a password is on the list, in upper or lower case.
func isCommon(password string) bool {
	_, ok := commonSet()[strings.ToLower(password)]
	return ok
}
