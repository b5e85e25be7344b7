package web

import (
	"strings"
	"testing"
)

const acceptOfABrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

func TestSourceOf(t *testing.T) {
	for uri, want := range map[string]string{
		"https://rp.example:8443/cb?x": "https://rp.example:8443", "http://127.0.0.1:7/cb": "http://127.0.0.1:7",
		"com.example.app:/cb": "com.example.app:",
	} {
		if got := SourceOf(uri); got != want {
			t.Errorf("origin of %s is %s", uri, got)
		}
	}
}

func TestPrefersHTML(t *testing.T) {
	for accept, want := range map[string]bool{
		acceptOfABrowser: true, "text/html": true, "TEXT/HTML;q=0.1": true, "application/json;q=0.5, text/html": true,
		"": false, "*/*": false, "text/*": false, "application/json": false, "application/json, text/html;q=0.9": false,
		"text/html;q=0": false, "text/html;q=2": false, "text/html;q=x": false, "text/htmlx": false, ";;;,,": false,
	} {
		if got := PrefersHTML(accept); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}

func FuzzPrefersHTML(f *testing.F) {
	f.Add(acceptOfABrowser)
	f.Add("text/html;q=0.5;x=\"a,b\", application/json;q=1e9")
	f.Fuzz(func(t *testing.T, accept string) {
		if PrefersHTML(accept) && !strings.Contains(strings.ToLower(accept), "html") {
			t.Errorf("%q", accept)
		}
	})
}
