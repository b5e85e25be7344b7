package console

import (
	"testing"

	"newsletterd/core"
)

// A few readers get it first where there are, or may be, many.
func TestManyReaders(t *testing.T) {
	for _, c := range []struct {
		a    core.Audience
		want bool
	}{
		{core.Audience{Recipients: core.FirstFewFrom}, false},
		{core.Audience{Recipients: core.FirstFewFrom + 1}, true},
		{core.Audience{AtLeast: true}, true},
	} {
		if got := (&sendData{Readers: countedAudience{Audience: c.a}}).ManyReaders(); got != c.want {
			t.Errorf("%+v: %t", c.a, got)
		}
	}
}
