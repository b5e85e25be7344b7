package assets

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The served files are those that `make console` has built, and match their checksums.
func TestFilesAreAsTheirSumsSay(t *testing.T) {
	names := []string{"SHA256SUMS"}
	for name, want := range sums() {
		names = append(names, name)
		sum := sha256.Sum256(file(t, name))
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s has the SHA-256 %s, not %s: `make console` makes it anew", name, got, want)
		}
		if Sum(name) != want {
			t.Errorf("Sum(%q) is %q", name, Sum(name))
		}
	}
	all, err := fs.ReadDir(Files, ".")
	if err != nil || len(all) != len(names) || len(all) < 5 {
		t.Errorf("%d files, %d sums, %v", len(all), len(names)-1, err)
	}
	for _, f := range all {
		name, packed := strings.CutSuffix(f.Name(), ".gz")
		if !slices.Contains(names, name) {
			t.Errorf("%s stands not in SHA256SUMS", name)
		}
		if served := filepath.Ext(name) != ""; served != packed {
			t.Errorf("%s is compressed: %t", name, packed)
		}
	}
	if Sum("none.js") != "" {
		t.Error("a file that there isn't has a sum")
	}
}

// The files in dist were built from the current files in src. Run `make console` after each change in src.
func TestBundlesAreOfTheseSources(t *testing.T) {
	made := strings.TrimSpace(string(file(t, "SOURCES")))
	if now := sourceSum(t); made != now {
		t.Errorf("src has changed (%s, not %s) and dist has not: run `make console`", now, made)
	}
}

// sourceSum returns the SHA-256 of all sources of dist, as bundle.go calculates it.
func sourceSum(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir("src", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		sum.Write([]byte(filepath.ToSlash(path) + "\n"))
		sum.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Pages load at most 40 kB of compressed scripts, or 200 kB with an editor.
func TestScriptsAreSmall(t *testing.T) {
	for _, page := range []struct {
		limit int
		names []string
	}{
		{40_000, []string{"htmx.js", "console.js"}},
		{200_000, []string{"htmx.js", "console.js", "editor.js", "editor.css"}},
		{200_000, []string{"htmx.js", "console.js", "code.js", "editor.css"}},
	} {
		limit, names, size := page.limit, page.names, 0
		for _, name := range names {
			packed := len(file(t, name+".gz"))
			size += packed
			t.Logf("%s: %d octets, %d compressed", name, len(file(t, name)), packed)
		}
		if size > limit {
			t.Errorf("%s have %d octets compressed, more than %d", names, size, limit)
		}
	}
}

// forbidden matches what a page's policy blocks or would have to allow: texts that run as scripts, styles in HTML, and
// URLs of other hosts.
var forbidden = regexp.MustCompile(`\beval\(|new Function\b|[^.\w#]Function\(|setTimeout\(["'` + "`" + `]|` +
	`setAttribute\(["']style|<style[ >]|\bstyle=["']|\bon(click|load|error|submit)=["']|sourceMappingURL|https?://(?:[a-z]+\.)?[a-z]+\.`)

// addresses matches URLs that scripts contain but don't request: those of namespaces, and those in messages to
// developers.
var addresses = regexp.MustCompile(`http://www\.w3\.org/[a-zA-Z0-9/.]*|https://prosemirror\.net/[a-z/#.-]*`)

func TestScriptsRunNoTextAndNameNoHost(t *testing.T) {
	for name := range sums() {
		if !strings.HasSuffix(name, ".js") && !strings.HasSuffix(name, ".css") {
			continue
		}
		text := addresses.ReplaceAllString(string(file(t, name)), "")
		for _, at := range forbidden.FindAllStringIndex(text, -1) {
			t.Errorf("%s: …%s…", name, text[max(0, at[0]-60):min(len(text), at[1]+60)])
		}
	}
	for _, bad := range []string{
		"eval(x)", "new Function('a')", ";Function('a')", `e.setAttribute("style","x")`, "<p style='a'>", "https://cdn.example.org/x.js",
	} {
		if !forbidden.MatchString(bad) {
			t.Errorf("%s is not found", bad)
		}
	}
}

// LICENSES.txt lists each library in the lock file with its license, except libraries that are not part of any script.
func TestLicensesNameEachLibrary(t *testing.T) {
	text, err := os.ReadFile("src/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if regexp.MustCompile(`"resolved"|registry`).Match(text) {
		t.Error("the lock file says from where a package comes")
	}
	var lock struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dependencies                map[string]string
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	licenses := string(file(t, "LICENSES.txt"))
	if shown, err := os.ReadFile("dist/LICENSES.txt"); err != nil || string(shown) != licenses {
		t.Errorf("dist/LICENSES.txt is not what is served (%v): run `make console`", err)
	}
	for path, p := range lock.Packages {
		name := strings.TrimPrefix(path, "node_modules/")
		if name == "" {
			continue
		}
		if !strings.HasPrefix(p.Integrity, "sha512-") {
			t.Errorf("%s has no sum in the lock file", name)
		}
		named := strings.Contains(licenses, "\n"+name+" "+p.Version+", in ")
		if unused := slices.Contains(notBundled, name); named == unused {
			t.Errorf("%s %s: stands in LICENSES.txt: %t; in notBundled: %t", name, p.Version, named, unused)
		}
	}
	for name, version := range lock.Packages[""].Dependencies {
		if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
			t.Errorf("%s %s is not one version", name, version)
		}
	}
}

// notBundled lists libraries that others in the lock file depend on only for features that are not used here.
var notBundled = []string{"argparse", "@codemirror/streamparser", "crelt"}

func file(t *testing.T, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(Files, name)
	if err == nil {
		return text
	}
	packed, err := Files.Open(name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return text
}
