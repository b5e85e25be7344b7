package web

import "testing"

// TestRoutesWithoutARuleDoNotStart checks that the zero Access is refused.
func TestRoutesWithoutARuleDoNotStart(t *testing.T) {
	ok := Get(func(*Call) (None, error) { return None{}, nil })
	for name, r := range map[string]*Route{
		"no access rule": lineOf("GET", "/x", Access{}, Member, ok, "X"),
		"no scope":       lineOf("GET", "/x", Bearer(), Member, ok, "X"),
		"no user scope":  lineOf("GET", "/x", User(), Member, ok, "X"),
		"no dialect":     lineOf("GET", "/x", Public(), 0, ok, "X"),
		"no function":    lineOf("GET", "/x", Public(), Member, Endpoint{}, "X"),
		"no summary":     lineOf("GET", "/x", Public(), Member, ok, ""),
	} {
		if err := r.prepare(); err == nil {
			t.Errorf("%s: starts", name)
		}
	}
	for name, rows := range map[string][]*Route{
		"twice":     {lineOf("GET", "/x", Public(), Member, ok, "X"), lineOf("GET", "/x", Public(), Member, ok, "X")},
		"two names": {lineOf("GET", "/x/:id", Public(), Member, ok, "X"), lineOf("GET", "/x/:other/y", Public(), Member, ok, "X")},
	} {
		if _, err := newRouter(rows); err == nil {
			t.Errorf("%s: starts", name)
		}
	}
}
