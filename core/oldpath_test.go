package core

import "testing"

func TestOldPaths(t *testing.T) {
	for path, want := range map[string]string{
		OldPath("substack", "On-Engines"): "/p/on-engines", OldPath("beehiiv", "a"): "/p/a",
		OldPath("buttondown", "a"): "/archive/a", OldPath("ghost", "a"): "/a",
		OldPath("ghost", ""): "", OldPath("mailchimp", "a"): "", OldPath("", "a"): "",
	} {
		if path != want || AsOldPath(want) != want || AsOldPath(want+"/") != want {
			t.Errorf("%q instead of %q; asked for: %q", path, want, AsOldPath(want))
		}
	}
	for _, path := range []string{"", "/", "//", "/p/", "/p/a/comments", "/x/a", "/a/b/c", "p/a"} {
		if got := AsOldPath(path); got != "" && got != "/p" {
			t.Errorf("%s: %q", path, got)
		}
	}
}
