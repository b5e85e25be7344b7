package auth

import (
	"slices"
	"strings"

	"newsletterd/core"
)

// registeredScopes returns the scopes that a client's registration allows for a family of the given kind. With a
// password grant, a first-party client gets all user scopes. Management scopes must always be registered.
func registeredScopes(c core.TokenClient, kind string) []string {
	if !c.FirstParty || kind != core.FamilyPassword {
		return c.Scopes
	}
	return append(slices.Clone(core.UserScopes), c.Scopes...)
}

// grantScopes returns the requested scopes that the client is registered for and the user's roles allow. If none are
// requested, it returns all of these. It leaves out unknown scopes, as RFC 6749 section 3.3 permits. If no scope is
// left, the error is invalid_scope.
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

// keepScopes returns the scopes that are in both token and allowed.
func keepScopes(token, allowed []string) []string {
	for _, s := range token {
		if !slices.Contains(allowed, s) {
			return slices.DeleteFunc(slices.Clone(token), func(s string) bool { return !slices.Contains(allowed, s) })
		}
	}
	return token
}

// validScopeText reports whether a scope parameter has the form of RFC 6749 section 3.3: words of printable ASCII
// without quotes and backslashes, separated by spaces. Repeated and trailing spaces are ignored, because clients that
// join lists of words send them.
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
