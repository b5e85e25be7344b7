package core

import "testing"

func TestReaders(t *testing.T) {
	for _, tt := range []struct {
		counts ListCounts
		want   int64
	}{
		{ListCounts{}, 0},
		{ListCounts{Active: 5, Bounced: 1, Mailable: 4}, 4},
		{ListCounts{Active: 5, Pending: 2, Unsubscribed: 9}, 5}, // the send side has received nothing yet
		{ListCounts{Mailable: 3}, 3},                            // another daemon has the subscriptions
		{ListCounts{Active: 2, Bounced: 2, Complaint: 1}, 0},
	} {
		if n := tt.counts.Readers(); n != tt.want {
			t.Errorf("%+v: %d, want %d", tt.counts, n, tt.want)
		}
	}
}
