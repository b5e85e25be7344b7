package handlers

import "testing"

// TestRoutesWithoutARuleDoNotStart shows that the zero access rule is none.
func TestRoutesWithoutARuleDoNotStart(t *testing.T) {
	ok := Get(func(*Call) (None, error) { return None{}, nil })
	for name, r := range map[string]*Route{
		"no access rule": {"GET", "/x", Access{}, member, ok, "X"},
		"no scope":       {"GET", "/x", bearer(), member, ok, "X"},
		"no user scope":  {"GET", "/x", user(), member, ok, "X"},
		"no dialect":     {"GET", "/x", public(), 0, ok, "X"},
		"no function":    {"GET", "/x", public(), member, Endpoint{}, "X"},
		"no summary":     {"GET", "/x", public(), member, ok, ""},
	} {
		if err := r.prepare(); err == nil {
			t.Errorf("%s: starts", name)
		}
	}
	for name, rows := range map[string][]*Route{
		"twice":     {{"GET", "/x", public(), member, ok, "X"}, {"GET", "/x", public(), member, ok, "X"}},
		"two names": {{"GET", "/x/:id", public(), member, ok, "X"}, {"GET", "/x/:other/y", public(), member, ok, "X"}},
	} {
		if _, err := newRouter(rows); err == nil {
			t.Errorf("%s: starts", name)
		}
	}
}
