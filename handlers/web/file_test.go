package web

import "testing"

func TestWhoTakesGzip(t *testing.T) {
	for accepted, want := range map[string]bool{
		"": false, "br": false, "identity": false, "gzip": true, "GZIP": true, "br, gzip;q=0.5": true,
		"gzip;q=0": false, "gzip;Q=0": false, "gzip; q=0.000, br": false, "deflate,gzip ; q=1": true,
		"xgzip": false, "*": false,
	} {
		if got := takesGzip(accepted); got != want {
			t.Errorf("%q: %v", accepted, got)
		}
	}
}
