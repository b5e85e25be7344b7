package web

import (
	"net/http/httptest"
	"net/url"
	"testing"
)

func TestASCII(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"/preferences?token=a":                 "/preferences?token=a",
		"https://ex.example/a%20b?x=%C3%A9#f":  "https://ex.example/a%20b?x=%C3%A9#f",
		"https://ex.example/café?ü=ö":          "https://ex.example/caf%C3%A9?%C3%BC=%C3%B6",
		"https://bücher.example/":              "https://xn--bcher-kva.example/",
		"https://BÜCHER.example":               "https://xn--bcher-kva.example",
		"https://bücher.example:8443?q=ä#ß":    "https://xn--bcher-kva.example:8443?q=%C3%A4#%C3%9F",
		"https://jörg:pä@straße.example/x":     "https://j%C3%B6rg:p%C3%A4@xn--strae-oqa.example/x",
		"https://例え.example/道":                 "https://xn--r8jz45g.example/%E9%81%93",
		"https://bü_cher.example/":             "https://b%C3%BC_cher.example/",
		"https://ex.example/\r\nSet-Cookie: a": "https://ex.example/%0D%0ASet-Cookie:%20a",
		"https://ex.example/\xff":              "https://ex.example/%FF",
		"/login?next=https://bücher.example/":  "/login?next=https://b%C3%BCcher.example/",
	} {
		if got := ASCII(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestLocationIsASCII checks that the URL of every redirect is ASCII.
func TestLocationIsASCII(t *testing.T) {
	on := func(do Endpoint) *Route { return lineOf("GET", "/on", Public(), Member, do, "On") }
	const to = "https://bücher.example/é"
	for _, do := range []Endpoint{
		Get(func(*Call) (Redirect, error) { return Redirect{URL: to}, nil }),
		Get(func(*Call) (HTML, error) { return HTML{To: to}, nil }),
	} {
		rec := httptest.NewRecorder()
		bare(t, on(do)).ServeHTTP(rec, httptest.NewRequest("GET", "/on", nil))
		if got := rec.Header().Get("Location"); got != "https://xn--bcher-kva.example/%C3%A9" {
			t.Errorf("%d %q", rec.Code, got)
		}
	}
}

// FuzzASCII checks that the result is visible ASCII, stays the same when converted again, and means the same URL.
func FuzzASCII(f *testing.F) {
	f.Add("https://ex.example/café?ü=ö#ß")
	f.Add("https://bücher.example:1/")
	f.Fuzz(func(t *testing.T, in string) {
		out := ASCII(in)
		for i := range len(out) {
			if out[i] <= ' ' || out[i] >= 0x7f {
				t.Fatalf("%q of %q", out, in)
			}
		}
		if again := ASCII(out); again != out {
			t.Errorf("%q, again %q", out, again)
		}
		u, err := url.Parse(in)
		v, err2 := url.Parse(out)
		if err != nil || err2 != nil || u.Host == "" {
			return
		}
		if u.Path != v.Path || u.Fragment != v.Fragment || u.Query().Encode() != v.Query().Encode() {
			t.Errorf("%q leads elsewhere than %q", out, in)
		}
	})
}
