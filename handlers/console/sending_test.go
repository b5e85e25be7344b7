package console

import (
	"testing"

	"newsletterd/core"
)

// Sending to the first recipients first is offered if there are, or may be, many recipients.
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
