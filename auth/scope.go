package auth

import (
	"slices"
	"strings"

	"newsletterd/core"
)

// registeredScopes returns what the tokens of a family of this kind may carry by the registration of its client. A
// password typed into a first-party client gives what the user has; only the management scopes must be registered.
func registeredScopes(c core.TokenClient, kind string) []string {
	if !c.FirstParty || kind != core.FamilyPassword {
		return c.Scopes
	}
	return append(slices.Clone(core.UserScopes), c.Scopes...)
}

// grantScopes is what is requested, cut to what the client is registered for and the user's roles allow.
// An empty request asks for all of that. Unknown words are left out, as RFC 6749 section 3.3 permits; when
// nothing is left the error is invalid_scope.
func grantScopes(requested string, client, allowed []string) ([]string, error) {
	want := strings.Fields(requested)
	var granted []string
	for _, s := range core.AllScopes {
		if (len(want) == 0 || slices.Contains(want, s)) && slices.Contains(client, s) && slices.Contains(allowed, s) {
			granted = append(granted, s)
		}
	}
	if len(granted) == 0 {
		return nil, ErrInvalidScope
	}
	return granted, nil
}

// keepScopes cuts the scopes of a token to what is allowed now.
func keepScopes(token, allowed []string) []string {
	for _, s := range token {
		if !slices.Contains(allowed, s) {
			return slices.DeleteFunc(slices.Clone(token), func(s string) bool { return !slices.Contains(allowed, s) })
		}
	}
	return token
}

// validScopeText reports whether a scope parameter has the form of RFC 6749 section 3.3: words of printable
// ASCII without quote and backslash, separated by spaces. Clients that join lists of words send two spaces, or one at
// the end: these count as one, and as none.
func validScopeText(s string) bool {
	words := 0
	for word := range strings.SplitSeq(s, " ") {
		if word == "" {
			continue
		}
		words++
		for i := range len(word) {
			if c := word[i]; c < 0x21 || c > 0x7e || c == '"' || c == '\\' {
				return false
			}
		}
	}
	return words > 0
}
