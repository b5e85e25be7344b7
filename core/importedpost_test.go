package core

import "testing"

// Without a choice, only posts that everyone could read become issues. Pages must be chosen.
func TestWantedPosts(t *testing.T) {
	for _, test := range []struct {
		post ImportedPost
		in   PostsInput
		want bool
	}{
		{ImportedPost{Kind: "post"}, PostsInput{}, true},
		{ImportedPost{Draft: true}, PostsInput{Paid: true}, false},
		{ImportedPost{Draft: true, Paid: true}, PostsInput{Drafts: true, Paid: true}, true},
		{ImportedPost{Kind: "page"}, PostsInput{Drafts: true, Paid: true}, false},
		{ImportedPost{Kind: "page", No: 2}, PostsInput{Posts: &[]int64{1, 2}}, true},
		{ImportedPost{No: 3}, PostsInput{Posts: &[]int64{1, 2}}, false},
	} {
		if got := test.in.Wants(&test.post); got != test.want {
			t.Errorf("%+v of %+v: %t", test.in, test.post, got)
		}
	}
}
