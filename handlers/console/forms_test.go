package console

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each input of a form that changes something can show its error.
func TestInputsSayWhatIsWrong(t *testing.T) {
	input := regexp.MustCompile(`{{template "(field|colour|choice|file)" [^\n]*?}}\n`)
	carries := []string{ // the value has what is wrong with it
		"components.html", "polls.html", "suppressions.html", "theme.html",
	}
	says := []string{"Blame", ".Mark ", "$f}}", ".Data.Email}}", ".Data.Source}}", ".Data.Address}}", ".Blog.Site}}"}
	files, err := filepath.Glob("templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name == "design.html" || slices.Contains(carries, name) {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), `type="url"`) || strings.Contains(string(b), `Kind "url"`) {
			t.Errorf("%s: browsers refuse addresses that webAddress completes", file)
		}
		for form := range strings.SplitSeq(string(b), "<form") {
			if !strings.Contains(form, `method="get"`) {
				for _, one := range input.FindAllString(form, -1) {
					if !slices.ContainsFunc(says, func(s string) bool { return strings.Contains(one, s) }) {
						t.Errorf("%s: %s", file, one)
					}
				}
			}
		}
	}
}

// A URL without its scheme is completed, and its host is converted to ASCII. Other text stays as entered.
func TestWebAddress(t *testing.T) {
	for typed, want := range map[string]string{
		"":                               "",
		"shop.example/spring":            "https://shop.example/spring",
		" www.shop.example\r\n":          "https://www.shop.example",
		"shop.example:8443?a=b@c#d":      "https://shop.example:8443?a=b@c#d",
		"blumen-müller.example/rosen":    "https://xn--blumen-mller-klb.example/rosen",
		"//Blumen-Müller.example:8443":   "https://xn--blumen-mller-klb.example:8443",
		"https://müller.example/müller":  "https://xn--mller-kva.example/müller",
		"https://ann@müller.example":     "https://ann@müller.example",
		"https://-müller-.example":       "https://-müller-.example",
		"https://under_score.example":    "https://under_score.example",
		"https://Shop.example":           "https://Shop.example",
		"//shop.example/spring":          "https://shop.example/spring",
		"https://shop.example/a\r\n/b":   "https://shop.example/a/b",
		"http://shop.example":            "http://shop.example",
		"HTTPS://shop.example":           "HTTPS://shop.example",
		"spring":                         "spring",
		"/shop.example":                  "/shop.example",
		"ann@shop.example":               "ann@shop.example",
		"mailto:ann@shop.example":        "mailto:ann@shop.example",
		"javascript:alert(1.5)":          "javascript:alert(1.5)",
		"no address. Really":             "no address. Really",
		"shop.example.":                  "shop.example.",
		"localhost:8080/x":               "localhost:8080/x",
		"https:shop.example":             "https:shop.example",
		"com.example.app:/oauth?from=me": "com.example.app:/oauth?from=me",
	} {
		if got := webAddress(typed); got != want {
			t.Errorf("%q: %q", typed, got)
		}
	}
}
